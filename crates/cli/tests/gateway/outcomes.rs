//! Outcomes of calls in journal, audit, metrics and log: servers that die, hang, are cut off or answer unreadably after
//! a destructive call was sent (R12.1, R12.2).

use std::process::Command;

use serde_json::{Value, json};
use toolcrib_testkit::process::Process;

use super::folder::Folder;
use super::running::{Gateway, PROGRAM, SOON, until};

fn hostile() -> String {
    let path = toolcrib_testkit::deps::built_example("hostile").unwrap_or_else(|error| panic!("{error}"));
    path.display().to_string()
}

/// A gateway with its own data folder, in front of servers that are named by their behaviour.
struct Bed {
    gateway: Gateway,
    data: String,
    _folder: Folder,
    _servers: Vec<Process>,
}

impl Bed {
    fn new(name: &str, stdio: &[&str], http: &[&str]) -> Self {
        let folder = Folder::new(name);
        let (mut config, mut servers) = (String::new(), Vec::new());
        let limits = "call_ms_max = 700\n";
        for behaviour in stdio {
            let name = server("stdio", behaviour);
            config += &format!(
                "[servers.{name}]\ncommand = {:?}\nargs = [\"stdio\", {behaviour:?}]\n{limits}",
                hostile()
            );
        }
        for behaviour in http {
            let mut process = Process::start(Command::new(hostile()).args(["http", behaviour])).unwrap();
            let address = process.wait_for_address(SOON).unwrap();
            config +=
                &format!("[servers.{}]\nurl = \"http://{address}/mcp\"\n{limits}", server("http", behaviour));
            servers.push(process);
        }
        let config = folder.file("toolcrib.toml", &config);
        let policy = folder.file("policy.toml", "[safety]\ndestructive = \"never\"\n");
        let data = folder.0.join("data").display().to_string();
        let own = ["--data".to_owned(), data.clone(), "--policy".to_owned(), policy];
        let gateway = Gateway::start_with(own, &["--config", &config, "--log-json"]);
        Self { gateway, data, _folder: folder, _servers: servers }
    }

    fn call(&self, server: &str) -> Value {
        self.gateway.ask("tools/call", &json!({"name": format!("{server}__poke"), "arguments": {}}))
    }

    fn run(&self, words: &[&str]) -> String {
        let out = Command::new(PROGRAM).args(words).args(["--data", &self.data]).output().unwrap();
        String::from_utf8(out.stdout).unwrap()
    }

    /// Returns the outcomes in the audit, by tool.
    fn audited(&self) -> Vec<(String, String)> {
        let records = self.run(&["audit", "list", "--last", "10000", "--format", "json"]);
        let records = records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let outcomes =
            records.map(|line| line["record"].clone()).filter(|record| record["kind"] == "outcome");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        outcomes.map(|record| (text(&record["tool"]), text(&record["outcome"]))).collect()
    }

    /// Returns the endings in the log, by tool.
    fn logged(&self) -> Vec<(String, String)> {
        let said = self.gateway.process.said();
        let lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let calls =
            lines.filter(|line| line["target"] == "toolcrib::call").map(|line| line["fields"].clone());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        calls.map(|fields| (text(&fields["tool"]), text(&fields["ending"]))).collect()
    }

    fn metric(&self, ending: &str) -> u64 {
        let (_, metrics) = self.gateway.get("/metrics");
        let line = format!("toolcrib_calls_total{{ending=\"{ending}\"}} ");
        metrics.lines().find_map(|found| found.strip_prefix(&line)?.parse().ok()).unwrap_or_default()
    }
}

/// Returns the name of the server with this transport and behaviour.
fn server(over: &str, behaviour: &str) -> String {
    format!("{over}-{behaviour}")
}

/// R12.1, R12.2: a destructive call that was sent, and whose server died, hung, was cut off or answered unreadably, is
/// unknown: in the answer, the journal, the audit, the metrics and the log.
#[test]
fn a_call_that_was_sent_and_not_answered_is_unknown_wherever_it_is_told() {
    let stdio = ["hang", "half", "garbage", "wrong-id", "string-id", "no-object", "dies", "closes-mid-frame"];
    let http = [
        "hang",
        "half-head",
        "half-body",
        "half-event",
        "closes",
        "closes-body",
        "status-500",
        "session-gone",
    ];
    let bed = Bed::new("unknown", &stdio, &http);
    let names: Vec<String> = (stdio.iter().map(|behaviour| server("stdio", behaviour)))
        .chain(http.iter().map(|behaviour| server("http", behaviour)))
        .collect();
    let is_listed = |name: &String| bed.gateway.tools().contains(&format!("{name}__poke"));
    until("every server is there", || names.iter().all(is_listed));
    for name in &names {
        let answer = bed.call(name);
        assert_eq!(answer["result"]["isError"], true, "{name}: {answer}");
    }
    let unknown = |pairs: Vec<(String, String)>| {
        let mut tools: Vec<String> =
            pairs.into_iter().filter(|(_, ending)| ending == "unknown").map(|(tool, _)| tool).collect();
        tools.sort();
        tools
    };
    let mut all: Vec<String> = names.iter().map(|name| format!("{name}__poke")).collect();
    all.sort();
    until("audited", || bed.audited().len() == all.len());
    assert_eq!(unknown(bed.audited()), all);
    assert_eq!(unknown(bed.logged()), all);
    assert_eq!((bed.metric("unknown"), bed.metric("done")), (all.len() as u64, 0));
    let told = bed.run(&["audit", "unknown"]);
    assert_eq!(told.lines().filter(|line| line.starts_with("int_")).count(), all.len(), "{told}");
    assert_eq!(bed.run(&["audit", "verify"]).lines().count(), 1);
}

/// R12.2: an answer with `isError` is failed, a plain one done; a call that was never sent is failed, not unknown.
#[test]
fn an_answer_says_itself_whether_a_call_failed() {
    let bed = Bed::new("said", &["says-error", "behaves"], &[]);
    until("every server is there", || {
        ["stdio-says-error__poke", "stdio-behaves__poke"]
            .iter()
            .all(|tool| bed.gateway.tools().contains(&(*tool).to_owned()))
    });
    assert_eq!(bed.call("stdio-says-error")["result"]["isError"], true);
    assert!(bed.call("stdio-behaves")["result"]["isError"].is_null());
    let expected = [("stdio-says-error__poke", "failed"), ("stdio-behaves__poke", "done")]
        .map(|(tool, ending)| (tool.to_owned(), ending.to_owned()));
    until("audited", || bed.audited().len() == 2);
    assert_eq!(bed.audited(), expected);
    assert_eq!(bed.logged(), expected);
    assert_eq!((bed.metric("failed"), bed.metric("done"), bed.metric("unknown")), (1, 1, 0));
    assert!(bed.run(&["audit", "unknown"]).contains("no call's end is unknown"));
}

/// R12.2: a call that is not repeatable is not sent again after an expired session.
#[test]
fn a_forgotten_session_does_not_repeat_a_destructive_call() {
    let bed = Bed::new("gone", &[], &["session-gone"]);
    until("the server is there", || bed.gateway.tools().contains(&"http-session-gone__poke".to_owned()));
    let answer = bed.call("http-session-gone");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("may have had its effect"), "{answer}");
    let seen =
        bed.gateway.ask("tools/call", &json!({"name": "http-session-gone__safe_poke", "arguments": {}}));
    assert_eq!(seen["result"]["content"][0]["text"], "1 pokes", "{seen}");
}
