//! Fuzz target for catalogue files of every registry format, as JSON or YAML.
//!
//! Properties: a document that converts without a warning is the same after conversion to any format and back. Printed
//! output parses to the same document. Validation against the format's rules terminates.

use std::time::Duration;

use toolcrib_contract::json::{Document, Limits};
use toolcrib_registry::convert::{ConvertError, Options, convert, json_text};
use toolcrib_registry::{Format, pretty, strict};

use crate::target::{Memory, Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "catalogue",
    seeds,
    heavy,
    dictionary: DICTIONARY,
    bytes_max: 32 * 1024,
    cpu_max: Duration::from_secs(4),
    memory_max: Memory { factor: 1_024, constant: 8 * 1024 * 1024 },
    run,
};

const DICTIONARY: &[&str] = &[
    "\"$schema\":\"x\"",
    "\"servers\":{",
    "\"remote_servers\":{",
    "\"groups\":[",
    "\"data\":{\"servers\":[",
    "\"name\":\"io.github.a/b\"",
    "\"version\":\"1.0.0\"",
    "\"description\":\"x\"",
    "\"packages\":[",
    "\"remotes\":[",
    "\"registryType\":\"oci\"",
    "\"identifier\":\"img:1\"",
    "\"image\":\"img:1\"",
    "\"url\":\"https://example.org/\"",
    "\"transport\":\"stdio\"",
    "\"tier\":\"Official\"",
    "\"status\":\"Active\"",
    "\"tools\":[\"a\"]",
    "\"tool_definitions\":[",
    "\"env_vars\":[",
    "\"_meta\":{",
    "\"io.modelcontextprotocol.registry/publisher-provided\":{",
    "\"io.github.stacklok\":{",
    "\"inputSchema\":{\"type\":\"object\"}",
    "null",
    "1.50",
];

fn seeds() -> Vec<Vec<u8>> {
    let tool = r#"{"name":"a","description":"x","inputSchema":{"type":"object","properties":{"p":{"type":"string"}}}}"#;
    let entry = format!(
        r#"{{"description":"x","tier":"Community","status":"Active","transport":"stdio","tools":["a"],"image":"ghcr.io/a/b:1","repository_url":"https://github.com/a/b","metadata":{{"stars":1}},"env_vars":[{{"name":"K","description":"k","required":true,"secret":true}}],"tool_definitions":[{tool}]}}"#
    );
    let remote = r#"{"description":"y","tier":"Official","status":"Active","transport":"streamable-http","tools":["a"],"url":"https://example.org/mcp"}"#;
    let server = r#"{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json","name":"io.github.a/b","description":"x","version":"1.0.0","packages":[{"registryType":"oci","identifier":"ghcr.io/a/b:1","transport":{"type":"stdio"}}]}"#;
    [
        format!(r#"{{"version":"1.0.0","last_updated":"2026-01-01T00:00:00Z","servers":{{"osv":{entry}}},"remote_servers":{{"web":{remote}}}}}"#),
        entry.clone(),
        format!(r#"{{"data":{{"servers":[{server}]}},"meta":{{"last_updated":"2026-01-01T00:00:00Z"}},"version":"1.0.0"}}"#),
        server.to_owned(),
        format!(r#"{{"tools":[{tool}]}}"#),
        format!("[{tool}]"),
        "name: io.github.a/b\ndescription: x\nversion: 1.0.0\nremotes:\n  - type: sse\n    url: https://example.org/\n".to_owned(),
    ]
    .map(String::into_bytes)
    .to_vec()
}

fn heavy() -> Vec<Vec<u8>> {
    let tools: Vec<String> =
        (0..250).map(|n| format!("{{\"name\":\"t{n}\",\"inputSchema\":{{\"type\":\"object\"}}}}")).collect();
    let servers: Vec<String> = (0..120)
        .map(|n| format!("{{\"name\":\"a.b/c{n}\",\"version\":\"1\",\"description\":\"x\"}}"))
        .collect();
    [
        r#"{"data":{},"meta":{"last_updated":"2026-01-01T00:00:00Z"},"version":"1.0.0"}"#.to_owned(),
        format!("[{}]", tools.join(",")),
        format!("{{\"data\":{{\"servers\":[{}]}}}}", servers.join(",")),
        format!("{{\"servers\":{{{}", "\"a\":{".repeat(3_000)),
        "[".repeat(16_000),
    ]
    .map(String::into_bytes)
    .to_vec()
}

fn run(input: &[u8]) -> Shape {
    let text = match json_text(input) {
        Ok(text) => text,
        Err(error) => return Shape::of(&["unread", variant(&error)]),
    };
    let Ok(document) = Document::parse(text.as_bytes(), &Limits::file()) else {
        return Shape::of(&["no JSON"]);
    };
    let printed = pretty(document.root());
    let again = Document::parse(printed.as_bytes(), &Limits::file())
        .unwrap_or_else(|error| panic!("what is printed is refused: {error}\n{printed}"));
    let compact = document.root().to_compact();
    assert_eq!(again.root().to_compact(), compact, "printing changed it");
    let Some(from) = Format::detect(document.root()) else { return Shape::of(&["unknown"]) };
    let faults = strict::check(from, document.root()).issues().len();
    let mut words = vec![from.name().to_owned(), faults.min(8).to_string()];
    for to in Format::ALL {
        words.push(there_and_back(&compact, from, to).to_owned());
    }
    Shape::of(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn there_and_back(text: &str, from: Format, to: Format) -> &'static str {
    let mut options = Options::default();
    options.from = Some(from);
    let there = match convert(text.as_bytes(), to, &options) {
        Ok(there) => there,
        Err(error) => return variant(&error),
    };
    if !there.report.issues().is_empty() {
        return "noted";
    }
    options.from = Some(to);
    let back = convert(there.text.as_bytes(), from, &options)
        .unwrap_or_else(|error| panic!("{} does not come back: {error}\n{text}\n{}", to.name(), there.text));
    assert_eq!(back.text, text, "another document from {}: {}", to.name(), there.text);
    "same"
}

fn variant(error: &ConvertError) -> &'static str {
    match error {
        ConvertError::Read(_) => "read",
        ConvertError::Yaml(_) => "yaml",
        ConvertError::Unknown => "unknown",
        ConvertError::NotOne { .. } => "not one",
        ConvertError::NoSuchServer { .. } => "no such server",
        ConvertError::Issue(_) => "issue",
        _ => "other",
    }
}
