//! Renderings of a report.

mod github;
mod html;
mod junit;
mod markdown;
mod sarif;
mod schema;
mod terminal;

pub use github::github;
pub use html::html;
pub use junit::junit;
pub use markdown::markdown;
pub use sarif::sarif;
pub use schema::schema;
pub use terminal::terminal;

use crate::report::Report;

/// The report as a JSON document in its documented form.
pub fn json(report: &Report) -> String {
    format!("{:#}\n", report.to_json())
}

/// Escapes text for XML and HTML; hidden characters are made visible.
fn marked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in toolcrib_contract::text::escaped(text).chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests;
