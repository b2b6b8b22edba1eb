//! Hostile servers behind the real gateway, each beside a good server.
//!
//! For each: a refusal that names the server, in time; a peak of at most 64 MiB more memory than before; and the good
//! server keeps answering. The benchmark measures how much slower it becomes, not these tests.

mod costly;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_testkit::process::Process;

use super::client::{Legacy, able, modern_call};
use super::folder::Folder;
use super::running::{Gateway, SOON, until};

/// Deadline of a call.
const DEADLINE: Duration = Duration::from_millis(1_000);
/// Deadline of a call that must reach a byte limit first, on any machine.
const LONG_DEADLINE: Duration = Duration::from_millis(10_000);
const GRACE: Duration = Duration::from_millis(250);

/// Margin for other load on the machine.
const NOISE: Duration = Duration::from_millis(1_500);

const GROWTH_KIB_MAX: u64 = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    Stdio,
    Http,
}

use Over::{Http, Stdio};

/// A gateway with one good server and, after `let_in`, one bad server.
pub(crate) struct Trial {
    pub(crate) gateway: Gateway,
    folder: Folder,
    bad: String,
    _process: Option<Process>,
}

fn hostile() -> String {
    let path = toolcrib_testkit::deps::built_example("hostile").unwrap_or_else(|error| panic!("{error}"));
    path.display().to_string()
}

fn deadline(behaviour: &str) -> Duration {
    let is_flood = ["huge", "endless-"].iter().any(|flood| behaviour.starts_with(flood));
    if is_flood { LONG_DEADLINE } else { DEADLINE }
}

fn good() -> String {
    format!("[servers.good]\ncommand = {:?}\nargs = [\"stdio\", \"\"]\n", hostile())
}

impl Trial {
    fn new(over: Over, behaviour: &str) -> Self {
        let call_ms_max = u64::try_from(deadline(behaviour).as_millis()).unwrap();
        Self::timed(over, behaviour, call_ms_max, 5_000)
    }

    /// Starts a trial with these deadlines of the bad server, in milliseconds.
    pub(crate) fn timed(over: Over, behaviour: &str, call_ms_max: u64, start_ms_max: u64) -> Self {
        let folder = Folder::new(&format!("hostile-{over:?}-{behaviour}"));
        let (process, reached) = match over {
            Stdio => (None, format!("command = {:?}\nargs = [\"stdio\", {behaviour:?}]", hostile())),
            Http => {
                let mut command = std::process::Command::new(hostile());
                let mut process = Process::start(command.args(["http", behaviour])).unwrap();
                let address = process.wait_for_address(SOON).unwrap();
                (Some(process), format!("url = \"http://{address}/mcp\""))
            }
        };
        let bad =
            format!("[servers.bad]\n{reached}\ncall_ms_max = {call_ms_max}\nstart_ms_max = {start_ms_max}\n");
        let gateway = Gateway::start(&["--config", &folder.file("toolcrib.toml", &good())]);
        Self { gateway, folder, bad, _process: process }
    }

    /// Adds the bad server while the good one is served.
    pub(crate) fn let_in(&self) {
        self.folder.file("toolcrib.toml", &format!("{}{}", good(), self.bad));
    }

    pub(crate) fn status(&self) -> Value {
        let ready: Value = serde_json::from_str(&self.gateway.get("/readyz").1).unwrap();
        let all = ready["servers"].as_array().unwrap();
        all.iter().find(|server| server["name"] == "bad").cloned().unwrap_or_default()
    }

    pub(crate) fn state(&self) -> String {
        self.status()["state"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns a value of `/proc/PID/status` in KiB.
    pub(crate) fn memory(&self, line: &str) -> u64 {
        let path = format!("/proc/{}/status", self.gateway.process.id());
        let status = std::fs::read_to_string(path).unwrap();
        let found = status.lines().find_map(|own| own.strip_prefix(line)).unwrap();
        found.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Runs `act` while the good server is called continuously.
    fn beside<T>(&self, act: impl FnOnce() -> T) -> T {
        self.beside_timed(act).0
    }

    /// Like `beside`, and returns the time of nine in ten of those calls: the slowest may be due to the machine.
    pub(crate) fn beside_timed<T>(&self, act: impl FnOnce() -> T) -> (T, Duration) {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let neighbour = scope.spawn(|| {
                let mut took = Vec::new();
                for number in 0.. {
                    if done.load(Ordering::Relaxed) && number >= 20 {
                        break;
                    }
                    let arguments = json!({"number": number});
                    let begun = Instant::now();
                    let answer = self
                        .gateway
                        .ask("tools/call", &json!({"name": "good__echo", "arguments": arguments}));
                    took.push(begun.elapsed());
                    let text =
                        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
                    assert!(text.contains(&format!("\"number\":{number}")), "{answer}");
                }
                took.sort_unstable();
                took[took.len() * 9 / 10]
            });
            let acted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
            done.store(true, Ordering::Relaxed);
            let took = neighbour.join().expect("the neighbour is served");
            (acted.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), took)
        })
    }

    /// Calls `poke`, which must fail, and returns the error text and the time it took.
    pub(crate) fn poked(&self) -> (String, Duration) {
        let begun = Instant::now();
        let answer = self.gateway.ask("tools/call", &json!({"name": "bad__poke", "arguments": {}}));
        let took = begun.elapsed();
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        (answer["result"]["content"][0]["text"].as_str().unwrap().to_owned(), took)
    }

    pub(crate) fn assert_small(&self, baseline: u64, what: &str) {
        let grown = self.memory("VmHWM:").saturating_sub(baseline);
        assert!(grown <= GROWTH_KIB_MAX, "{what}: {grown} KiB more");
    }
}

/// Tests a server that misbehaves when its tool is called.
fn harm_in_a_call(over: Over, behaviour: &str, says: &str) {
    let trial = Trial::new(over, behaviour);
    let baseline = trial.memory("VmRSS:");
    trial.let_in();
    until("served", || trial.gateway.tools().contains(&"bad__poke".to_owned()));
    let (text, took) = trial.beside(|| trial.poked());
    assert!(text.contains("Server \"bad\"") && text.contains(says), "{text}");
    assert!(took <= deadline(behaviour) + GRACE + NOISE, "{took:?}");
    trial.assert_small(baseline, behaviour);
}

/// Tests a server that misbehaves when it is listed.
fn harm_in_a_list(over: Over, behaviour: &str, says: &str) {
    let trial = Trial::new(over, behaviour);
    let baseline = trial.memory("VmRSS:");
    trial.beside(|| {
        trial.let_in();
        until("failed", || trial.state() == "failed");
    });
    let reason = trial.status()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains(says), "{reason}");
    assert_eq!(trial.gateway.get("/readyz").0, 200);
    trial.assert_small(baseline, behaviour);
}

/// R5.6: no answer at all, over stdio.
#[test]
fn a_stdio_server_that_hangs_before_its_answer_is_refused_in_time() {
    harm_in_a_call(Stdio, "hang", "did not answer within 1000 ms");
}

/// R5.6: no answer at all, over HTTP.
#[test]
fn an_http_server_that_hangs_before_its_answer_is_refused_in_time() {
    harm_in_a_call(Http, "hang", "did not answer within 1000 ms");
}

/// R5.6: the answer stops in the middle of a line.
#[test]
fn a_stdio_server_that_hangs_inside_its_answer_is_refused_in_time() {
    harm_in_a_call(Stdio, "half", "did not answer within 1000 ms");
}

/// R5.6: in the head, in the body, in an event.
#[test]
fn an_http_server_that_hangs_inside_its_answer_is_refused_in_time() {
    for behaviour in ["half-head", "half-body", "half-event"] {
        harm_in_a_call(Http, behaviour, "did not answer within 1000 ms");
    }
}

/// R5.6: a line that is no message may be a banner; the call ends at its deadline.
#[test]
fn garbage_over_stdio_is_no_answer() {
    harm_in_a_call(Stdio, "garbage", "did not answer within 1000 ms");
}

/// R5.6: up to UPSTREAM_GARBAGE_LINES_MAX lines that are no messages may be a log; with more the server has failed.
#[test]
fn a_stdio_server_that_babbles_is_given_up() {
    harm_in_a_call(Stdio, "babble", "its stdout is no MCP");
}

/// R5.6: a response body that is no JSON.
#[test]
fn garbage_over_http_is_named() {
    harm_in_a_call(Http, "garbage", "no valid JSON");
}

/// R5.6: a response with another id does not answer this request.
#[test]
fn an_answer_with_a_wrong_id_over_stdio_is_nobodys() {
    harm_in_a_call(Stdio, "wrong-id", "did not answer within 1000 ms");
    harm_in_a_call(Stdio, "string-id", "did not answer within 1000 ms");
}

/// R5.6: a response with another id is named in the refusal.
#[test]
fn an_answer_with_a_wrong_id_over_http_is_named() {
    harm_in_a_call(Http, "wrong-id", "an id that was not asked");
}

/// R5.6: 1 GiB in one line.
#[test]
fn a_gibibyte_over_stdio_is_refused_by_the_limits_name() {
    harm_in_a_call(Stdio, "huge", "UPSTREAM_MESSAGE_BYTES_MAX");
}

/// R5.6: eight endless bodies at once take no more memory than one: above UPSTREAM_LARGE_BYTES one answer of a server
/// is read at a time, with a pause of UPSTREAM_TURN_PAUSE_MS after every UPSTREAM_TURN_BYTES_MAX.
#[test]
fn large_answers_of_one_server_are_read_one_at_a_time() {
    let trial = Trial::new(Http, "huge-chunks");
    let baseline = trial.memory("VmRSS:");
    trial.let_in();
    until("let in", || trial.state() == "ready");
    trial.beside(|| {
        std::thread::scope(|scope| {
            let callers: Vec<_> = (0..8).map(|_| scope.spawn(|| trial.poked())).collect();
            for caller in callers {
                let (text, took) = caller.join().unwrap();
                assert!(took <= LONG_DEADLINE + GRACE + NOISE, "{took:?}: {text}");
            }
        });
    });
    trial.assert_small(baseline, "eight at once");
}

/// R5.6: 1 GiB in one body, with a length and in chunks.
#[test]
fn a_gibibyte_over_http_is_refused_by_the_limits_name() {
    harm_in_a_call(Http, "huge", "UPSTREAM_MESSAGE_BYTES_MAX");
    harm_in_a_call(Http, "huge-chunks", "UPSTREAM_MESSAGE_BYTES_MAX");
}

/// R5.6: endless headers.
#[test]
fn a_head_without_end_is_refused_by_the_limits_name() {
    harm_in_a_call(Http, "endless-head", "HEAD_BYTES_MAX");
}

/// R5.6: endless comments, and one endless event; read with a pause after UPSTREAM_STREAM_TURN_BYTES_MAX.
#[test]
fn an_endless_stream_of_events_is_refused_by_the_limits_name() {
    harm_in_a_call(Http, "endless-sse", "UPSTREAM_STREAM_BYTES_MAX");
    harm_in_a_call(Http, "endless-event", "UPSTREAM_MESSAGE_BYTES_MAX");
}

/// R5.6: 100,000 brackets.
#[test]
fn a_depth_bomb_over_stdio_is_no_answer() {
    harm_in_a_call(Stdio, "depth-bomb", "did not answer within 1000 ms");
}

/// R5.6: 100,000 brackets, over HTTP.
#[test]
fn a_depth_bomb_over_http_is_refused_by_the_limits_name() {
    harm_in_a_call(Http, "depth-bomb", "JSON_DEPTH_MAX");
}

/// R5.6: the process ends within its answer.
#[test]
fn a_stdio_server_that_closes_in_the_middle_of_a_frame_is_named() {
    harm_in_a_call(Stdio, "closes-mid-frame", "process ended");
}

/// R5.6: before the answer, and within it.
#[test]
fn an_http_server_that_closes_in_the_middle_of_a_frame_is_named() {
    harm_in_a_call(Http, "closes", "closed the connection");
    harm_in_a_call(Http, "closes-body", "closed the connection");
}

/// R5.6: a result that is not an object is refused.
#[test]
fn a_result_that_is_no_object_is_named() {
    harm_in_a_call(Stdio, "no-object", "its result is no object");
}

/// R5.6: a list of a million tools.
#[test]
fn a_million_tools_are_refused_by_the_limits_name() {
    harm_in_a_list(Stdio, "million-tools", "UPSTREAM_MESSAGE_BYTES_MAX");
    harm_in_a_list(Http, "million-tools", "UPSTREAM_MESSAGE_BYTES_MAX");
}

/// R5.6: UPSTREAM_ITEMS_MAX and UPSTREAM_LIST_BYTES_MAX apply over all pages, each of which is well within a message.
#[test]
fn pages_of_too_many_or_too_large_tools_are_refused_by_the_limits_name() {
    harm_in_a_list(Stdio, "many-pages", "UPSTREAM_ITEMS_MAX");
    harm_in_a_list(Http, "heavy-pages", "UPSTREAM_LIST_BYTES_MAX");
}

/// R5.6: endless new pages, the same page again and again, and slow pages.
#[test]
fn an_endless_cursor_is_refused_by_the_limits_name() {
    harm_in_a_list(Stdio, "endless-cursor", "UPSTREAM_PAGES_MAX");
    harm_in_a_list(Stdio, "same-cursor", "goes round in a circle");
    harm_in_a_list(Stdio, "slow-cursor", "lists did not come to an end within 5000 ms");
}

/// R5.6: a server that never answers a list.
#[test]
fn a_list_that_never_comes_is_named() {
    harm_in_a_list(Stdio, "hang-list", "did not");
}

/// R5.6: 20,000 notifications after each list: the gateway lists again no more often than UPSTREAM_RELIST_MS_MIN
/// allows.
#[test]
fn a_storm_of_list_changes_costs_nobody_anything() {
    let trial = Trial::new(Stdio, "storm");
    let baseline = trial.memory("VmRSS:");
    trial.let_in();
    let begun = Instant::now();
    until("served", || trial.gateway.tools().contains(&"bad__poke".to_owned()));
    trial.beside(|| std::thread::park_timeout(Duration::from_millis(1_500)));
    // Its own calls may be slow.
    let mut lists = None;
    until("answered", || {
        let answer = trial.gateway.ask("tools/call", &json!({"name": "bad__safe_poke", "arguments": {}}));
        lists = answer["result"]["content"][0]["text"].as_str().and_then(|text| text.parse::<u128>().ok());
        lists.is_some()
    });
    let lists = lists.unwrap();
    let most = begun.elapsed().as_millis() / 250 + 2;
    assert!((2..=most).contains(&lists), "{lists} lists, at most {most}");
    assert_eq!(trial.state(), "ready");
    trial.assert_small(baseline, "storm");
}

/// R5.6, R5.2: a legacy server that asks without end, with clients of both eras that answer everything: each is asked
/// CALL_QUESTIONS_MAX times.
#[test]
fn a_server_that_asks_for_input_for_ever_gets_no_further_than_its_limit() {
    let trial = Trial::new(Stdio, "asks-forever");
    let baseline = trial.memory("VmRSS:");
    trial.let_in();
    until("served", || trial.gateway.tools().contains(&"bad__poke".to_owned()));
    let poke = json!({"name": "bad__poke", "arguments": {}});
    let yes = |_: &Value| json!({"action": "accept", "content": {"ok": true}});
    let (legacy, modern) = trial.beside(|| {
        let legacy = Legacy::new(&trial.gateway, &able()).call("tools/call", &poke, yes);
        (legacy, modern_call(&trial.gateway, "tools/call", &poke, yes))
    });
    for (answer, asked) in [legacy, modern] {
        assert_eq!((asked, &answer["result"]["isError"]), (16, &json!(true)), "{answer}");
        assert!(answer.to_string().contains("asks without end"), "{answer}");
    }
    // A client that cannot be asked does not wait.
    let (text, took) = trial.beside(|| trial.poked());
    assert!(text.contains("Server \"bad\" asks without end"), "{text}");
    assert!(took <= DEADLINE + GRACE + NOISE, "{took:?}");
    trial.assert_small(baseline, "asks-forever");
}

/// R5.6, R5.2: a server whose contract changes during a call: the call is answered, and the list is the new one.
#[test]
fn a_server_that_changes_its_contract_in_mid_call_loses_no_call() {
    for over in [Stdio, Http] {
        let trial = Trial::new(over, "changes");
        let baseline = trial.memory("VmRSS:");
        trial.let_in();
        until("served", || trial.gateway.tools().contains(&"bad__poke".to_owned()));
        trial.beside(|| {
            let answer = trial.gateway.ask("tools/call", &json!({"name": "bad__poke", "arguments": {}}));
            assert_eq!(answer["result"]["content"][0]["text"], "changed", "{answer}");
            until("listed again", || trial.gateway.tools().contains(&"bad__new_tool".to_owned()));
        });
        trial.assert_small(baseline, "changes");
    }
}

fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

fn pid(gateway: &Gateway, tool: &str) -> u32 {
    let answer = gateway.ask("tools/call", &json!({"name": tool, "arguments": {}}));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    text.parse().unwrap()
}

/// R5.6: a child that ignores the end of its input for UPSTREAM_STOP_MS_MAX and SIGTERM for UPSTREAM_TERM_MS_MAX is
/// killed when the gateway ends.
#[test]
fn a_server_that_ignores_sigterm_is_gone_after_the_end() {
    let words = format!("trap '' TERM HUP; exec {} stdio deaf", hostile());
    let mut gateway = Gateway::start(&["--", "sh", "-c", &words]);
    let child = pid(&gateway, "poke");
    assert!(lives(child));
    let ended = gateway.process.terminate(SOON).unwrap();
    assert!(ended.success(), "{ended}");
    until("gone", || !lives(child));
}

/// R5.6: processes that a server started end with it, when it is removed and when the gateway ends.
#[test]
fn a_server_that_forks_leaves_nobody_behind() {
    let trial = Trial::new(Stdio, "forks");
    trial.let_in();
    until("served", || trial.gateway.tools().contains(&"bad__poke".to_owned()));
    let grandchild = pid(&trial.gateway, "bad__poke");
    assert!(lives(grandchild));
    trial.beside(|| {
        trial.folder.file("toolcrib.toml", &good());
        until("gone", || !lives(grandchild));
    });
    let mut gateway = Gateway::start(&["--", &hostile(), "stdio", "forks"]);
    let grandchild = pid(&gateway, "poke");
    assert!(lives(grandchild) && gateway.process.terminate(SOON).unwrap().success());
    until("gone", || !lives(grandchild));
}
