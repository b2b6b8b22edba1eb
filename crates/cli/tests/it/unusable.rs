//! Invalid and malicious schemas: reported with file, tool and location, exit code 2, nothing fetched, quickly and in
//! little memory.

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::home::{Home, Ran};

const GOOD: &str = r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#;

fn tools(key: &str, schema: &Value) -> String {
    let mut tool = json!({"name": "t", "inputSchema": {"type": "object"}});
    tool[key] = schema.clone();
    json!({"tools": [tool]}).to_string()
}

fn unusable() -> Vec<(Value, &'static str, &'static str)> {
    vec![
        (json!(7), "", "an object or a boolean"),
        (json!({"type": "objekt"}), "/type", "objekt"),
        (json!({"$schema": "http://nope/x"}), "/$schema", "unknown dialect"),
        (json!({"$ref": "#/nope"}), "/$ref", "resolves to nothing"),
        (json!({"$ref": "http://x.example/s.json"}), "/$ref", "nothing outside it is read"),
        (json!({"$ref": "#"}), "", "leads back to itself"),
    ]
}

fn named(ran: &Ran, words: &[&str], parts: &[&str]) {
    assert_eq!(ran.code, 2, "{words:?}: {}{}", ran.out, ran.err);
    assert!(ran.err.starts_with("toolcrib: ") && ran.err.contains("  hint: "), "{words:?}: {}", ran.err);
    assert!(ran.out.is_empty(), "{words:?}: {}", ran.out);
    for part in parts {
        assert!(ran.err.contains(part), "{words:?} says nothing of {part}: {}", ran.err);
    }
}

/// R7.1, R7.3: on either side, on both, and of an added or removed tool: file, tool, location and reason are reported.
#[test]
fn an_unusable_schema_is_named_and_nothing_is_judged() {
    let home = Home::new("unusable");
    home.write("good.json", GOOD);
    home.write("none.json", r#"{"tools":[]}"#);
    for (schema, place, reason) in unusable() {
        for key in ["inputSchema", "outputSchema"] {
            home.write("bad.json", &tools(key, &schema));
            let place = format!("/{key}{place}");
            for sides in [
                ["good.json", "bad.json"],
                ["bad.json", "good.json"],
                ["bad.json", "bad.json"],
                ["none.json", "bad.json"],
            ] {
                let words = ["diff", sides[0], sides[1], "--format", "json"];
                named(&home.run(&words), &words, &["bad.json: tool \"t\"", &place, reason]);
            }
        }
    }
}

/// R7.1, R7.7: an unusable schema is pinned only on request, and then passes only under a waiver.
#[test]
fn an_unusable_schema_is_pinned_on_request_and_checked_under_a_waiver() {
    let home = Home::new("pinned");
    home.write("good.json", GOOD);
    let schema = json!({"type": "objekt"});
    home.write("bad.json", &tools("inputSchema", &schema));
    let parts = ["bad.json: tool \"t\"", "/inputSchema/type"];
    named(&home.run(&["lock", "a=bad.json"]), &["lock"], &parts);
    assert!(!home.path("toolcrib.lock").exists());
    assert_eq!(home.run(&["lock", "a=good.json"]).code, 0);
    named(&home.run(&["check", "a=bad.json"]), &["check"], &["bad.json: tool \"t\"", "/inputSchema/type"]);

    let ran = home.run(&["lock", "a=bad.json", "--pin-unusable"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    named(&home.run(&["check", "a=bad.json"]), &["check"], &["toolcrib.lock and bad.json: tool \"t\""]);
    let waiver = |until: &str| json!({"waivers": [{"rule": "schema.invalid", "tool": "t", "reason": "theirs", "expires": until}]});
    home.write("waivers.json", &waiver("2999-01-01").to_string());
    let ran = home.run(&["check", "a=bad.json", "--waivers", "waivers.json", "--strict"]);
    assert_eq!(
        (ran.code, ran.out.contains("waived [schema.invalid] t: theirs")),
        (0, true),
        "{}{}",
        ran.out,
        ran.err
    );
    home.write("waivers.json", &waiver("2020-01-01").to_string());
    let words = ["check", "a=bad.json", "--waivers", "waivers.json"];
    named(&home.run(&words), &words, &["/inputSchema/type"]);
}

/// R7.3: a line with an unusable schema is unknown with its reason, the others are answered, and the exit code is bad
/// input.
#[test]
fn a_line_of_a_batch_that_is_no_pair_of_schemas_is_unknown() {
    let home = Home::new("lines");
    let mut lines = vec![json!({"id": "ok", "old": {"type": "string"}, "new": {}})];
    for (schema, ..) in unusable().into_iter().filter(|(schema, ..)| schema != &json!({"$ref": "#"})) {
        lines.push(json!({"id": "new", "old": {}, "new": schema}));
        lines.push(json!({"id": "equal", "old": schema, "new": schema}));
    }
    lines.push(json!({"id": "dialect", "old": {}, "new": {}, "dialect": "draft9"}));
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    home.write("pairs.jsonl", &format!("{}\nno pair\n", text.join("\n")));
    let ran = home.run(&["compat", "--batch", "pairs.jsonl"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    let answers: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), lines.len() + 1);
    assert_eq!(answers[0]["verdict"], "compatible");
    for answer in &answers[1..] {
        assert_eq!(answer["verdict"], "unknown", "{answer}");
        assert!(answer["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{answer}");
    }
    assert_eq!(ran.err.lines().count(), lines.len(), "each by its line: {}", ran.err);
    home.write("pairs.jsonl", &text[0]);
    assert_eq!(home.run(&["compat", "--batch", "pairs.jsonl"]).code, 0);
}

/// R1.5, R7.3: a reference to a server that would answer is not followed.
#[test]
fn nothing_is_fetched_for_a_remote_reference() {
    let home = Home::new("remote");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/s.json", listener.local_addr().unwrap());
    home.write("good.json", GOOD);
    home.write(
        "bad.json",
        &tools("inputSchema", &json!({"type": "object", "properties": {"a": {"$ref": url}}})),
    );
    named(
        &home.run(&["diff", "good.json", "bad.json"]),
        &["diff"],
        &["/inputSchema/properties/a/$ref", &url],
    );
    let asked = listener.accept().err().map(|error| error.kind());
    assert_eq!(asked, Some(std::io::ErrorKind::WouldBlock), "somebody came for it");
}

fn nested(depth: usize, open: &str, inner: &str, close: &str) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

fn doubling(steps: usize) -> Value {
    let twice = |n: usize| json!({"$ref": format!("#/$defs/d{n}")});
    let mut defs: serde_json::Map<String, Value> =
        (0..steps).map(|n| (format!("d{n}"), json!({"allOf": [twice(n + 1), twice(n + 1)]}))).collect();
    defs.insert(format!("d{steps}"), json!({"type": "object"}));
    json!({"type": "object", "$defs": defs, "allOf": [twice(0)]})
}

/// Runs the binary under a memory limit. Returns the time it took as well.
fn bounded(home: &Home, words: &[&str]) -> (Ran, Duration) {
    // 1 GiB of address space, of which the stack of the prover's thread takes 256 MiB.
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 1048576 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_toolcrib")]);
    command.args(words).current_dir(&home.folder).env("HOME", &home.folder).stdin(Stdio::null());
    let begun = Instant::now();
    let ran = command.output().unwrap().into();
    (ran, begun.elapsed())
}

/// R1.6, R7.3: depth, breadth, loops, doubling and endless files: a regular exit code within seconds, in bounded
/// memory.
#[test]
fn schemas_made_to_hurt_cost_little() {
    let home = Home::new("bombs");
    home.write("good.json", GOOD);
    let tool = |schema: &str| format!(r#"{{"tools":[{{"name":"t","inputSchema":{schema}}}]}}"#);
    let letters: Vec<String> = (0..200_000).map(|n| format!("\"value-{n}\"")).collect();
    let loops = json!({"type": "object", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"});
    let many: Vec<String> = (0..6_000).map(|n| format!("\"p{n}\":{{\"type\":\"string\"}}")).collect();
    for (name, text, part) in [
        ("deep.json", tool(&nested(100_000, r#"{"items":"#, "{}", "}")), "deep"),
        ("shallow.json", tool(&nested(100, r#"{"items":"#, "{}", "}")), "SCHEMA_DEPTH_MAX"),
        ("arrays.json", nested(1_000_000, "[", "", "]"), "deep"),
        ("enum.json", tool(&format!(r#"{{"type":"object","enum":[{}]}}"#, letters.join(","))), "bytes"),
        (
            "wide.json",
            tool(&format!(r#"{{"type":"object","properties":{{{}}}}}"#, many.join(","))),
            "SCHEMA_SUBSCHEMAS_MAX",
        ),
        ("doubling.json", tool(&doubling(26).to_string()), "SCHEMA_EXPANSION_MAX"),
        ("loop.json", tool(&loops.to_string()), "leads back to itself"),
    ] {
        home.write(name, &text);
        for words in [["diff", "good.json", name], ["diff", name, "good.json"], ["diff", name, name]] {
            let (ran, took) = bounded(&home, &words);
            assert_eq!(ran.code, 2, "{words:?}: {}{}", ran.out, ran.err);
            assert!(ran.err.contains(name) && ran.err.contains(part), "{words:?}: {}", ran.err);
            assert!(ran.err.len() < 2_000, "{words:?}: {} bytes are said", ran.err.len());
            assert!(took < Duration::from_secs(20), "{words:?} took {took:?}");
        }
    }
    if cfg!(unix) {
        let (ran, _) = bounded(&home, &["diff", "/dev/zero", "good.json"]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains("JSON_FILE_BYTES_MAX"), "{}", ran.err);
    }
}
