//! Operation of a gateway: unreachable servers, load, logs, readiness, shutdown.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_testkit::http::Request;
use toolcrib_testkit::listener::{Listener, Outgoing};
use toolcrib_testkit::port;
use toolcrib_testkit::process::Process;

use super::client::{able, modern};
use super::folder::Folder;
use super::running::{Gateway, PROGRAM, SOON, own_data, until};

fn hostile() -> String {
    let path = toolcrib_testkit::deps::built_example("hostile").unwrap_or_else(|error| panic!("{error}"));
    path.display().to_string()
}

fn server(name: &str, behaviour: &str) -> String {
    format!("[servers.{name}]\ncommand = {:?}\nargs = [\"stdio\", {behaviour:?}]\n", hostile())
}

fn echo(gateway: &Gateway, tool: &str) -> Value {
    gateway.ask("tools/call", &json!({"name": tool, "arguments": {"x": 1}}))
}

fn in_flight(gateway: &Gateway, name: &str, calls: usize) -> bool {
    let line = format!("toolcrib_server_calls_in_flight{{server=\"{name}\"}} {calls}\n");
    gateway.get("/metrics").1.contains(&line)
}

/// Starts a TLS listener with a self-signed certificate; `None` without openssl.
fn self_signed(folder: &Folder) -> Option<(Process, u16)> {
    let (key, certificate) = (folder.0.join("key.pem"), folder.0.join("cert.pem"));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=127.0.0.1",
            "-keyout",
        ])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        eprintln!("SKIPPED: no openssl, so no certificate to refuse");
        return None;
    }
    let port = port::free().unwrap();
    let mut command = Command::new("openssl");
    command.args(["s_server", "-quiet", "-accept", &format!("127.0.0.1:{port}"), "-key"]).arg(key);
    let mut process = Process::start(command.arg("-cert").arg(certificate)).unwrap();
    process.wait_for_port(([127, 0, 0, 1], port).into(), SOON).unwrap();
    Some((process, port))
}

/// R5.6: a missing command, a refused connection, bad TLS and 401 are named in `toolcrib status`; other servers keep
/// serving.
#[test]
fn what_cannot_be_reached_is_named_in_the_status_and_the_rest_serves_on() {
    let folder = Folder::new("unreachable");
    let nobody = port::free().unwrap();
    let asks =
        Listener::start(|_| Outgoing::empty(401).with("WWW-Authenticate", "Basic realm=\"x\"")).unwrap();
    let plain = Listener::start(|_| Outgoing::empty(200)).unwrap();
    let mut text = format!(
        "[servers.missing]\ncommand = \"no-such-program-7\"\n[servers.refused]\nurl = \"http://127.0.0.1:{nobody}/mcp\"\n\
         [servers.asks]\nurl = \"{}\"\n[servers.plain]\nurl = \"https://{}/mcp\"\n{}",
        asks.url("/mcp"),
        plain.address,
        server("good", "")
    );
    let tls = self_signed(&folder);
    if let Some((_, port)) = &tls {
        text.push_str(&format!("[servers.unsigned]\nurl = \"https://127.0.0.1:{port}/mcp\"\n"));
    }
    let gateway = Gateway::start(&["--config", &folder.file("toolcrib.toml", &text)]);
    let said = |format: &str| {
        let out =
            Command::new(PROGRAM).args(["status", &gateway.url(), "--format", format]).output().unwrap();
        assert!(out.status.success(), "{out:?}");
        String::from_utf8(out.stdout).unwrap()
    };
    let report: Value = serde_json::from_str(&said("json")).unwrap();
    let shown = said("text");
    let mut expected = vec![
        ("missing", "the command \"no-such-program-7\" cannot be started".to_owned()),
        ("refused", format!("no connection to 127.0.0.1:{nobody}: connection refused")),
        ("asks", "the server asks for a".to_owned()),
        ("plain", format!("no secure connection to {}", plain.address)),
    ];
    if let Some((_, port)) = &tls {
        expected.push((
            "unsigned",
            format!("no secure connection to 127.0.0.1:{port}: invalid peer certificate"),
        ));
    }
    for (name, says) in expected {
        let all = report["servers"].as_array().unwrap();
        let one = all.iter().find(|server| server["name"] == name).unwrap_or_else(|| panic!("{report}"));
        assert_eq!(one["state"], "failed", "{one}");
        assert!(one["reason"].as_str().unwrap().contains(&says), "{one}");
        assert!(shown.contains(&says), "{shown}");
    }
    assert!(echo(&gateway, "good__echo")["result"]["content"].is_array());
    assert_eq!(gateway.get("/readyz").0, 200, "it serves what it has");
}

/// R5.10: the gateway is not ready before the servers' first answers, and is ready with one that failed.
#[test]
fn readiness_waits_for_the_first_answers_and_not_for_servers_that_are_down() {
    let folder = Folder::new("ready");
    let text = format!("{}{}start_ms_max = 3000\n", server("good", ""), server("silent", "silent"));
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port::free().unwrap()));
    let mut command = Command::new(PROGRAM);
    command.args(["serve", "--listen", &address.to_string()]).args(own_data());
    let mut process =
        Process::start(command.args(["--config", &folder.file("toolcrib.toml", &text)])).unwrap();
    process.wait_for_port(address, SOON).unwrap();
    let gateway = Gateway { process, address };
    let (status, page) = gateway.get("/readyz");
    assert_eq!(status, 503, "{page}");
    assert_eq!(gateway.get("/livez").0, 200);
    until("the good one is served", || gateway.tools().contains(&"good__echo".to_owned()));
    until("ready", || gateway.get("/readyz").0 == 200);
    assert!(gateway.get("/readyz").1.contains("did not answer within 3000 ms"));
}

/// R5.10: one structured log line per call, however it ends.
#[test]
fn every_call_leaves_one_structured_line_however_it_ends() {
    let folder = Folder::new("log");
    let path = folder.file("toolcrib.toml", &format!("{}call_ms_max = 1000\n", server("s", "hang")));
    let gateway = Gateway::start(&["--config", &path, "--log-json"]);
    let lines = || -> Vec<Value> {
        let said = gateway.process.said();
        let all = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        all.filter(|line| line["target"] == "toolcrib::call").collect()
    };
    echo(&gateway, "s__echo");
    gateway.ask("tools/call", &json!({"name": "s__no_such", "arguments": {}}));
    gateway.ask("tools/call", &json!({"name": "s__echo", "arguments": 7}));
    echo(&gateway, "s__poke");
    let gone = modern("tools/call", &json!({"name": "s__safe_poke", "arguments": {}}), &able());
    let gone = gone.begin(gateway.address).unwrap();
    until("under way", || in_flight(&gateway, "s", 1));
    drop(gone);
    until("logged", || lines().len() >= 5);
    let all = lines();
    assert_eq!(all.len(), 5, "{all:?}");
    let tools: Vec<&str> = all.iter().map(|line| line["fields"]["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, ["s__echo", "s__no_such", "s__echo", "s__poke", "s__safe_poke"]);
    for line in &all {
        for field in ["tool", "principal", "client", "revision", "ending", "us"] {
            assert!(line["fields"].get(field).is_some(), "{field}: {line}");
        }
        assert_eq!(line["fields"]["revision"], "2026-07-28");
    }
    let endings: Vec<&str> = all.iter().map(|line| line["fields"]["ending"].as_str().unwrap()).collect();
    // R12.1, R12.2: a call that was sent and never answered is unknown, also if its client disconnected.
    assert_eq!(endings, ["done", "refused", "refused", "unknown", "unknown"]);
}

/// R5.10: calls over a server's limit are refused at once, and another server is unaffected.
#[test]
fn calls_over_a_servers_limit_are_shed_and_the_neighbour_is_served() {
    const CALLS: usize = 1_024;
    let folder = Folder::new("shed");
    let text = format!("{}call_ms_max = 20000\n{}", server("full", "hang"), server("good", ""));
    let gateway = Gateway::start(&["--config", &folder.file("toolcrib.toml", &text)]);
    // No two calls are equal, because the loop guard stops a caller that repeats one.
    let poke = |number: usize| {
        let arguments = json!({"number": number});
        modern("tools/call", &json!({"name": "full__safe_poke", "arguments": arguments}), &able())
    };
    let waiting: Vec<_> = (0..CALLS).map(|number| poke(number).begin(gateway.address).unwrap()).collect();
    until("full", || in_flight(&gateway, "full", CALLS));
    let begun = Instant::now();
    let refused = echo(&gateway, "full__poke");
    assert!(refused.to_string().contains("too many calls are under way at this server"), "{refused}");
    assert!(begun.elapsed() < Duration::from_secs(10), "refused, not queued until the deadline");
    assert!(echo(&gateway, "good__echo")["result"]["content"].is_array());
    drop(waiting);
    until("room again", || in_flight(&gateway, "full", 0));
    assert!(echo(&gateway, "full__echo")["result"]["content"].is_array());
}

/// R5.10: SIGTERM: new connections are refused, running calls are answered, child processes are gone, the exit code is
/// 0.
#[test]
fn the_end_waits_for_calls_under_way() {
    let folder = Folder::new("end");
    let text = format!("{}{}call_ms_max = 1000\n", server("slow", "slow"), server("stuck", "hang"));
    let mut gateway = Gateway::start(&["--config", &folder.file("toolcrib.toml", &text)]);
    let address = gateway.address;
    let call = |tool: &str| {
        let request = modern("tools/call", &json!({"name": tool, "arguments": {}}), &able());
        std::thread::spawn(move || request.send(address).unwrap().json().unwrap())
    };
    let (slow, stuck) = (call("slow__poke"), call("stuck__poke"));
    until("under way", || in_flight(&gateway, "slow", 1) && in_flight(&gateway, "stuck", 1));
    let ended = gateway.process.terminate(SOON).unwrap();
    assert!(ended.success(), "{ended}: {}", gateway.process.said());
    let slow = slow.join().unwrap();
    assert_eq!(slow["result"]["content"][0]["text"], "at last", "{slow}");
    let stuck = stuck.join().unwrap();
    assert!(stuck.to_string().contains("did not answer within 1000 ms"), "{stuck}");
    assert!(Request::get("/livez").send(address).is_err(), "nobody listens any more");
}

/// R5.8: during a call to one server others are added, removed and changed; a bad file changes nothing.
#[test]
fn a_call_under_way_outlives_every_change_of_the_file() {
    let folder = Folder::new("change");
    let stays = server("stays", "slow");
    let path =
        folder.file("toolcrib.toml", &format!("{stays}{}{}", server("goes", ""), server("alters", "")));
    let mut gateway = Gateway::start(&["--config", &path]);
    let address = gateway.address;
    let legacy = super::client::Legacy::new(&gateway, &able());
    let (request, session) = (
        legacy.calling("tools/call", &json!({"name": "stays__poke", "arguments": {}})),
        legacy.session.clone(),
    );
    let call = std::thread::spawn(move || request.send(address).unwrap().json().unwrap());
    until("under way", || in_flight(&gateway, "stays", 1));
    folder.file(
        "toolcrib.toml",
        &format!("{stays}{}{}", server("comes", ""), server("alters", "strict-output")),
    );
    let has = |name: &str| gateway.tools().contains(&name.to_owned());
    until("changed", || has("comes__echo") && has("alters__liar") && !has("goes__echo"));
    let answer = call.join().unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "at last", "{answer}");
    let tools = gateway.tools();
    folder.file("toolcrib.toml", &format!("{stays}[servers.twice\n"));
    gateway
        .process
        .wait_for_line("the refusal", SOON, |line| {
            (line.contains("nothing changed") && line.contains("toolcrib.toml:4:")).then_some(())
        })
        .unwrap();
    assert_eq!(gateway.tools(), tools);
    // The session from before the reload is still valid.
    let again = Request::post_json("/mcp", r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#);
    let again = again.header("Mcp-Session-Id", &session).header("MCP-Protocol-Version", "2025-11-25");
    assert_eq!(again.send(address).unwrap().status, 200);
}

/// R5.9: beyond loopback nobody is served without a credential, whatever the file says, and a request with another host
/// name or origin is refused.
#[test]
fn an_address_beyond_this_machine_asks_everybody_for_a_credential() {
    let port = port::free().unwrap();
    let folder = Folder::new("beyond");
    let data = folder.0.join("data");
    let mut command = Command::new(PROGRAM);
    command
        .args(["serve", "--listen", &format!("0.0.0.0:{port}"), "--data"])
        .arg(&data)
        .args(["--", &hostile()]);
    let mut process = Process::start(command.args(["stdio", ""])).unwrap();
    process.wait_for_line("greeting", SOON, |line| line.contains("stop with Ctrl-C").then_some(())).unwrap();
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let list = || modern("tools/list", &json!({}), &able());
    let secret = std::fs::read_to_string(data.join("operator.token")).unwrap();
    let (right, wrong) = (format!("Bearer {}", secret.trim()), "Bearer wrong");
    assert_eq!(list().send(address).unwrap().status, 401);
    assert_eq!(list().header("Authorization", wrong).send(address).unwrap().status, 401);
    assert_eq!(list().header("Authorization", &right).send(address).unwrap().status, 200);
    for (name, value) in [("Host", "evil.example"), ("Origin", "http://evil.example")] {
        let request = list().header("Authorization", &right).header(name, value);
        assert_eq!(request.send(address).unwrap().status, 403, "{name}");
    }
}

/// Returns the command between backticks that begins with `begins`.
fn command(text: &str, begins: &str) -> String {
    let found = text.split('`').skip(1).step_by(2).find(|command| command.starts_with(begins));
    found.unwrap_or_else(|| panic!("no `{begins}…` in {text}")).to_owned()
}

/// Runs a line as after copying it into a shell in another folder.
fn copied(line: &str) -> String {
    let binary = std::path::Path::new(PROGRAM).parent().unwrap().to_owned();
    let machine = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(binary).chain(std::env::split_paths(&machine))).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir("/").env("PATH", path).env_remove("TOOLCRIB_DATA");
    let out = shell.output().unwrap();
    assert!(out.status.success(), "{line}: {out:?}");
    String::from_utf8(out.stdout).unwrap()
}

/// R12.5: a command in a message works when it is copied, wherever the data folder is.
#[test]
fn commands_in_texts_work_when_they_are_copied() {
    let folder = Folder::new("copied");
    let data = folder.0.join("it's the data").display().to_string();
    let path = folder.file("toolcrib.toml", &server("s", ""));
    let gateway = Gateway::start_with(["--data".to_owned(), data], &["--config", &path]);
    let poke = |more: Value| {
        let mut arguments = json!({"x": 1});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = gateway.ask("tools/call", &json!({"name": "s__poke", "arguments": arguments}));
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let waits = poke(json!({}));
    let allow = command(&waits, "toolcrib approve allow ");
    assert!(copied(&allow).starts_with("allowed: apr_"), "{allow}");
    let handle = allow.split_whitespace().nth(3).unwrap();
    assert_eq!(poke(json!({"confirmation_token": handle})), "poked");
    let stopped =
        gateway.ask("tools/call", &json!({"name": "emergency_stop", "arguments": {"reason": "a drill"}}));
    let unlock = command(stopped["result"]["content"][0]["text"].as_str().unwrap(), "toolcrib unlock");
    let refused = poke(json!({"x": 2}));
    assert!(refused.contains("a drill"), "{refused}");
    assert_eq!(command(&refused, "toolcrib unlock"), unlock);
    assert!(copied(&unlock).contains("unlocked"), "{unlock}");
    until("unlocked", || !poke(json!({"x": 3})).contains("a drill"));
}

fn status(words: &[&str]) -> (i32, String, String) {
    let out = Command::new(PROGRAM).arg("status").args(words).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (out.status.code().unwrap(), text(&out.stdout), text(&out.stderr))
}

/// R12.5: a stop is visible in `toolcrib status`, with its reason.
#[test]
fn the_status_shows_a_stop() {
    let folder = Folder::new("status-stop");
    let data = folder.0.join("data").display().to_string();
    let path = folder.file("toolcrib.toml", &server("s", ""));
    let gateway = Gateway::start_with(["--data".to_owned(), data.clone()], &["--config", &path]);
    let (code, out, _) = status(&[&gateway.url()]);
    assert_eq!((code, out.contains("is ready")), (0, true), "{out}");
    let stop = |words: &[&str]| Command::new(PROGRAM).args(words).args(["--data", &data]).output().unwrap();
    assert!(stop(&["stop", "it smells of smoke"]).status.success());
    until("stopped", || gateway.get("/readyz").1.contains("it smells of smoke"));
    let (code, out, err) = status(&[&gateway.url()]);
    assert_eq!((code, out.contains("is ready")), (1, false), "{out}{err}");
    assert!(out.contains("is STOPPED") && out.contains("it smells of smoke"), "{out}");
    let (_, json, _) = status(&[&gateway.url(), "--format", "json"]);
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["stops"][0]["reason"], "it smells of smoke", "{report}");
    assert!(stop(&["unlock"]).status.success());
    until("unlocked", || status(&[&gateway.url()]).0 == 0);
}

/// R12.5: a server that requires a credential is running already; the hint says how to pass one.
#[test]
fn the_status_of_a_server_that_asks_for_a_credential_says_so() {
    let folder = Folder::new("status-401");
    let auth = "[[auth.tokens]]\nsubject = \"me\"\ntoken = \"s3cret\"\n";
    let path = folder.file("toolcrib.toml", &format!("{}{auth}", server("s", "")));
    let gateway = Gateway::start(&["--config", &path]);
    let (code, _, err) = status(&[&gateway.url()]);
    assert_eq!((code, err.contains("toolcrib serve")), (3, false), "{err}");
    assert!(err.contains("asks for a credential") && err.contains("--header"), "{err}");
    let (code, out, err) = status(&[&gateway.url(), "--header", "Authorization: Bearer s3cret"]);
    assert_eq!((code, out.contains("is ready")), (0, true), "{out}{err}");
}
