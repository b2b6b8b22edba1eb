//! Fuzz target for configuration files of every kind: `toolcrib.toml`, Codex's TOML, `mcpServers` and VS Code's JSON
//! with comments.
//!
//! Properties: an error has a place inside the text. A comment before the text changes only the line number. An
//! accepted file has servers with unique names.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use toolcrib_gateway::config::{Environment, Place};
use toolcrib_gateway::{Config, ConfigError, Prefixing};

use crate::target::{Memory, Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "configuration",
    seeds,
    heavy,
    dictionary: DICTIONARY,
    bytes_max: 32 * 1024,
    cpu_max: Duration::from_secs(1),
    memory_max: Memory { factor: 512, constant: 2 * 1024 * 1024 },
    run,
};

const DICTIONARY: &[&str] = &[
    "[servers.a]\n",
    "[servers.a.oauth]\n",
    "[[servers.a.rules]]\n",
    "[mcp_servers.a]\n",
    "[auth]\n",
    "[auth.jwt]\n",
    "[drift]\n",
    "[toolsets.x]\n",
    "[selection]\n",
    "command = \"x\"\n",
    "url = \"http://127.0.0.1:1/\"\n",
    "args = [\"a\"]\n",
    "env = { A = \"${HOME}\" }\n",
    "listen = \"127.0.0.1:7420\"\n",
    "prefix = \"never\"\n",
    "startup_timeout_sec = 1e400\n",
    "call_ms_max = 0\n",
    "\"mcpServers\":{",
    "\"servers\":{",
    "\"command\":\"x\"",
    "\"url\":\"http://127.0.0.1:1/\"",
    "\"httpUrl\":",
    "\"headers\":{\"A\":\"b\"}",
    "\"env\":{\"A\":1}",
    "\"disabled\":true",
    "${A}",
    "${A:-b}",
    "${env:A}",
    "${input:a}",
    "$${",
    "// x\n",
    "/* x */",
    "# x\n",
    ",}",
    "\\\"",
    "'''",
    "\"\"\"",
];

/// Fixed variables; the environment of this process is not used.
struct Variables;

impl Environment for Variables {
    fn variable(&self, name: &str) -> Option<String> {
        matches!(name, "A" | "HOME").then(|| format!("${{{name}}}"))
    }
}

fn seeds() -> Vec<Vec<u8>> {
    [
        "listen = \"127.0.0.1:7420\"\nprefix = \"never\"\nhosts = [\"example.org\"]\n\n[servers.files]\ncommand = \"files\"\nargs = [\"--root\", \"${HOME}\"]\nenv = { A = \"${A:-b}\" }\n\n[[servers.files.rules]]\ntools = \"read_*\"\noutput = \"warn\"\nresult_bytes_max = 4096\n\n[servers.web]\nurl = \"http://127.0.0.1:9/mcp\"\nheaders = { X = \"y\" }\ncall_ms_max = 1000\n\n[servers.web.oauth]\nscopes = [\"a\"]\n",
        "[servers.a]\ncommand = \"a\"\ntoolset = \"x\"\ninclude = [\"a*\"]\nrevision = \"2025-11-25\"\n\n[auth]\ntokens = [{ subject = \"s\", token = \"t\" }]\n[auth.jwt]\nissuer = \"i\"\naudience = \"a\"\njwks_url = \"http://127.0.0.1:9/k\"\n\n[drift]\nbreaking = \"warn\"\n\n[toolsets.x]\ntools = [\"a\"]\n[selection]\ndefault = [\"x\"]\n",
        "[mcp_servers.docs]\ncommand = \"docs\"\nargs = [\"-y\"]\nenv_vars = [\"A\"]\nstartup_timeout_sec = 20.5\nenabled_tools = [\"a\"]\n\n[mcp_servers.web]\nurl = \"http://127.0.0.1:9/\"\nbearer_token_env_var = \"A\"\nenv_http_headers = { X = \"A\" }\n",
        "{\n  // servers\n  \"mcpServers\": {\n    \"a\": { \"command\": \"a\", \"args\": [\"${A}\"], \"env\": {\"N\": 1, \"M\": null}, },\n    \"b\": { \"url\": \"http://127.0.0.1:9/mcp\", \"headers\": {\"X\": \"${env:A}\"} /* x */ }\n  },\n}\n",
        "{\"servers\":{\"a\":{\"type\":\"stdio\",\"command\":\"a\",\"cwd\":\"${workspaceFolder}\"},\"b\":{\"type\":\"http\",\"url\":\"http://127.0.0.1:9/\"}},\"inputs\":[]}",
        "{\"mcp\":{\"servers\":{\"a\":{\"httpUrl\":\"http://127.0.0.1:9/\",\"timeout\":5,\"includeTools\":[\"x\"]}}}}",
        "{\"mcpServers\":{\"a\":{\"command\":\"a\"},\"a\":{\"command\":\"b\"}}}",
        "[servers.a]\ncommand = \"a\"\nurl = \"http://127.0.0.1:9/\"\n",
        "[servers]\n",
    ]
    .map(|seed| seed.as_bytes().to_vec())
    .to_vec()
}

fn heavy() -> Vec<Vec<u8>> {
    let servers =
        |count: usize| (0..count).map(|n| format!("[servers.s{n}]\ncommand = \"a\"\n")).collect::<String>();
    let listed: Vec<String> = (0..200).map(|n| format!("\"s{n}\":{{\"command\":\"a\"}}")).collect();
    [
        servers(200),
        servers(600),
        format!("{{\"mcpServers\":{{{}}}}}", listed.join(",")),
        format!("{{\"mcpServers\":{}", "[".repeat(16_000)),
        format!("a = {}", "[".repeat(16_000)),
        "a.".repeat(8_000),
        "[a.".repeat(5_000),
        format!("{{{}", "/* */".repeat(3_000)),
        format!("{{{}", "/*".repeat(8_000)),
        format!("[servers.a]\ncommand = \"{}\"\n", "${A}".repeat(4_000)),
        format!("[servers.a]\ncommand = \"{}\"\n", "${A:-".repeat(3_000)),
        format!("{{\"mcpServers\":{{\"a\":{{\"command\":\"a\"{}}}}}}}", ",".repeat(15_000)),
    ]
    .map(String::into_bytes)
    .to_vec()
}

fn run(input: &[u8]) -> Shape {
    let Ok(text) = std::str::from_utf8(input) else { return Shape::of(&["no text"]) };
    // A comment before a byte order mark would make the mark part of the text.
    let text = text.trim_start_matches('\u{feff}');
    let is_json = text.trim_start().starts_with(['{', '/']);
    // This folder does not exist.
    let path = Path::new(if is_json { "/nowhere/mcp.json" } else { "/nowhere/toolcrib.toml" });
    let comment = if is_json { "// x\n" } else { "# x\n" };
    let read = |text: &str| Config::read(path, text, Prefixing::Default, &Variables);
    let (plain, commented) = (read(text), read(&format!("{comment}{text}")));
    match (plain, commented) {
        (Ok(config), Ok(commented)) => {
            assert_eq!(config, commented, "a comment changes what is read");
            assert!(!config.sources.is_empty(), "no servers");
            let names: BTreeSet<&str> = config.sources.iter().map(toolcrib_gateway::Source::name).collect();
            assert_eq!(names.len(), config.sources.len(), "a server stands there twice");
            let extras = (config.pins.is_some(), config.auth.is_open(), config.listen.is_some(), is_json);
            Shape::of(&["read", &config.sources.len().min(8).to_string(), &format!("{extras:?}")])
        }
        (Err(error), Err(commented)) => {
            inside(text, &error);
            let moved = error.place.map(|place| Place { line: place.line + 1, ..place });
            // If a text ends too early, the error is at its end; the comment adds one line.
            assert_eq!((moved, &error.problem), (commented.place, &commented.problem), "another refusal");
            let words = error.problem.to_string();
            Shape::of(&["refused", words.split(['"', '`', '\'', '0', '1']).next().unwrap_or_default()])
        }
        (plain, commented) => panic!("a comment decides: {:?} and {:?}", plain.err(), commented.err()),
    }
}

fn inside(text: &str, error: &ConfigError) {
    let Some(Place { line, column }) = error.place else { return };
    let lines: Vec<&str> = text.split('\n').collect();
    let own = lines.get(line.wrapping_sub(1)).map(|own| own.chars().count());
    assert!(own.is_some_and(|own| (1..=own + 1).contains(&column)), "no such place: {error}");
}
