//! GitHub workflow commands, one per finding.

use std::fmt::Write as _;

use crate::level::Level;
use crate::place::Places;
use crate::report::Report;

/// Renders the report as annotations of the files in `places`.
pub fn github(report: &Report, places: &Places) -> String {
    let mut text = String::new();
    for change in report.changes.iter().filter(|change| change.verdict != Level::Compatible) {
        let command = if change.verdict == Level::Breaking { "error" } else { "warning" };
        let place = format!("{} {}", change.tool, change.path);
        let mut message = format!("{}: {}", place.trim_end(), change.message);
        if let Some(witness) = &change.witness {
            let _ = write!(message, "\nwitness: {witness}");
        }
        let (file, line) = places.of(&change.tool, &change.path);
        let _ = writeln!(
            text,
            "::{command} title={},file={},line={line}::{}",
            property(change.id),
            property(file),
            data(&message)
        );
    }
    let _ = writeln!(text, "::notice title=toolcrib::{}", data(&report.headline()));
    text
}

fn data(text: &str) -> String {
    let text = toolcrib_contract::text::escaped(text);
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
