//! Configuration files with several servers, and changes to them.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::folder::Folder;
use super::running::{Gateway, PROGRAM, SOON, npm};

fn entry(command: &[String]) -> Value {
    json!({"command": command[0], "args": command[1..]})
}

/// R5.1, R5.3: an mcpServers file is read unchanged; tools of three real servers have stable names.
#[test]
fn a_clients_own_file_puts_three_real_servers_behind_one_endpoint() {
    let folder = Folder::new("three");
    folder.file("hello.txt", "hello from a file");
    let shown = folder.0.display().to_string();
    let servers = json!({"mcpServers": {
        "files": entry(&npm("server-filesystem", &[&shown])),
        "memory": entry(&npm("server-memory", &[])),
        "every": entry(&npm("server-everything", &["stdio"])),
        "gone": {"command": "no-such-program-7"},
    }});
    let gateway = Gateway::start(&["--config", &folder.file("mcp.json", &servers.to_string())]);
    let tools = gateway.tools();
    for name in ["files__read_text_file", "memory__create_entities", "every__echo"] {
        assert!(tools.iter().any(|tool| tool == name), "{name}: {tools:?}");
    }
    let read = json!({"name": "files__read_text_file", "arguments": {"path": format!("{shown}/hello.txt")}});
    let answer = gateway.ask("tools/call", &read);
    assert!(
        answer["result"]["content"][0]["text"].as_str().unwrap().contains("hello from a file"),
        "{answer}"
    );
    let graph = json!({"name": "memory__read_graph", "arguments": {}});
    assert!(gateway.ask("tools/call", &graph)["result"]["structuredContent"].is_object());
    let prompts = gateway.ask("prompts/list", &json!({}));
    assert!(prompts["result"]["prompts"].to_string().contains("every__simple-prompt"), "{prompts}");
    let got = gateway.ask("prompts/get", &json!({"name": "every__simple-prompt"}));
    assert!(got["result"]["messages"].is_array(), "{got}");
    let resources = gateway.ask("resources/list", &json!({}));
    let uri = resources["result"]["resources"][0]["uri"].as_str().unwrap_or_else(|| panic!("{resources}"));
    assert!(gateway.ask("resources/read", &json!({"uri": uri}))["result"]["contents"].is_array());
    let templates = gateway.ask("resources/templates/list", &json!({}));
    assert!(
        templates["result"].to_string().contains("demo://resource/dynamic/text/{resourceId}"),
        "{templates}"
    );
    let dynamic = gateway.ask("resources/read", &json!({"uri": "demo://resource/dynamic/text/3"}));
    assert!(
        dynamic["result"]["contents"][0]["text"].as_str().unwrap().starts_with("Resource 3"),
        "{dynamic}"
    );
    for (reference, argument, value) in [
        (json!({"type": "ref/prompt", "name": "every__completable-prompt"}), "department", "Engineering"),
        (
            json!({"type": "ref/resource", "uri": "demo://resource/dynamic/text/{resourceId}"}),
            "resourceId",
            "1",
        ),
    ] {
        let begun = json!({"ref": reference, "argument": {"name": argument, "value": &value[..1]}});
        let completed = gateway.ask("completion/complete", &begun);
        assert_eq!(completed["result"]["completion"]["values"], json!([value]), "{completed}");
    }
    let about = gateway.ask("server/discover", &json!({}));
    assert!(about["result"]["instructions"].as_str().unwrap().contains("## every\n"), "{about}");
    let (status, ready) = gateway.get("/readyz");
    assert_eq!(status, 200);
    let ready: Value = serde_json::from_str(&ready).unwrap();
    let gone =
        ready["servers"].as_array().unwrap().iter().find(|server| server["name"] == "gone").unwrap().clone();
    assert!(gone["reason"].as_str().unwrap().contains("no-such-program-7"), "{gone}");
    let (_, metrics) = gateway.get("/metrics");
    assert!(metrics.contains("toolcrib_calls_total{ending=\"done\"} 2"), "{metrics}");
    assert!(metrics.contains("toolcrib_server_up{server=\"files\"} 1"), "{metrics}");
    assert_eq!(gateway.get("/livez").0, 200);
}

/// R5.8: a changed file is in force without a restart; a bad one changes nothing and is reported.
#[test]
fn a_changed_file_is_in_force_and_a_bad_one_changes_nothing() {
    let folder = Folder::new("reload");
    let memory = json!({"mcpServers": {"memory": entry(&npm("server-memory", &[]))}});
    let path = folder.file("mcp.json", &memory.to_string());
    let mut gateway = Gateway::start(&["--config", &path]);
    let before = gateway.tools();
    folder.file("mcp.json", "{ \"mcpServers\": { \"memory\": ");
    gateway
        .process
        .wait_for_line("the refusal", SOON, |line| line.contains("nothing changed").then_some(()))
        .unwrap();
    assert_eq!(gateway.tools(), before);
    let both = json!({"mcpServers": {"memory": memory["mcpServers"]["memory"], "every": entry(&npm("server-everything", &["stdio"]))}});
    folder.file("mcp.json", &both.to_string());
    let end = Instant::now() + SOON;
    while !gateway.tools().contains(&"every__echo".to_owned()) {
        assert!(Instant::now() < end, "{}", gateway.process.said());
        std::thread::park_timeout(Duration::from_millis(50));
    }
    assert!(before.iter().all(|name| gateway.tools().contains(name)));
}

/// R5.9: bearer tokens are required, with a challenge; a wrong token is refused.
#[test]
fn who_may_call_is_asked_where_the_file_says_so() {
    let folder = Folder::new("auth");
    let words = npm("server-memory", &[]);
    let server = format!("[servers.m]\ncommand = {:?}\nargs = [{:?}]\n", words[0], words[1]);
    let auth = "[[auth.tokens]]\nsubject = \"me\"\ntoken = \"s3cret\"\n";
    let gateway = Gateway::start(&["--config", &folder.file("toolcrib.toml", &format!("{server}{auth}"))]);
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    let post = || toolcrib_testkit::http::Request::post_json("/mcp", body);
    let refused = post().send(gateway.address).unwrap();
    assert_eq!(refused.status, 401);
    assert!(refused.header("www-authenticate").unwrap().starts_with("Bearer"));
    assert_eq!(post().header("Authorization", "Bearer wrong").send(gateway.address).unwrap().status, 401);
    assert_eq!(post().header("Authorization", "Bearer s3cret").send(gateway.address).unwrap().status, 200);
}

/// R5.8: credentials and loaded toolsets change with the file; settings that need a restart are named.
#[test]
fn credentials_and_toolsets_change_with_the_file() {
    let folder = Folder::new("reload-auth");
    let words = npm("server-memory", &[]);
    let server = format!("[servers.m]\ncommand = {:?}\nargs = [{:?}]\n", words[0], words[1]);
    let token = |secret: &str| format!("[[auth.tokens]]\nsubject = \"me\"\ntoken = \"{secret}\"\n");
    let path = folder.file("toolcrib.toml", &format!("{server}{}", token("one")));
    let mut gateway = Gateway::start(&["--config", &path]);
    let address = gateway.address;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    let list = |secret: &str| {
        let request = toolcrib_testkit::http::Request::post_json("/mcp", body);
        request.header("Authorization", &format!("Bearer {secret}")).send(address).unwrap()
    };
    assert_eq!((list("one").status, list("two").status), (200, 401));
    let whole = list("one").text();
    assert!(whole.contains("m__read_graph") && whole.contains("m__create_entities"), "{whole}");
    let toolsets = "[toolsets.readers]\ntools = [\"m__read_*\"]\n[selection]\ndefault = [\"readers\"]\n";
    let hosts = "hosts = [\"gate.example\"]\n";
    folder.file("toolcrib.toml", &format!("{hosts}{server}{}{toolsets}", token("two")));
    super::running::until("in force", || list("two").status == 200);
    assert_eq!(list("one").status, 401);
    let fewer = list("two").text();
    assert!(fewer.contains("m__read_graph") && !fewer.contains("\"m__create_entities\""), "{fewer}");
    gateway
        .process
        .wait_for_line("what needs a start", SOON, |line| {
            line.contains("hosts stays as it was until the next start").then_some(())
        })
        .unwrap();
}

fn hostile() -> String {
    let path = toolcrib_testkit::deps::built_example("hostile").unwrap_or_else(|error| panic!("{error}"));
    format!("[servers.s]\ncommand = {:?}\nargs = [\"stdio\", \"\"]\n", path.display().to_string())
}

fn poke(gateway: &Gateway, more: &Value) -> String {
    let mut arguments = json!({"x": 1});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answer = gateway.ask("tools/call", &json!({"name": "s__poke", "arguments": arguments}));
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// R12.5: the file's section `[safety]` is in force, and a changed one for the next call; tokens issued under the old
/// one are void; an invalid section changes nothing and is reported.
#[test]
fn a_policy_changes_with_the_file() {
    let folder = Folder::new("reload-policy");
    let file = |safety: &str| folder.file("toolcrib.toml", &format!("{}{safety}", hostile()));
    let path = file("[safety]\ndestructive = \"never\"\n");
    let data = folder.0.join("data").display().to_string();
    let mut gateway = Gateway::start_with(["--data".to_owned(), data], &["--config", &path]);
    assert_eq!(poke(&gateway, &json!({})), "poked");
    file("[safety]\ndestructive = \"always\"\n");
    super::running::until("the new policy is in force", || {
        poke(&gateway, &json!({})).contains("waits for a person")
    });
    let wish = json!({"action": "s__poke", "params_summary": "a test", "arguments": {"x": 1}});
    let token = || {
        let given = gateway.ask("tools/call", &json!({"name": "get_confirmation_token", "arguments": wish}));
        let token = &given["result"]["structuredContent"]["token"];
        json!({"confirmation_token": token.as_str().unwrap_or_else(|| panic!("{given}"))})
    };
    assert_eq!(poke(&gateway, &token()), "poked");
    let old = token();
    file("[safety]\ndestructive = \"always\"\nrequire_arguments = true\n");
    let given = json!({"action": "s__poke", "params_summary": "a test"});
    super::running::until("arguments are required", || {
        let answer =
            gateway.ask("tools/call", &json!({"name": "get_confirmation_token", "arguments": given}));
        answer["result"]["isError"] == true
    });
    let void = poke(&gateway, &old);
    assert!(void.contains("the policy has changed since it was given"), "{void}");
    assert_eq!(poke(&gateway, &token()), "poked");
    file("[safety]\ndestructive = \"nevr\"\n");
    gateway
        .process
        .wait_for_line("the refusal", SOON, |line| {
            let says = "toolcrib.toml:5:15: unknown variant `nevr`; did you mean `never`?";
            (line.contains("nothing changed") && line.contains(says)).then_some(())
        })
        .unwrap();
    assert!(poke(&gateway, &json!({})).contains("waits for a person"));
    file("");
    super::running::until("the default is in force", || {
        let answer =
            gateway.ask("tools/call", &json!({"name": "get_confirmation_token", "arguments": given}));
        answer["result"]["isError"].is_null()
    });
    assert!(poke(&gateway, &json!({})).contains("waits for a person"), "destructive tools are `unaware`");
}

/// R12.5: `--policy` overrides the file's section, and the log says so; JSON files have no section.
#[test]
fn a_policy_of_its_own_wins_over_the_section() {
    let folder = Folder::new("two-policies");
    let path = folder.file("toolcrib.toml", &format!("{}[safety]\ndestructive = \"human\"\n", hostile()));
    // This policy lets every call through.
    let mut gateway = Gateway::start(&["--config", &path]);
    assert_eq!(poke(&gateway, &json!({})), "poked");
    let says = |line: &str| line.contains("policy.toml is in force; the section [safety] of").then_some(());
    gateway.process.wait_for_line("which policy is in force", SOON, says).unwrap();
    let program = toolcrib_testkit::deps::built_example("hostile").unwrap_or_else(|error| panic!("{error}"));
    let servers = json!({"mcpServers": {"s": {"command": program, "args": ["stdio", ""]}},
        "safety": {"destructive": "never"}});
    let path = folder.file("mcp.json", &servers.to_string());
    let data = folder.0.join("data").display().to_string();
    let gateway = Gateway::start_with(["--data".to_owned(), data], &["--config", &path]);
    assert!(poke(&gateway, &json!({})).contains("waits for a person"));
}

/// R12.5: `config validate` checks the section with the rest of the file.
#[test]
fn a_wrong_key_of_the_section_is_named_with_its_place() {
    let folder = Folder::new("validate-policy");
    let validate = |safety: &str| {
        let path = folder.file("toolcrib.toml", &format!("[servers.a]\ncommand = \"x\"\n{safety}"));
        Command::new(PROGRAM).args(["config", "validate", &path]).output().unwrap()
    };
    let good = validate(
        "[safety]\ndestructive = \"human\"\n[[safety.rules]]\ntools = [\"a__*\"]\ndemand = \"never\"\n",
    );
    let said = String::from_utf8_lossy(&good.stdout).into_owned();
    assert!(good.status.success() && said.contains("destructive tools human, 1 rule"), "{good:?}");
    let bad = validate("[safety]\nqueu = false\n");
    let said = String::from_utf8_lossy(&bad.stderr).into_owned();
    assert_eq!(bad.status.code(), Some(2), "{said}");
    assert!(said.contains("toolcrib.toml:4:1: unknown field `queu`; did you mean `queue`?"), "{said}");
}

/// R5.1: a bad file is an error with its location, and nothing is started.
#[test]
fn a_bad_file_stops_the_start_with_its_place() {
    let folder = Folder::new("bad");
    let path = folder.file("toolcrib.toml", "[servers.a]\ncommand = \"${TOOLCRIB_NO_SUCH_VARIABLE}\"\n");
    for words in [vec!["serve", "--config", &path], vec!["config", "validate", &path]] {
        let data = folder.0.join("data");
        let output = Command::new(PROGRAM).args(&words).env("TOOLCRIB_DATA", data).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains("toolcrib.toml:2:12: the variable TOOLCRIB_NO_SUCH_VARIABLE is not set"),
            "{said}"
        );
    }
}

/// R5.1: with one bad line, not even the servers before it are started.
#[test]
fn nothing_is_started_by_a_file_with_one_bad_line() {
    let folder = Folder::new("one-bad-line");
    let mark = folder.0.join("started");
    let text = format!(
        "[servers.a]\ncommand = \"touch\"\nargs = [{:?}]\n[servers.b]\ncommand = \"x\"\ncall_ms_max = 0\n",
        mark.display().to_string()
    );
    let path = folder.file("toolcrib.toml", &text);
    let data = folder.0.join("data");
    let output =
        Command::new(PROGRAM).args(["serve", "--config", &path]).env("TOOLCRIB_DATA", data).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("toolcrib.toml:6:15: call_ms_max is 0; expected at least one"), "{said}");
    assert!(!mark.exists());
}

/// R5.1, R5.2: servers from PyPI run side by side, each negotiated by itself.
#[test]
fn servers_from_pypi_stand_beside_each_other() {
    let folder = Folder::new("pypi");
    let shown = folder.0.display().to_string();
    let git = |words: &[&str]| Command::new("git").current_dir(&folder.0).args(words).output().unwrap();
    assert!(git(&["init", "-q"]).status.success());
    let bin = toolcrib_testkit::deps::Deps::of_this_workspace().python_venv().join("bin");
    let program = |name: &str| {
        let path = bin.join(name);
        assert!(path.exists(), "{} is missing: run `cargo run -p xtask -- provision`", path.display());
        path.display().to_string()
    };
    let servers = json!({"mcpServers": {
        "time": {"command": program("mcp-server-time"), "args": ["--local-timezone", "Europe/Zurich"]},
        "git": {"command": program("mcp-server-git")},
        "fetch": {"command": program("mcp-server-fetch")},
    }});
    let gateway = Gateway::start(&["--config", &folder.file("mcp.json", &servers.to_string())]);
    let tools = gateway.tools();
    for name in ["time__get_current_time", "git__git_status", "fetch__fetch"] {
        assert!(tools.iter().any(|tool| tool == name), "{name}: {tools:?}\n{}", gateway.process.said());
    }
    let text = |name: &str, arguments: Value| {
        let answer = gateway.ask("tools/call", &json!({"name": name, "arguments": arguments}));
        assert_ne!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    assert!(text("time__get_current_time", json!({"timezone": "Europe/Zurich"})).contains("Europe/Zurich"));
    assert!(text("git__git_status", json!({"repo_path": shown})).contains("No commits yet"));
    let refused = gateway.ask("tools/call", &json!({"name": "fetch__fetch", "arguments": {"url": 7}}));
    assert!(refused["result"]["content"][0]["text"].as_str().unwrap().contains("/url"), "{refused}");
}

/// R5.3, R5.5: without prefixes, a tool with the name of one of the gateway's own is quarantined alone and reported.
#[test]
fn a_tool_with_the_name_of_our_own_is_quarantined_alone() {
    let hostile = toolcrib_testkit::deps::built_example("hostile").unwrap_or_else(|error| panic!("{error}"));
    let gateway =
        Gateway::start(&["--prefix", "never", "--", &hostile.display().to_string(), "stdio", "own-names"]);
    let tools = gateway.tools();
    assert!(
        ["echo", "poke", "search_tools"].iter().all(|name| tools.contains(&(*name).to_owned())),
        "{tools:?}"
    );
    let (_, ready) = gateway.get("/readyz");
    let ready: Value = serde_json::from_str(&ready).unwrap();
    let quarantined = ready["servers"][0]["quarantined"].as_array().unwrap_or_else(|| panic!("{ready}"));
    assert_eq!(quarantined.len(), 1, "{ready}");
    assert_eq!(quarantined[0]["tool"], "emergency_status");
    assert!(quarantined[0]["reason"].as_str().unwrap().contains("a tool of its own"), "{ready}");
}
