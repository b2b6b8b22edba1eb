//! Fuzz target for lines of a stdio server while calls are in flight: answers, questions, progress, notifications,
//! garbage.
//!
//! Properties: the effects do not depend on how the bytes were split. An answer reaches only the call with its id,
//! once. Every request of the server is answered once or reaches one call; nothing else is sent to it.

use std::time::Duration;

use tokio::io::BufReader;
use toolcrib::serde_json::{Value, from_slice, from_str};
use toolcrib_engine::limits::SUBSCRIPTIONS_MAX;
use toolcrib_upstream::limits::UPSTREAM_CALL_EVENTS_MAX;
use toolcrib_upstream::probe::{Spoken, spoken};

use crate::script::{Script, block_on, splits};
use crate::target::{Memory, Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "stdio_messages",
    seeds,
    heavy,
    dictionary: DICTIONARY,
    bytes_max: 64 * 1024,
    cpu_max: Duration::from_secs(1),
    memory_max: Memory { factor: 64, constant: 512 * 1024 },
    run,
};

const DICTIONARY: &[&str] = &[
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-1,\"message\":\"m\"}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\n",
    "\"id\":1",
    "\"id\":\"1\"",
    "\"id\":1.0",
    "\"id\":null",
    "\"id\":18446744073709551616",
    "\"method\":\"elicitation/create\"",
    "\"method\":\"roots/list\"",
    "\"method\":\"sampling/createMessage\"",
    "\"method\":\"notifications/progress\"",
    "\"method\":\"notifications/message\"",
    "\"method\":\"notifications/tools/list_changed\"",
    "\"method\":\"notifications/resources/updated\"",
    "\"params\":{\"progressToken\":1,\"progress\":1}",
    "\"params\":{\"uri\":\"a://b\"}",
    "\"result\":",
    "\"error\":",
    "\n",
    "\r\n",
    "[",
];

/// Calls in flight: of one person only, and of two.
const SETTINGS: [&[(u64, Option<u64>)]; 2] =
    [&[(1, Some(7)), (2, Some(7)), (3, None)], &[(1, Some(7)), (2, Some(8))]];

fn seeds() -> Vec<Vec<u8>> {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
    let progress =
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}"#;
    let question = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}"#;
    let ping = r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#;
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    let updated = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://b"}}"#;
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    [
        format!("{answer}\n"),
        format!("banner\n\n{progress}\n{question}\n{ping}\n{log}\n{answer}\n"),
        format!("{answer}\n{answer}\n{progress}\n"),
        format!("{updated}\n{updated}\n{changed}\n"),
        "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}\n".to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32603,\"message\":\"m\",\"data\":[1]}}\r\n".to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}\n{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"no/such\"}\n".to_owned(),
        format!("{answer} no end"),
        "{\"jsonrpc\":\"2.0\",\"id\":{\"a\":1},\"method\":\"ping\"}\n[]\n".to_owned(),
    ]
    .map(String::into_bytes)
    .to_vec()
}

fn heavy() -> Vec<Vec<u8>> {
    let part = |text: &str| text.repeat(32_000 / text.len()).into_bytes();
    vec![
        "\n".repeat(2_000).into_bytes(),
        part("x\n"),
        part("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}\n"),
        part("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1}}\n"),
        (0..400).map(|n| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{{\"uri\":\"a://{n}\"}}}}\n")).collect::<String>().into_bytes(),
    ]
}

fn run(input: &[u8]) -> Shape {
    let mut words = Vec::new();
    for calls in SETTINGS {
        let mut results = splits(input).into_iter().map(|pieces| {
            let read = block_on(spoken(BufReader::new(Script::new(pieces)), calls));
            read.unwrap_or_else(|error| panic!("no call can be made: {error}"))
        });
        let Some(first) = results.next() else { continue };
        for other in results {
            assert_eq!(first, other, "other effects with another split");
        }
        let lines: Vec<&[u8]> = input.split_inclusive(|byte| *byte == b'\n').collect();
        laws(&first, &lines);
        words.push(word(&first));
    }
    Shape::of(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn laws(spoken: &Spoken, lines: &[&[u8]]) {
    let asked: Vec<Value> = lines
        .iter()
        .filter_map(|line| from_slice::<Value>(line).ok())
        .filter(|message| message.get("method").is_some() && message.get("id").is_some())
        .collect();
    let mut questions = 0;
    for call in &spoken.calls {
        assert!(call.events.len() <= UPSTREAM_CALL_EVENTS_MAX, "too many events wait for one call");
        if let Some(answer) = &call.answer {
            let answer: Value = read(answer);
            assert_eq!(answer.get("id").and_then(Value::as_u64), Some(call.id), "somebody else's answer");
            assert!(answer.get("method").is_none(), "a request as an answer");
        }
        questions += call.events.iter().filter(|event| read(event).get("id").is_some()).count();
    }
    assert!(spoken.sent.len() + questions <= asked.len(), "more answers than requests");
    for line in &spoken.sent {
        assert!(line.strip_suffix(b"\n").is_some_and(|line| !line.contains(&b'\n')), "not one line");
        let answer: Value = from_slice(line).unwrap_or_else(|error| panic!("no JSON was sent: {error}"));
        assert!(answer.get("result").is_some() != answer.get("error").is_some(), "{answer}");
        let id = answer.get("id");
        assert!(asked.iter().any(|request| request.get("id") == id), "nobody asked for {answer}");
    }
    assert!(spoken.resources.len() <= SUBSCRIPTIONS_MAX, "too many resources are remembered");
}

fn read(text: &str) -> Value {
    from_str(text).unwrap_or_else(|error| panic!("a message that is no JSON: {error}"))
}

fn word(spoken: &Spoken) -> String {
    let calls = spoken.calls.iter().map(|call| (call.events.len().min(2), call.answer.is_some()));
    let calls: Vec<(usize, bool)> = calls.collect();
    let sent = spoken.sent.len().min(3);
    format!("{calls:?} {sent} {} {} {}", spoken.lists_changed, spoken.resources.len().min(2), spoken.cause)
}
