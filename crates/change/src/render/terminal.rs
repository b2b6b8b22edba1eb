//! Terminal rendering: a few lines per finding. Text from servers is escaped to one line, so that it cannot move the
//! cursor, hide, or imitate our own lines (R4.9, text from upstream servers is untrusted).

use std::fmt::Write as _;

use toolcrib_contract::text::one_line;

use crate::level::Level;
use crate::report::Report;
use crate::rule::rule;

/// Renders the report as text that is readable without colour.
pub fn terminal(report: &Report, colour: bool) -> String {
    let mut text = String::new();
    for change in &report.changes {
        let level = painted(change.verdict, colour);
        let place = if change.path.is_empty() { String::new() } else { format!(" {}", change.path) };
        let _ = writeln!(text, "{level} [{}] {}", change.id, one_line(&format!("{}{place}", change.tool)));
        let mut below = |line: &str| {
            let _ = writeln!(text, "    {}", one_line(line));
        };
        below(&change.message);
        if let Some(witness) = &change.witness {
            below(&format!("witness: {witness}"));
        }
        change.notes.iter().for_each(|note| below(&note.to_string()));
        if change.verdict != Level::Compatible
            && let Some(rule) = rule(change.id)
        {
            below(&format!("fix: {} ({})", rule.fix, change.fingerprint));
        }
    }
    for waived in &report.waived {
        let one = format!("waived [{}] {}: {}", waived.change.id, waived.change.tool, waived.reason);
        let _ = writeln!(text, "{}", one_line(&one));
    }
    for stale in &report.stale {
        let _ = writeln!(text, "stale {}", one_line(stale));
    }
    let _ = writeln!(text, "{}", report.headline());
    text
}

fn painted(level: Level, colour: bool) -> String {
    if !colour {
        return level.name().to_owned();
    }
    let code = match level {
        Level::Breaking => 31,
        Level::Dangerous => 33,
        Level::Unknown => 35,
        Level::Compatible => 32,
    };
    format!("\u{1b}[{code}m{}\u{1b}[0m", level.name())
}
