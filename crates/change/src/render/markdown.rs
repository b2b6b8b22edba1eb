//! Markdown for a comment on a pull request.

use std::fmt::Write as _;

use crate::report::Report;

/// Renders the report as a table.
pub fn markdown(report: &Report) -> String {
    let mut text = format!("**{}**\n", cell(&report.headline()));
    if report.changes.is_empty() {
        return text;
    }
    text.push_str(
        "\n| verdict | rule | tool | place | what it means | witness |\n|---|---|---|---|---|---|\n",
    );
    for change in &report.changes {
        let witness = change.witness.as_ref().map_or_else(String::new, |witness| code(&witness.to_string()));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {witness} |",
            change.verdict.name(),
            code(change.id),
            code(&change.tool),
            code(&change.path),
            cell(&change.message)
        );
    }
    text
}

/// Escapes prose for a table cell, so that nothing in it is markup.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in toolcrib_contract::text::escaped(text).chars() {
        match character {
            '\n' => out.push(' '),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '!' | '@' => {
                out.push('\\');
                out.push(character);
            }
            other => out.push(other),
        }
    }
    out
}

fn code(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let text = toolcrib_contract::text::escaped(text).replace('\n', " ").replace('|', "\\|");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    if longest == 0 { format!("{fence}{text}{fence}") } else { format!("{fence} {text} {fence}") }
}
