//! R6.3: A → B → A is the same document, for every real file and for generated ones.

use proptest::prelude::*;
use toolcrib_contract::json::{Document, Limits};
use toolcrib_registry::Format;
use toolcrib_registry::convert::{ConvertError, Options, convert};

use crate::{arbitrary, real};

fn compact(text: &str) -> String {
    Document::parse(text.as_bytes(), &Limits::file()).unwrap().root().to_compact()
}

fn options() -> Options {
    let mut options = Options::default();
    options.lenient = true;
    options
}

/// Converts a document and back; `None` if the target has room for one server only.
fn there_and_back(text: &str, from: Format, to: Format) -> Option<String> {
    let mut given = options();
    given.from = Some(from);
    let there = match convert(text.as_bytes(), to, &given) {
        Ok(there) => there.text,
        Err(ConvertError::NotOne { .. }) => return None,
        Err(error) => panic!("{from:?} to {to:?}: {error}\n{text}"),
    };
    given.from = Some(to);
    let back = convert(there.as_bytes(), from, &given);
    Some(back.unwrap_or_else(|error| panic!("{to:?} back to {from:?}: {error}\n{text}\n{there}")).text)
}

/// R6.3: every file under shared/data survives every conversion it can make, byte for byte.
#[test]
fn every_real_file_comes_back_from_every_format() {
    let (mut trips, mut skipped) = (0, 0);
    for (name, text) in real::catalogues() {
        let Some(from) = Format::detect(Document::parse(text.as_bytes(), &Limits::file()).unwrap().root())
        else {
            panic!("{name} was not recognised");
        };
        for to in Format::ALL {
            match there_and_back(&text, from, to) {
                Some(back) => {
                    assert_eq!(back, compact(&text), "{name} to {to:?} and back");
                    trips += 1;
                }
                None => skipped += 1,
            }
        }
    }
    println!("{trips} round trips over real files, {skipped} where the target has room for one server");
}

/// R6.3: a conversion through a third format and back loses nothing.
#[test]
fn every_real_file_survives_a_walk_through_all_formats() {
    for (name, text) in real::catalogues() {
        let from = Format::detect(Document::parse(text.as_bytes(), &Limits::file()).unwrap().root()).unwrap();
        let mut at = compact(&text);
        let mut format = from;
        for to in [Format::Upstream, Format::Toolhive, Format::Upstream, from] {
            let mut given = options();
            given.from = Some(format);
            at = convert(at.as_bytes(), to, &given)
                .unwrap_or_else(|e| panic!("{name} {format:?} to {to:?}: {e}"))
                .text;
            format = to;
        }
        assert_eq!(at, compact(&text), "{name}");
    }
}

fn check(value: &serde_json::Value, from: Format) -> Result<(), TestCaseError> {
    let text = value.to_string();
    for to in Format::ALL {
        if let Some(back) = there_and_back(&text, from, to) {
            prop_assert_eq!(&back, &text, "{:?} to {:?}", from, to);
        }
    }
    Ok(())
}

/// R6.3: an invalid port cannot be part of a URL; it is carried along and comes back.
#[test]
fn a_port_that_is_none_comes_back() {
    for port in ["0", "65536", "-1", "1.5"] {
        let text = format!(r#"{{"image":"img:1","transport":"sse","target_port":{port}}}"#);
        assert_eq!(there_and_back(&text, Format::Toolhive, Format::Upstream).as_ref(), Some(&text));
    }
}

/// R6.3: a file without a valid list of servers is refused: it would come back with an empty one.
#[test]
fn an_upstream_file_without_its_list_of_servers_is_refused() {
    for data in ["{}", r#"{"servers":{}}"#, r#"{"servers":null}"#] {
        let text = format!(r#"{{"data":{data},"version":"1.0.0"}}"#);
        let mut given = Options::default();
        given.from = Some(Format::Upstream);
        let refused = convert(text.as_bytes(), Format::Toolhive, &given);
        assert!(matches!(refused, Err(ConvertError::Issue(_))), "{data}: {refused:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// R6.3: generated ToolHive files come back.
    #[test]
    fn generated_toolhive_files_come_back(value in arbitrary::toolhive()) {
        check(&value, Format::Toolhive)?;
    }

    /// R6.3: generated ToolHive entries come back.
    #[test]
    fn generated_entries_come_back(value in arbitrary::entry()) {
        check(&value, Format::Toolhive)?;
    }

    /// R6.3: generated upstream files come back.
    #[test]
    fn generated_upstream_files_come_back(value in arbitrary::upstream()) {
        check(&value, Format::Upstream)?;
    }

    /// R6.3: generated server.json documents come back.
    #[test]
    fn generated_servers_come_back(value in arbitrary::server()) {
        check(&value, Format::Server)?;
    }

    /// R6.3: generated lists of tools come back.
    #[test]
    fn generated_tool_lists_come_back(value in arbitrary::tools()) {
        check(&value, Format::Tools)?;
    }
}
