//! Self-contained HTML page.

use std::fmt::Write as _;

use super::marked;
use crate::report::Report;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:64rem;padding:0 1rem}\
article{border-left:.4rem solid #888;padding:.2rem 1rem;margin:1rem 0}\
.breaking{border-color:#c62828}.dangerous{border-color:#ef8f00}.unknown{border-color:#7b3fb5}.compatible{border-color:#2e7d32}\
code,pre{font:13px/1.4 ui-monospace,monospace;background:#8881;padding:.1rem .3rem;overflow-wrap:anywhere;white-space:pre-wrap}";

/// Renders the report as a page.
pub fn html(report: &Report) -> String {
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Contract change</title>\n<style>{STYLE}</style>\n<h1>Contract change</h1>\n<p>{}</p>\n",
        marked(&report.headline())
    );
    for change in &report.changes {
        let _ = writeln!(
            text,
            "<article class=\"{0}\" id=\"{1}\">\n<h2>{0} <code>{2}</code> {3}</h2>\n<p><code>{4}</code></p>\n<p>{5}</p>",
            change.verdict.name(),
            change.fingerprint,
            marked(change.id),
            marked(&change.tool),
            marked(&change.path),
            marked(&change.message)
        );
        if let Some(witness) = &change.witness {
            let _ = writeln!(text, "<p>witness <code>{}</code></p>", marked(&witness.to_string()));
        }
        for note in &change.notes {
            let _ = writeln!(text, "<p>{}</p>", marked(&note.to_string()));
        }
        text.push_str("</article>\n");
    }
    text.push_str("</html>\n");
    text
}
