//! R6.6: `capture` asks real servers as their entries say: an npm package, a PyPI package, a URL.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use toolcrib_testkit::deps::Deps;
use toolcrib_testkit::process::Process;

use crate::Place;

/// Returns the only extension block of the entry in `file`.
fn block(place: &Place, file: &str) -> Value {
    let text = std::fs::read_to_string(place.0.join(file)).unwrap();
    let entry: Value = serde_json::from_str(&text).unwrap();
    let blocks = &entry["_meta"]["io.modelcontextprotocol.registry/publisher-provided"]["io.github.stacklok"];
    blocks.as_object().unwrap().values().next().unwrap().clone()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .filter_map(|item| item.as_str().or_else(|| item["name"].as_str()))
        .collect()
}

fn capture(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success(), "{command:?}\n{said}");
    said
}

/// R6.6: an npm package is started by npx, and its definitions fill the entry; a second run finds nothing new.
#[test]
fn an_npm_package_is_captured() {
    let deps = Deps::of_this_workspace();
    let place = Place::new("capture-npm");
    let file = place.file("everything.json", r#"{"name":"com.example/everything","description":"Has every feature.","version":"1.0.0",
        "packages":[{"registryType":"npm","identifier":"@modelcontextprotocol/server-everything","version":"2026.8.31","transport":{"type":"stdio"}}]}"#);
    let node = deps.node().unwrap();
    let paths = std::env::var_os("PATH").unwrap();
    let folders =
        node.parent().map(std::path::Path::to_path_buf).into_iter().chain(std::env::split_paths(&paths));
    let path = std::env::join_paths(folders).unwrap();
    // npx finds the package in the project that provisioning installed, so the network is not needed.
    let run = || {
        capture(
            Command::new(env!("CARGO_BIN_EXE_toolcrib"))
                .args(["capture", &file, "--no-backup"])
                .current_dir(deps.npm_project())
                .env("PATH", &path)
                .env("npm_config_offline", "true"),
        )
    };
    let said = run();
    assert!(said.contains("\"echo\" is new") && said.contains("bytes of extension"), "{said}");
    let captured = block(&place, "everything.json");
    let tools = names(&captured["tools"]);
    assert!(tools.len() >= 8 && tools.contains(&"get-sum"), "{tools:?}");
    assert_eq!(tools, names(&captured["tool_definitions"]));
    let echo =
        captured["tool_definitions"].as_array().unwrap().iter().find(|tool| tool["name"] == "echo").unwrap();
    assert!(echo["inputSchema"]["properties"]["message"].is_object(), "{echo}");
    let before = std::fs::read_to_string(&file).unwrap();
    assert!(run().contains("suggested step: none"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
}

/// R6.6: a PyPI package is started by uvx, with the arguments its entry names.
#[test]
fn a_pypi_package_is_captured() {
    let deps = Deps::of_this_workspace();
    assert!(deps.python_venv().join("bin/uvx").exists(), "no uvx: `cargo run -p xtask -- provision`");
    let place = Place::new("capture-pypi");
    let entry = r#"{"name":"com.example/time","description":"Tells the time.","version":"1.0.0","packages":[{"registryType":"pypi","identifier":"mcp-server-time","version":"2026.10.19",
        "transport":{"type":"stdio"},"packageArguments":[{"type":"named","name":"--local-timezone","value":"ZONE"}]}]}"#;
    let file = place.file("time.json", &entry.replace("ZONE", "Europe/Zurich"));
    let folders = std::iter::once(deps.python_venv().join("bin"));
    let paths = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&paths))).unwrap();
    let command = |file: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolcrib"));
        command.args(["capture", file, "--no-backup"]).env("PATH", &path).env("UV_OFFLINE", "1");
        command.envs(deps.uv_environment());
        command
    };
    assert!(capture(&mut command(&file)).contains("\"get_current_time\" is new"));
    let captured = block(&place, "time.json");
    assert_eq!(names(&captured["tools"]), ["convert_time", "get_current_time"]);
    // The argument reaches the program: an unknown zone makes it fail, and the entry stays unchanged.
    let wrong = place.file("wrong.json", &entry.replace("ZONE", "Nowhere/At-All"));
    let output = command(&wrong).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(!std::fs::read_to_string(&wrong).unwrap().contains("tool_definitions"));
}

/// R6.6: a server of the catalogue is asked at its remote's URL; required values that are missing are named.
#[test]
fn a_remote_of_the_catalogue_is_captured() {
    let place = Place::new("capture-url");
    let mut serving = Command::new(env!("CARGO_BIN_EXE_toolcrib"));
    serving
        .args(["serve", "--demo", "workshop", "--listen", "127.0.0.1:0", "--data"])
        .arg(place.0.join("data"));
    let mut process = Process::start(&mut serving).unwrap();
    let url = |line: &str| {
        let at = line.find("http://127.0.0.1:")?;
        line[at..].split_whitespace().next().map(str::to_owned)
    };
    let url = process.wait_for_line("saying where it serves", Duration::from_secs(20), url).unwrap();
    let entry = format!(
        r#"{{"name":"com.example/workshop","description":"A workshop.","version":"1.0.0","remotes":[{{"type":"streamable-http","url":"{url}",
        "headers":[{{"name":"X-Tenant","isRequired":true,"value":"{{TOOLCRIB_TEST_TENANT}}","variables":{{"TOOLCRIB_TEST_TENANT":{{"isRequired":true}}}}}}]}}]}}"#
    );
    place.says(&["registry", "import", &place.file("workshop.json", &entry)], 0);
    let said = place.says(&["capture", "workshop"], 3);
    assert!(said.contains("TOOLCRIB_TEST_TENANT"), "{said}");
    let said = capture(
        Command::new(env!("CARGO_BIN_EXE_toolcrib"))
            .args(["capture", "workshop", "--store", place.0.join("toolcrib.db").to_str().unwrap()])
            .env("TOOLCRIB_TEST_TENANT", "one"),
    );
    assert!(said.contains("\"launch_confetti\" is new"), "{said}");
    assert!(place.says(&["show", "workshop"], 0).contains("launch_confetti(count"));
    assert!(place.says(&["search", "confetti"], 0).contains("com.example/workshop"));
}
