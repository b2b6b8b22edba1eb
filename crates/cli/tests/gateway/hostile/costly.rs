//! Servers whose tools are costly to compile: each such tool is quarantined alone, and calls of other servers do not
//! wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Over::Stdio;
use super::{Trial, until};

/// Returns the limit named in the reason of each quarantined tool that begins with `costly_`.
fn quarantined_costly(status: &Value) -> Vec<String> {
    let all = status["quarantined"].as_array().cloned().unwrap_or_default();
    let limit = |reason: &str| {
        let words = reason.split(|c: char| !(c.is_ascii_uppercase() || c == '_'));
        words.filter(|word| word.ends_with("_MAX")).map(str::to_owned).next()
    };
    let costly = all.iter().filter(|one| one["tool"].as_str().unwrap().starts_with("costly_"));
    costly
        .map(|one| limit(one["reason"].as_str().unwrap()).unwrap_or_else(|| panic!("no limit in {one}")))
        .collect()
}

/// Maximum time of any call to the good server meanwhile: compiling on a serving thread would hold it for seconds.
const NEIGHBOUR_MAX: Duration = Duration::from_millis(1_000);

fn beside_promptly<T>(trial: &Trial, act: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    let (acted, worst) = std::thread::scope(|scope| {
        let neighbour = scope.spawn(|| {
            let mut worst = Duration::ZERO;
            for number in 0.. {
                if done.load(Ordering::Relaxed) && number >= 20 {
                    break;
                }
                let begun = Instant::now();
                let params = json!({"name": "good__echo", "arguments": {"number": number}});
                let answer = trial.gateway.ask("tools/call", &params);
                assert!(answer["result"]["content"].is_array(), "{answer}");
                worst = worst.max(begun.elapsed());
            }
            worst
        });
        let acted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        done.store(true, Ordering::Relaxed);
        (acted, neighbour.join().expect("the neighbour is served"))
    });
    let acted = acted.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    assert!(worst <= NEIGHBOUR_MAX, "the neighbour waited {worst:?}");
    acted
}

/// R5.6, R1.6: 20 tools of 250 patterns each, at the start: each is quarantined by a limit's name, the good tools
/// beside them are served, and no caller waits.
#[test]
fn costly_patterns_at_the_start_are_quarantined_tool_by_tool() {
    let trial = Trial::new(Stdio, "costly-patterns");
    let baseline = trial.memory("VmRSS:");
    beside_promptly(&trial, || {
        trial.let_in();
        until("served", || trial.gateway.tools().contains(&"bad__echo".to_owned()));
    });
    let limits = quarantined_costly(&trial.status());
    assert_eq!(limits.len(), 20, "{limits:?}");
    let known = ["SCHEMA_PATTERNS_COMPILED_BYTES_MAX", "SERVER_COMPILE_MS_MAX"];
    assert!(limits.iter().all(|limit| known.contains(&limit.as_str())), "{limits:?}");
    assert_eq!(limits[0], "SCHEMA_PATTERNS_COMPILED_BYTES_MAX");
    let answer = trial.gateway.ask("tools/call", &json!({"name": "bad__echo", "arguments": {"a": 1}}));
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    trial.assert_small(baseline, "costly-patterns");
}

/// R5.6, R1.6: 40 such tools after a list change.
#[test]
fn costly_patterns_by_a_change_of_the_list_are_quarantined_tool_by_tool() {
    let trial = Trial::new(Stdio, "costly-patterns-later");
    trial.let_in();
    until("served", || trial.gateway.tools().contains(&"bad__poke".to_owned()));
    let baseline = trial.memory("VmRSS:");
    beside_promptly(&trial, || {
        let answer = trial.gateway.ask("tools/call", &json!({"name": "bad__safe_poke", "arguments": {}}));
        assert_eq!(answer["result"]["content"][0]["text"], "changed", "{answer}");
        until("quarantined", || quarantined_costly(&trial.status()).len() == 40);
    });
    assert!(trial.gateway.tools().contains(&"bad__echo".to_owned()));
    trial.assert_small(baseline, "costly-patterns-later");
}

/// R5.6: `SERVER_SCHEMAS_BYTES_MAX`: of a server's many large schemas the first are served and the others quarantined,
/// also if all of them change each time; no more than 64 MiB are used while the old and the new ones coexist.
#[test]
fn costly_schemas_are_served_up_to_server_schemas_bytes_max() {
    let trial = Trial::new(Stdio, "costly-schemas-later");
    let baseline = trial.memory("VmRSS:");
    let costly = |status: &Value| {
        let limits = quarantined_costly(status);
        assert!(limits.iter().all(|limit| limit == "SERVER_SCHEMAS_BYTES_MAX"), "{limits:?}");
        limits.len()
    };
    beside_promptly(&trial, || {
        trial.let_in();
        until("served", || trial.gateway.tools().contains(&"bad__costly_0".to_owned()));
        let poke = json!({"name": "bad__safe_poke", "arguments": {}});
        assert_ne!(trial.gateway.ask("tools/call", &poke)["result"]["isError"], true);
        until("served", || trial.gateway.tools().contains(&"bad__costly_100".to_owned()));
    });
    let refused = costly(&trial.status());
    assert!((1..40).contains(&refused), "{refused} of 40");
    assert!(trial.gateway.tools().contains(&"bad__echo".to_owned()));
    trial.assert_small(baseline, "costly-schemas-later");
}
