//! Comparison of the audit and the answers with the ledgers.

use std::collections::HashMap;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::bed::Facts;
use super::caller::{Call, Told};

/// One call in the audit: the outcomes of its intents; `None` for an intent without an ending.
#[derive(Debug, Default)]
struct Journalled {
    ends: Vec<Option<String>>,
}

#[derive(Debug, Default)]
pub(super) struct Verdict {
    calls: usize,
    intents: usize,
    executed: usize,
    /// Number of calls that were sent again with the same token after their connection broke.
    sent_again: usize,
    outcomes: HashMap<String, usize>,
    told: HashMap<String, usize>,
    verified: String,
    /// Faults: the kind and the call.
    faults: Vec<(&'static str, String)>,
}

const TWICE: &str = "executed twice";
const WITHOUT_INTENT: &str = "executed without an intent";
const SECOND_INTENT: &str = "journalled twice";
const DONE_NOT_EXECUTED: &str = "recorded done and not executed";
const FAILED_BUT_EXECUTED: &str = "recorded failed and executed";
const NO_END: &str = "intent without an end";
const TOLD_DONE: &str = "told done against the facts";
const TOLD_FAILED: &str = "told failed and executed";
const TOLD_UNKNOWN: &str = "told unknown against the audit";
const UNVERIFIED: &str = "audit not verified";
const KINDS: [&str; 10] = [
    TWICE,
    WITHOUT_INTENT,
    SECOND_INTENT,
    DONE_NOT_EXECUTED,
    FAILED_BUT_EXECUTED,
    NO_END,
    TOLD_DONE,
    TOLD_FAILED,
    TOLD_UNKNOWN,
    UNVERIFIED,
];

pub(super) fn judge(calls: &[Call], facts: &Facts) -> Verdict {
    let journal = journal(&facts.records);
    let mut executions: HashMap<&str, usize> = HashMap::new();
    for line in &facts.executions {
        *executions.entry(line).or_default() += 1;
    }
    let mut verdict = Verdict {
        calls: calls.len(),
        executed: facts.executions.len(),
        verified: facts.verified.1.clone(),
        ..Verdict::default()
    };
    if !facts.verified.0 {
        verdict.faults.push((UNVERIFIED, facts.verified.1.clone()));
    }
    for call in calls {
        let executed = executions.get(call.name.as_str()).copied().unwrap_or_default();
        let journalled = journal.get(&digest(call));
        verdict.add(call, executed, journalled.unwrap_or(&Journalled::default()));
    }
    verdict
}

impl Verdict {
    fn add(&mut self, call: &Call, executed: usize, journalled: &Journalled) {
        *self.told.entry(format!("{:?}", call.told).to_lowercase()).or_default() += 1;
        self.intents += journalled.ends.len();
        self.sent_again += usize::from(call.sends > 1);
        let mut fault = |kind: &'static str, holds: bool| {
            if holds {
                self.faults.push((kind, call.name.clone()));
            }
        };
        fault(TWICE, executed > 1);
        fault(WITHOUT_INTENT, executed > 0 && journalled.ends.is_empty());
        // A token admits one call.
        fault(SECOND_INTENT, journalled.ends.len() > 1);
        let ends = |word: &str| journalled.ends.iter().any(|end| end.as_deref() == Some(word));
        fault(DONE_NOT_EXECUTED, ends("done") && executed == 0);
        fault(
            FAILED_BUT_EXECUTED,
            (ends("failed") || ends("refused")) && executed > 0 && !call.manner.says_error(),
        );
        fault(NO_END, journalled.ends.iter().any(Option::is_none));
        // A gateway that is killed after its answer and before the outcome is durable leaves *unknown* in the audit.
        let ends_done = ends("done") || ends("unknown");
        fault(TOLD_DONE, call.told == Told::Done && (executed == 0 || !ends_done));
        let is_told_failed = call.told == Told::Failed && call.sends == 1;
        fault(TOLD_FAILED, is_told_failed && executed > 0 && !call.manner.says_error());
        fault(TOLD_UNKNOWN, call.told == Told::Unknown && call.sends == 1 && !ends("unknown"));
        for end in journalled.ends.iter().flatten() {
            *self.outcomes.entry(end.clone()).or_default() += 1;
        }
    }

    pub(super) fn holds(&self) -> bool {
        self.faults.is_empty()
    }

    pub(super) fn print(&self, [gateway, stdio, http]: &[usize; 3]) {
        let counted = |map: &HashMap<String, usize>| {
            let mut words: Vec<_> = map.iter().map(|(word, count)| format!("{count} {word}")).collect();
            words.sort();
            words.join(", ")
        };
        println!("| what | count |\n| --- | --- |");
        println!("| destructive calls | {} |", self.calls);
        println!("| kill -9 | {gateway} gateway, {stdio} stdio server, {http} HTTP server |");
        println!("| calls sent again with the same token | {} |", self.sent_again);
        println!("| intents in the audit | {} |", self.intents);
        println!("| executions in the ledgers | {} |", self.executed);
        println!("| recorded outcomes | {} |", counted(&self.outcomes));
        println!("| told to the clients | {} |", counted(&self.told));
        println!("| audit verify | {} |", self.verified);
        for kind in KINDS {
            let calls: Vec<&str> =
                self.faults.iter().filter(|(own, _)| *own == kind).map(|(_, call)| call.as_str()).collect();
            println!("| {kind} | {} |", calls.len());
            if !calls.is_empty() {
                eprintln!("{kind}: {}", calls.iter().take(20).copied().collect::<Vec<_>>().join(", "));
            }
        }
    }
}

/// Groups intents and their outcomes by the digest of the arguments.
fn journal(records: &[Value]) -> HashMap<String, Journalled> {
    let text = |record: &Value, name: &str| record.get(name).and_then(Value::as_str).map(str::to_owned);
    let of_kind = |kind: &'static str| {
        records.iter().filter(move |record| record.get("kind").is_some_and(|own| own == kind))
    };
    let outcomes: HashMap<String, String> = of_kind("outcome")
        .filter_map(|record| Some((text(record, "intent")?, text(record, "outcome")?)))
        .collect();
    let mut journal: HashMap<String, Journalled> = HashMap::new();
    for record in of_kind("intent") {
        let (Some(intent), Some(arguments)) = (text(record, "intent"), text(record, "arguments")) else {
            continue;
        };
        journal.entry(arguments).or_default().ends.push(outcomes.get(&intent).cloned());
    }
    journal
}

/// Digest of a call's arguments. Two plain strings in the order of their names are in canonical form.
fn digest(call: &Call) -> String {
    let hash = Sha256::digest(call.arguments().to_string().as_bytes());
    format!("sha256:{}", hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}
