use super::*;
use crate::json::Document;

fn read(text: &str) -> Result<String, ReadError> {
    Document::parse(text.as_bytes(), &Limits::message()).map(|d| d.root().to_compact())
}

fn kind(text: &str) -> ReadErrorKind {
    read(text).unwrap_err().kind
}

/// R1.1: white space is dropped, every token is kept as it was written.
#[test]
fn tokens_survive_as_they_were_written() {
    let text = r#" { "b" : 1.0 , "a":[ 9007199254740993 , 1e2, -0 , "\u00e9\/" ] , "c":{ } , "d":[ ]} "#;
    assert_eq!(read(text).unwrap(), r#"{"b":1.0,"a":[9007199254740993,1e2,-0,"\u00e9\/"],"c":{},"d":[]}"#);
}

#[test]
fn what_rfc_8259_forbids_is_refused() {
    for text in [
        "",
        " ",
        "{",
        "[",
        "[1,]",
        "{\"a\":1,}",
        "{,}",
        "[,]",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "nul",
        "truex",
        "01",
        "1.",
        ".5",
        "+1",
        "-",
        "1e",
        "1e+",
        "0x1",
        "NaN",
        "Infinity",
        "'a'",
        "\"a",
        "\"\\x\"",
        "\"\\u12\"",
        "[1 2]",
        "{\"a\":1 \"b\":2}",
        "1 2",
        "[1]]",
        "\"\t\"",
        "\u{feff}1",
        "[1}",
        "{\"a\":1]",
        "--1",
        "1.2.3",
    ] {
        assert!(read(text).is_err(), "{text:?} was read");
        assert!(serde_json::from_str::<serde_json::Value>(text).is_err(), "{text:?} is JSON after all");
    }
}

#[test]
fn duplicate_keys_are_refused_with_their_place() {
    let error = read(r#"{"x":{"a":1,"b":2,"a":3}}"#).unwrap_err();
    assert_eq!(error.kind, ReadErrorKind::DuplicateKey { key: "a".into() });
    assert_eq!(error.pointer.as_str(), "/x");
}

#[test]
fn duplicate_keys_are_seen_through_escapes_and_in_large_objects() {
    assert_eq!(kind(r#"{"a":1,"\u0061":2}"#), ReadErrorKind::DuplicateKey { key: "a".into() });
    let mut members: Vec<String> = (0..500).map(|i| format!("\"k{i}\":{i}")).collect();
    assert!(read(&format!("{{{}}}", members.join(","))).is_ok());
    members.push("\"k17\":0".into());
    assert_eq!(
        kind(&format!("{{{}}}", members.join(","))),
        ReadErrorKind::DuplicateKey { key: "k17".into() }
    );
}

#[test]
fn the_same_key_in_siblings_is_no_duplicate() {
    assert!(read(r#"[{"a":1},{"a":{"a":2}}]"#).is_ok());
}

#[test]
fn limits_are_named() {
    let limits = Limits::message().with_bytes_max(10).with_depth_max(2).with_nodes_max(4);
    let parse = |t: &str| Document::parse(t.as_bytes(), &limits).map(|_| ()).unwrap_err();
    assert_eq!(
        parse("[1,2,3,4,5]").to_string(),
        "json.bytes_max: the text has 11 bytes, at most 10 are read at byte 10"
    );
    assert_eq!(parse("[[[1]]]").to_string(), "json.depth_max: nested deeper than 2 at byte 2, in /0/0");
    assert_eq!(
        parse("[1,2,3,4]").to_string(),
        "json.nodes_max: more than 4 values and keys at byte 7, in /3"
    );
}

#[test]
fn depth_bomb_costs_no_stack() {
    let bomb = "[".repeat(1_000_000);
    assert!(matches!(kind(&bomb), ReadErrorKind::Depth { .. }));
    let deep = Limits::message().with_depth_max(usize::MAX).with_nodes_max(usize::MAX);
    let error = Document::parse(bomb.as_bytes(), &deep).map(|_| ()).unwrap_err();
    assert_eq!(error.kind, ReadErrorKind::End);
}

#[test]
fn surrogates_must_come_in_pairs() {
    assert!(read(r#""\ud83d\ude00""#).is_ok());
    for text in [r#""\ud83d""#, r#""\ude00""#, r#""\ud83dx""#, r#""\ud83d\u0041""#] {
        assert!(matches!(kind(text), ReadErrorKind::LoneSurrogate { .. }), "{text}");
    }
}

#[test]
fn numbers_beyond_a_double_are_refused() {
    assert_eq!(kind("1e999"), ReadErrorKind::NumberRange);
    assert_eq!(kind(&"9".repeat(400)), ReadErrorKind::NumberRange);
    assert!(read("1e308").is_ok());
    assert!(read("123456789012345678901234567890").is_ok());
}

#[test]
fn errors_name_the_place() {
    assert_eq!(read(r#"{"a":[1,{"b":tru}]}"#).unwrap_err().pointer.as_str(), "/a/1/b");
    assert_eq!(read("{\"a\":\"\u{1}\"}").unwrap_err().kind, ReadErrorKind::Control { code: 1 });
    assert_eq!(
        Document::parse(b"\"\xff\"", &Limits::message()).map(|_| ()).unwrap_err().kind,
        ReadErrorKind::Utf8
    );
}

proptest::proptest! {
    /// R1.1: a text that `serde_json` writes is parsed to the same value.
    #[test]
    fn reads_what_serde_json_writes(value in crate::arbitrary::json()) {
        let text = serde_json::to_string_pretty(&value).unwrap();
        let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
        proptest::prop_assert_eq!(document.root().to_value(), value.clone());
        proptest::prop_assert_eq!(document.root().to_compact(), serde_json::to_string(&value).unwrap());
    }

    /// Every accepted text is accepted by `serde_json` too, with the same value.
    #[test]
    fn never_reads_what_serde_json_refuses(text in "[\\[\\]{}\",:0-9eE+.\\\\a-fnrtulsu \n-]{0,40}") {
        if let Ok(document) = Document::parse(text.as_bytes(), &Limits::message()) {
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            proptest::prop_assert_eq!(document.root().to_value(), value);
        }
    }

    /// R1.1: a text with one changed byte is accepted if and only if `serde_json` accepts it, with the same value.
    /// Duplicate keys are the exception: only this parser refuses them.
    #[test]
    fn a_changed_byte_is_judged_as_serde_json_judges_it(
        values in proptest::collection::vec(crate::arbitrary::json(), 1..6),
        pretty: bool,
        place: proptest::sample::Index,
        byte in proptest::sample::select(b"\"\\{}[]:,0-.eEtu \n\t\x01x\xc3".to_vec()),
    ) {
        let list = serde_json::Value::from(values);
        let written = if pretty { serde_json::to_vec_pretty(&list) } else { serde_json::to_vec(&list) };
        let mut text = written.unwrap();
        let place = place.index(text.len());
        text[place] = byte;
        let judged: Result<serde_json::Value, _> = serde_json::from_slice(&text);
        match Document::parse(&text, &Limits::message()) {
            Ok(document) => proptest::prop_assert_eq!(document.root().to_value(), judged.unwrap()),
            Err(error) if matches!(error.kind, ReadErrorKind::DuplicateKey { .. }) => {}
            Err(error) => proptest::prop_assert!(judged.is_err(), "{}", error),
        }
    }

    /// R1.1: an object is refused if and only if it has a duplicate key, whatever the number and spelling of its keys.
    /// The error names the first key that repeats an earlier one.
    #[test]
    fn a_key_that_stands_twice_is_always_found(
        keys in proptest::collection::vec(("[ab]{0,3}|samehead[a-c]{0,2}|[a-z]{1,12}", proptest::bool::weighted(0.1)), 0..90),
    ) {
        let member = |(key, escaped): &(String, bool)| match key.strip_prefix('a') {
            Some(rest) if *escaped => format!("\"\\u0061{rest}\":[{{}}]"),
            _ => format!("\"{key}\":0"),
        };
        let text = format!("{{{}}}", keys.iter().map(member).collect::<Vec<_>>().join(","));
        let mut seen = std::collections::HashSet::new();
        let twice = keys.iter().find(|(key, _)| !seen.insert(key.clone()));
        let read = Document::parse(text.as_bytes(), &Limits::message()).map(|_| ()).map_err(|e| e.kind);
        let expected = twice.map_or(Ok(()), |(key, _)| Err(ReadErrorKind::DuplicateKey { key: key.clone() }));
        proptest::prop_assert_eq!(read, expected);
    }
}
