//! Fuzz target for a lock file, and for a server's tools that are judged against it.
//!
//! Properties: a parsed lock is written as text that parses to the same lock. Every digest matches its definition. A
//! server whose tools equal their pins has no findings; every new, missing or unusable tool is reported.

use std::collections::BTreeSet;
use std::time::Duration;

use toolcrib::serde_json::{Value, from_str};
use toolcrib_change::{Lock, LockError, pinned_digest};
use toolcrib_contract::Definition;
use toolcrib_gateway::Drift;
use toolcrib_gateway::drift::Classes;

use crate::mutation::tree::SEPARATOR;
use crate::target::{Memory, Shape, Target};
use crate::targets::vocabulary::DEFINITION;

pub(super) const TARGET: Target = Target {
    name: "lock",
    seeds,
    heavy,
    dictionary: DEFINITION,
    bytes_max: 32 * 1024,
    // Judging one server may take DRIFT_JUDGED_MS_MAX; small inputs are decided much sooner.
    cpu_max: Duration::from_secs(8),
    memory_max: Memory { factor: 4_096, constant: 64 * 1024 * 1024 },
    run,
};

const SEND: &str = r#"{"name":"send","description":"Sends.","inputSchema":{"type":"object","required":["to"],"properties":{"to":{"type":"string"}}},"annotations":{"destructiveHint":true}}"#;
const READ: &str = r#"{"name":"read","inputSchema":{"type":"object"},"_meta":{"x":1.50}}"#;

fn definitions(texts: &[&str]) -> Vec<Definition> {
    texts.iter().filter_map(|text| Definition::parse(text).ok()).collect()
}

fn seeds() -> Vec<Vec<u8>> {
    let lock = Lock::new("mail", definitions(&[SEND, READ])).to_text();
    let changed = SEND.replace("\"string\"", "\"integer\"");
    [
        format!("{lock}\u{1e}[{SEND},{READ}]"),
        format!("{lock}\u{1e}[{changed}]"),
        format!("{}\u{1e}[{READ}]", Lock::default().to_text()),
        format!("{lock}\u{1e}[{{\"name\":\"new\",\"inputSchema\":{{\"type\":\"strin\"}}}}]"),
        format!("{}\u{1e}[]", lock.replace("Sends.", "Deletes.")),
        format!("{{\"format\":2}}\u{1e}[{SEND}]"),
        // Pins that the target computes itself, so that mutations get past the digests.
        format!("\u{1e}[{SEND},{READ}]"),
        format!("\u{1e}[{changed}]"),
    ]
    .map(String::into_bytes)
    .to_vec()
}

fn heavy() -> Vec<Vec<u8>> {
    let tools: Vec<String> =
        (0..120).map(|n| format!("{{\"name\":\"t{n}\",\"inputSchema\":{{\"type\":\"object\"}}}}")).collect();
    vec![
        format!("\u{1e}[{}]", tools.join(",")).into_bytes(),
        format!("{{\"format\":1,\"tools\":[{}", "[".repeat(15_000)).into_bytes(),
        format!("{{\"format\":1,\"tools\":[{}{{}}]}}", "{},".repeat(5_000)).into_bytes(),
    ]
}

fn run(input: &[u8]) -> Shape {
    let Ok(text) = std::str::from_utf8(input) else { return Shape::of(&["no text"]) };
    let (lock, live) = text.split_once(char::from(SEPARATOR)).unwrap_or((text, ""));
    let parsed =
        if lock.is_empty() { Ok(Lock::new("mail", definitions(&[SEND, READ]))) } else { Lock::parse(lock) };
    let lock = match parsed {
        Ok(lock) => lock,
        Err(error) => return Shape::of(&["refused", refusal(&error)]),
    };
    let written = lock.to_text();
    let again =
        Lock::parse(&written).unwrap_or_else(|error| panic!("its own text is refused: {error}\n{written}"));
    assert_eq!(again, lock, "another lock once written");
    for tool in lock.tools() {
        assert_eq!(pinned_digest(&tool.definition), tool.digest, "a digest of something else");
    }
    let live = from_str::<Value>(live).unwrap_or_default();
    let live =
        live.as_array().into_iter().flatten().filter_map(|tool| Definition::parse(tool.to_string()).ok());
    let mut seen = BTreeSet::new();
    let live: Vec<Definition> = live.filter(|tool| seen.insert(tool.name().to_owned())).collect();
    let words = judged(&lock, &live);
    Shape::of(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn judged(lock: &Lock, live: &[Definition]) -> Vec<String> {
    let server = lock.tools().first().map_or("mail", |tool| tool.server.as_str());
    let drift = Drift::new(lock.clone(), Classes::default());
    let mut pinned = BTreeSet::new();
    let mut twice = false;
    for tool in lock.tools().iter().filter(|tool| tool.server == server) {
        twice |= !pinned.insert(tool.definition.name());
    }
    if !twice {
        let same = drift.judged(server, &lock.definitions(server));
        assert!(same.is_empty(), "what is pinned is reported: {same:?}");
    }
    let found = drift.judged(server, live);
    let reported: BTreeSet<&str> = found.iter().map(|(tool, _)| tool.as_str()).collect();
    let offered: BTreeSet<&str> = live.iter().map(Definition::name).collect();
    let differ: BTreeSet<&str> = offered.symmetric_difference(&pinned).copied().collect();
    assert!(differ.is_subset(&reported), "new or gone, and not reported: {differ:?}, but {reported:?}");
    let all: BTreeSet<&str> = offered.union(&pinned).copied().collect();
    assert!(reported.is_subset(&all), "a tool that nobody has is reported: {reported:?}");
    let mut words: Vec<String> = found.iter().map(|(_, action)| action.name().to_owned()).collect();
    words.sort();
    words.truncate(4);
    words.push(lock.tools().len().min(4).to_string());
    words
}

fn refusal(error: &LockError) -> &'static str {
    match error {
        LockError::Read(_) => "read",
        LockError::Format { .. } => "format",
        LockError::Definition { .. } => "definition",
        LockError::Digest { .. } => "digest",
    }
}
