//! For a person at a terminal: three lines a finding.

use std::fmt::Write as _;

use crate::level::Level;
use crate::report::Report;
use crate::rule::rule;

/// The report as text; readable without colour.
pub fn terminal(report: &Report, colour: bool) -> String {
    let mut text = String::new();
    for change in &report.changes {
        let level = painted(change.verdict, colour);
        let place = if change.path.is_empty() { String::new() } else { format!(" {}", change.path) };
        let _ = writeln!(text, "{level} [{}] {}{place}", change.id, change.tool);
        let _ = writeln!(text, "    {}", change.message);
        if let Some(witness) = &change.witness {
            let _ = writeln!(text, "    witness: {witness}");
        }
        for note in &change.notes {
            let _ = writeln!(text, "    {note}");
        }
        if change.verdict != Level::Compatible
            && let Some(rule) = rule(change.id)
        {
            let _ = writeln!(text, "    fix: {} ({})", rule.fix, change.fingerprint);
        }
    }
    for waived in &report.waived {
        let _ = writeln!(text, "waived [{}] {}: {}", waived.change.id, waived.change.tool, waived.reason);
    }
    for stale in &report.stale {
        let _ = writeln!(text, "stale {stale}");
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
