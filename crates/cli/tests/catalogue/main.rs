//! The catalogue's verbs as people run them: output, files, and exit codes.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test may stop and say why"
)]

mod capturing;
mod databases;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Temporary folder with a store, to run verbs in.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("catalogue-{name}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn run(&self, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_toolcrib"))
            .args(words)
            .env("TOOLCRIB_STORE", self.0.join("toolcrib.db"))
            .env_remove("COLUMNS")
            .output()
            .unwrap()
    }

    /// Runs the words, requires the exit code, and returns the output.
    fn says(&self, words: &[&str], code: i32) -> String {
        let output = self.run(words);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{words:?}\n{}\n{}",
            text(&output.stdout),
            text(&output.stderr)
        );
        if code == 0 {
            text(&output.stdout)
        } else {
            format!("{}{}", text(&output.stdout), text(&output.stderr))
        }
    }
}

const ENTRY: &str = r#"{"servers":{"weather":{"description":"Tells the weather of places.","tier":"Community","status":"Active",
  "transport":"stdio","image":"example/weather:1.0","tools":["get_weather","forget"],"tool_definitions":[
   {"name":"get_weather","description":"The weather\nof a place.","annotations":{"readOnlyHint":true},
    "inputSchema":{"type":"object","required":["location"],"additionalProperties":false,"properties":{"location":{"type":"string"},"units":{"enum":["c","f"]}}},
    "outputSchema":{"type":"object","required":["temperature"],"properties":{"temperature":{"type":"number"}}}},
   {"name":"forget","description":"Forgets everything about a place that was ever asked for, for good, without asking again."}]},
  "names-only":{"description":"Only names are known here.","tier":"Community","status":"Active","transport":"stdio","image":"example/names:1.0","tools":["one"]}},
  "version":"1.0.0","last_updated":"2026-01-01T00:00:00Z"}"#;

fn filled(name: &str) -> Place {
    let place = Place::new(name);
    let file = place.file("registry.json", ENTRY);
    let said = place.says(&["registry", "import", &file], 0);
    assert!(said.contains("2 servers added, 0 replaced, 0 unchanged; 3 tools"), "{said}");
    place
}

/// R8.2: NAME and TOOLS; the first tool on the server's row, the rest below with a blank name, as `tool (description)`.
#[test]
fn list_shows_tools_under_their_server() {
    let place = filled("list");
    assert_eq!(
        place.says(&["list", "--show-tools"], 0),
        "NAME                           TOOLS\n\
         io.github.stacklok/names-only  one\n\
         io.github.stacklok/weather     get_weather (The weather of a place.)\n\
         \x20                              forget (Forgets everything about a place that was ever asked for, for good, without asking again.)\n"
    );
    let narrow = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
        .args(["list", "--show-tools", "--store", place.0.join("toolcrib.db").to_str().unwrap()])
        .env("COLUMNS", "60")
        .output()
        .unwrap();
    let text = String::from_utf8(narrow.stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 60) && text.contains('…'), "{text}");
    let json: Value =
        serde_json::from_str(&place.says(&["list", "--show-tools", "--format", "json", "weather"], 0))
            .unwrap();
    assert_eq!(
        (&json["servers"][0]["tools"][1]["effect"], &json["servers"][0]["tool_count"]),
        (&"destructive".into(), &2.into())
    );
    assert!(place.says(&["list"], 0).contains("io.github.stacklok/weather     1.0.0    2"));
}

/// R8.3: `show` prints a readable signature, badges and schemas, by full name, last segment, or tool.
#[test]
fn show_prints_signatures_from_the_catalogue() {
    let place = filled("show");
    assert_eq!(
        place.says(&["show", "weather"], 0),
        "read-only    get_weather(location: string, units?: \"c\" | \"f\") → { temperature: number }\ndestructive  forget(…)\n"
    );
    let whole = place.says(&["show", "io.github.stacklok/weather/get_weather"], 0);
    assert!(
        whole.contains("effect  read-only")
            && whole.contains("digest  sha256:")
            && whole.contains("\"location\": {"),
        "{whole}"
    );
    assert!(place.says(&["show", "nothing"], 2).contains("no server"));
    assert!(place.says(&["show", "weather/nothing"], 2).contains("no tool"));
}

/// R8.3: arguments and answers are checked from the catalogue alone.
#[test]
fn validate_checks_before_anything_is_called() {
    let place = filled("validate");
    let tool = "weather/get_weather";
    assert!(place.says(&["validate", tool, "--args", r#"{"location":"Bern"}"#], 0).contains("valid"));
    let broken = place.says(&["validate", tool, "--args", r#"{"locatoin":"Bern","units":"k"}"#], 1);
    assert!(
        broken.contains("location") && broken.contains("/units: expected one of \"c\", \"f\"; got \"k\""),
        "{broken}"
    );
    assert!(
        place.says(&["validate", tool, "--output", r#"{"temperature":"warm"}"#], 1).contains("/temperature")
    );
    let file = place.file("arguments.json", r#"{"location":"Bern"}"#);
    place.says(
        &[
            "validate",
            tool,
            "--args",
            &format!("@{file}"),
            "--output",
            r#"{"temperature":1}"#,
            "--format",
            "json",
        ],
        0,
    );
    assert!(place.says(&["validate", "weather/forget", "--args", "{}"], 2).contains("no input schema"));
    assert!(place.says(&["validate", tool, "--args", "{"], 2).contains("no JSON"));
    assert!(place.says(&["validate", tool], 2).contains("--args"));
}

/// R6.1: tools are found by words and by effect.
#[test]
fn search_filters_by_effect() {
    let place = filled("search");
    assert!(place.says(&["search", "weather", "place"], 0).contains("get_weather("));
    assert!(!place.says(&["search", "place", "--read-only"], 0).contains("forget"));
    assert!(place.says(&["search", "--destructive"], 0).contains("forget"));
    let json: Value = serde_json::from_str(
        &place.says(&["search", "--has-output", "--server", "WEATHER", "--format", "json"], 0),
    )
    .unwrap();
    assert_eq!(
        (json["tools"].as_array().unwrap().len(), &json["tools"][0]["tool"]),
        (1, &"get_weather".into())
    );
}

/// R6.3: a file is converted in place, atomically, with a backup that is never overwritten, and converts back
/// unchanged.
#[test]
fn convert_in_place_leaves_a_backup_and_comes_back() {
    let place = Place::new("convert");
    let file = place.file("registry.json", ENTRY);
    place.says(&["convert", &file, "--to", "upstream", "--in-place"], 0);
    let upstream: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(upstream["data"]["servers"][0]["name"], "io.github.stacklok/weather");
    assert_eq!(std::fs::read_to_string(format!("{file}.bak")).unwrap(), ENTRY);
    assert!(place.says(&["convert", &file, "--to", "toolhive", "--in-place"], 3).contains(".bak"));
    place.says(&["convert", &file, "--to", "toolhive", "--in-place", "--no-backup"], 0);
    let back: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(back.to_string(), serde_json::from_str::<Value>(ENTRY).unwrap().to_string());
    let names: Vec<_> =
        std::fs::read_dir(&place.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "nothing else is left beside it: {names:?}");
}

/// R6.2: YAML is read; a result that breaks the target's rules is not written, and each fault has file and location.
#[test]
fn convert_reads_yaml_and_writes_strictly() {
    let place = Place::new("strict");
    let yaml = place.file("osv.yaml", "image: example/osv:1.0\ndescription: Knows vulnerabilities.\ntier: Community\nstatus: Active\ntransport: stdio\ntools: [query]\n");
    let server: Value = serde_json::from_str(&place.says(&["convert", &yaml, "--to", "server"], 0)).unwrap();
    assert_eq!(server["name"], "io.github.stacklok/osv");
    let bad = place
        .file("bad.json", r#"{"image":"i:1","name":"no slash","description":"Long enough.","tools":["x"]}"#);
    let output = place.0.join("out.json");
    let said = place.says(&["convert", &bad, "--to", "server", "-o", output.to_str().unwrap()], 1);
    assert!(said.contains("bad.json#/name") && said.contains("nothing was written"), "{said}");
    assert!(!output.exists());
    place.says(&["convert", &bad, "--to", "server", "-o", output.to_str().unwrap(), "--lenient"], 0);
    assert!(output.exists());
    assert!(place.says(&["convert", "none.json", "--to", "server"], 3).contains("none.json"));
    let cut = place.file("cut.json", r#"{"servers":{"abc":{"#);
    assert!(place.says(&["convert", &cut, "--to", "upstream"], 2).contains("unexpected end of text"));
    let two = place.file("registry.json", ENTRY);
    assert!(place.says(&["convert", &two, "--to", "tools"], 2).contains("2 servers"));
    place.says(&["convert", &two, "--to", "tools", "--name", "weather"], 0);
}

/// R6.4: `lint` reports names that differ from definitions, and `--fix` repairs them.
#[test]
fn lint_repairs_the_name_index() {
    let place = Place::new("fix");
    let file = place
        .file("registry.json", &ENTRY.replace(r#"["get_weather","forget"]"#, r#"["get_weather","old"]"#));
    assert!(place.says(&["lint", &file], 1).contains("tools.out-of-sync"));
    place.says(&["lint", &file, "--fix"], 0);
    assert!(std::fs::read_to_string(format!("{file}.bak")).unwrap().contains("old"));
    place.says(&["lint", &file], 0);
    let fixed: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(fixed["servers"]["weather"]["tools"], serde_json::json!(["get_weather", "forget"]));
    assert_eq!(fixed["servers"]["names-only"]["tools"], serde_json::json!(["one"]));
}

/// R6.5: an entry over a budget is reported by `lint`, compacted, and expanded again from the catalogue.
#[test]
fn an_entry_is_made_compact_and_whole_again() {
    let place = Place::new("budget");
    let tools: Vec<String> = (0..40)
        .map(|i| {
            format!(
                r#"{{"name":"tool_{i}","description":"{}","inputSchema":{{"type":"object"}}}}"#,
                "Says something. ".repeat(10)
            )
        })
        .collect();
    let list = place.file("many.json", &format!("[{}]", tools.join(",")));
    let server = place.0.join("server.json");
    place.says(
        &["convert", &list, "--to", "server", "--name", "com.example/many", "-o", server.to_str().unwrap()],
        0,
    );
    let server = server.to_str().unwrap();
    assert!(place.says(&["lint", server, "--target", "official"], 1).contains("budget.over"));
    place.says(&["registry", "import", server], 0);
    let small = place.0.join("small.json");
    place.says(&["registry", "compact", server, "--target", "official", "-o", small.to_str().unwrap()], 0);
    place.says(&["lint", small.to_str().unwrap(), "--target", "official", "--fail-on", "error"], 0);
    let whole = place.says(&["registry", "expand", small.to_str().unwrap()], 0);
    assert_eq!(whole, std::fs::read_to_string(server).unwrap());
    let own = place.file("target.json", r#"{"name":"ours","bytes_max":100}"#);
    assert!(place.says(&["registry", "compact", server, "--target", &own], 1).contains("ours takes 100"));
}

/// R6.1: imported servers can be exported, and a server can be removed.
#[test]
fn the_catalogue_is_exported_and_emptied() {
    let place = filled("export");
    let exported: Value =
        serde_json::from_str(&place.says(&["registry", "export", "--to", "toolhive"], 0)).unwrap();
    let mut given: Value = serde_json::from_str(ENTRY).unwrap();
    assert_eq!(exported["servers"]["weather"], given["servers"]["weather"].take());
    place.says(&["registry", "remove", "weather"], 0);
    assert!(!place.says(&["search", "weather"], 0).contains("get_weather"));
    assert!(place.says(&["registry", "import", "none.json"], 3).contains("none.json"));
}

/// R6.6: `capture` asks a running server and fills its entry, in a file or in the catalogue; an empty answer is
/// refused.
#[test]
fn capture_fills_an_entry_from_a_running_server() {
    let place = Place::new("capture");
    let text = r#"{"name":"com.example/demo","description":"Demonstrates.","version":"1.0.0","remotes":[{"type":"sse","url":"https://a.example/mcp"}],"_meta":{"io.modelcontextprotocol.registry/publisher-provided":{"io.github.stacklok":{"https://a.example/mcp":{"status":"active","tools":["gone"]}}}}}"#;
    let file = place.file("demo.json", text);
    let program = env!("CARGO_BIN_EXE_toolcrib");
    let data = place.0.join("data");
    let command = ["--", program, "serve", "--demo", "workshop", "--stdio", "--data", data.to_str().unwrap()];
    let words = |more: &[&'static str]| {
        [&["capture", &file][..], more, &command[..]]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let run = |more: &[&'static str], code| {
        place.says(&words(more).iter().map(String::as_str).collect::<Vec<_>>(), code)
    };
    assert!(run(&["--dry-run"], 0).contains("nothing was written"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    let said = run(&[], 0);
    assert!(said.contains("gone") && said.contains("launch_confetti"), "{said}");
    assert!(place.says(&["show", &file], 0).contains("launch_confetti(count"));
    assert!(Path::new(&format!("{file}.bak")).exists());
    place.says(&["registry", "import", &file], 0);
    place.says(&[&["capture", "com.example/demo"][..], &command[..]].concat(), 0);
    let empty = place.file("empty.sh", "#!/bin/sh\nwhile read -r line; do case \"$line\" in *'\"initialize\"'*) echo '{\"jsonrpc\":\"2.0\",\"id\":'$(echo \"$line\" | sed 's/.*\"id\":\\([^,}]*\\).*/\\1/')',\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"e\",\"version\":\"1\"}}}';; *'\"tools/list\"'*) echo '{\"jsonrpc\":\"2.0\",\"id\":'$(echo \"$line\" | sed 's/.*\"id\":\\([^,}]*\\).*/\\1/')',\"result\":{\"tools\":[]}}';; *'\"id\"'*) echo '{\"jsonrpc\":\"2.0\",\"id\":'$(echo \"$line\" | sed 's/.*\"id\":\\([^,}]*\\).*/\\1/')',\"error\":{\"code\":-32601,\"message\":\"no\"}}';; esac; done\n");
    let before = std::fs::read_to_string(&file).unwrap();
    let said = place.says(&["capture", &file, "--no-backup", "--", "sh", &empty], 1);
    assert!(said.contains("no tools"), "{said}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
}
