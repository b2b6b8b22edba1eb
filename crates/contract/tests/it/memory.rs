//! Memory bound of reading: no text of message size, however hostile, takes more than a stated amount.
//!
//! Allocations are counted per thread, so that parallel tests do not disturb the count.

use toolcrib_contract::json::{Document, Limits, OwnedDocument, ReadErrorKind};
use toolcrib_contract::limits::{
    JSON_DEPTH_MAX, JSON_FILE_BYTES_MAX, JSON_FILE_NODES_MAX, JSON_MESSAGE_BYTES_MAX, JSON_NODES_MAX,
};

const SLOT_BYTES: usize = 16;
/// Bytes that the duplicate check allocates for each key of one object.
const KEY_BYTES: usize = 32;
/// Sum of the tape at its limit, its copy while it grows by doubling, the duplicate check of one object that has all
/// keys, and the unescaped keys, which are never longer than the source.
const READ_BYTES_MAX: usize =
    3 * SLOT_BYTES * JSON_NODES_MAX + KEY_BYTES * JSON_NODES_MAX / 2 + JSON_MESSAGE_BYTES_MAX;

/// Returns `unit` repeated between `open` and `close` up to the size of a message.
fn filled(open: &str, unit: &str, separator: &str, close: &str) -> String {
    let room = JSON_MESSAGE_BYTES_MAX - open.len() - close.len();
    let times = (room + separator.len()) / (unit.len() + separator.len());
    format!("{open}{}{close}", vec![unit; times].join(separator))
}

/// Returns an object of `count` members with different keys from `key`.
fn members(count: usize, key: impl Fn(usize) -> String) -> String {
    let members: Vec<String> = (0..count).map(|i| format!("\"{}\":0", key(i))).collect();
    format!("{{{}}}", members.join(","))
}

fn hostile() -> Vec<(&'static str, String)> {
    let most = JSON_NODES_MAX / 2 - 1;
    vec![
        ("empty arrays", filled("[", "[]", ",", "]")),
        ("empty objects", filled("[", "{}", ",", "]")),
        ("digits", filled("[", "0", ",", "]")),
        ("empty strings", filled("[", "\"\"", ",", "]")),
        ("one number", filled("", "9", "", "")),
        ("one string of escapes", filled("\"", "\\u0000", "", "\"")),
        ("one string of text", filled("\"", "x", "", "\"")),
        ("white space", filled("", " ", "", "0")),
        ("open arrays", filled("", "[", "", "")),
        ("open objects", filled("", "{\"a\":", "", "")),
        ("arrays as deep as allowed", filled("[", &deep("[", "]"), ",", "]")),
        ("objects as deep as allowed", filled("[", &deep("{\"\":", "}").replace(":}", ":0}"), ",", "]")),
        ("keys as many as allowed", members(most, |i| format!("{i:x}"))),
        ("keys that look alike", members(most, |i| format!("{i:08}"))),
        ("escaped keys", members(most, |i| format!("\\n{i:x}"))),
        ("long escaped keys", members(30_000, |i| format!("{}{i:x}", "\\u0041".repeat(20)))),
        ("one key too often", filled("{", "\"a\":0", ",", "}")),
    ]
}

fn deep(open: &str, close: &str) -> String {
    format!("{}{}", open.repeat(JSON_DEPTH_MAX - 1), close.repeat(JSON_DEPTH_MAX - 1))
}

/// 4 MiB of adversarial JSON never take more than the bound, whether accepted or refused.
#[test]
fn reading_never_takes_more_than_its_bound() {
    let mut worst = (0, "");
    for (name, text) in hostile() {
        assert!(text.len() <= JSON_MESSAGE_BYTES_MAX, "{name}");
        let used = allocation_counter::measure(|| drop(Document::parse(text.as_bytes(), &Limits::message())));
        assert!(used.bytes_current == 0, "{name}: {} bytes are kept", used.bytes_current);
        let peak = usize::try_from(used.bytes_max).unwrap();
        assert!(peak <= READ_BYTES_MAX, "{name}: {peak} bytes for {} of text", text.len());
        worst = worst.max((peak, name));
    }
    eprintln!("reading: at most {} KiB ({}), bound {} KiB", worst.0 / 1024, worst.1, READ_BYTES_MAX / 1024);
}

/// A kept document holds its text, its tape and its unescaped keys, and nothing else.
#[test]
fn a_kept_text_takes_its_bytes_and_its_tape() {
    for (name, text) in hostile() {
        let text = text.into_boxed_str();
        let len = text.len();
        let mut kept = None;
        let used = allocation_counter::measure(|| kept = OwnedDocument::parse(text, &Limits::message()).ok());
        let Some(kept) = kept else { continue };
        let (mut slots, mut escaped) = (0, 0);
        let mut open = vec![kept.root()];
        while let Some(node) = open.pop() {
            slots += 1 + node.members().count();
            // Keys with an escape are also kept unescaped.
            let keys = node.members().filter(|(key, _)| key.raw().contains('\\'));
            escaped +=
                keys.map(|(key, _)| size_of::<Box<str>>() + key.as_str().unwrap().len()).sum::<usize>();
            open.extend(node.members().map(|(_, value)| value).chain(node.elements()));
        }
        // The text was allocated before counting started and is dropped inside it: the document holds the only copy.
        let bytes = usize::try_from(used.bytes_current + i64::try_from(len).unwrap()).unwrap();
        let least = len + SLOT_BYTES * slots + escaped;
        assert!((least..=least + 160).contains(&bytes), "{name}: {bytes} bytes for {least}");
    }
}

/// Each limit refuses by its own name, at the offset where it was exceeded.
#[test]
fn texts_over_a_limit_are_refused_by_its_name() {
    for (name, text) in hostile() {
        let outcome = Document::parse(text.as_bytes(), &Limits::message()).map(|_| ()).map_err(|e| e.kind);
        let expected = match name {
            "empty arrays" | "empty objects" | "digits" | "empty strings" | "one key too often" => {
                Err(ReadErrorKind::Nodes { limit: JSON_NODES_MAX })
            }
            "arrays as deep as allowed" | "objects as deep as allowed" => {
                Err(ReadErrorKind::Nodes { limit: JSON_NODES_MAX })
            }
            "open arrays" | "open objects" => Err(ReadErrorKind::Depth { limit: JSON_DEPTH_MAX }),
            "one number" => Err(ReadErrorKind::NumberRange),
            _ => Ok(()),
        };
        assert_eq!(outcome, expected, "{name}");
    }
    let over = " ".repeat(JSON_MESSAGE_BYTES_MAX) + "0";
    let error = Document::parse(over.as_bytes(), &Limits::message()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "json.bytes_max: the text has 4194305 bytes, at most 4194304 are read at byte 4194304"
    );
    let used = allocation_counter::measure(|| drop(Document::parse(over.as_bytes(), &Limits::message())));
    assert_eq!(used.bytes_total, 0, "nothing is spent on a text that is too long");
}

/// A file may be larger than a message, up to its own limits.
#[test]
fn a_file_over_a_limit_is_refused_by_its_name() {
    let file = Limits::file();
    assert_eq!((file.bytes_max, file.nodes_max), (JSON_FILE_BYTES_MAX, JSON_FILE_NODES_MAX));
    let long = " ".repeat(JSON_FILE_BYTES_MAX + 1);
    let error = Document::parse(long.as_bytes(), &file).unwrap_err();
    assert_eq!(
        error.kind,
        ReadErrorKind::Bytes { limit: JSON_FILE_BYTES_MAX, found: JSON_FILE_BYTES_MAX + 1 }
    );
    let many = format!("[{}0]", "0,".repeat(JSON_NODES_MAX));
    assert!(Document::parse(many.as_bytes(), &file).is_ok(), "more values than a message may have");
}
