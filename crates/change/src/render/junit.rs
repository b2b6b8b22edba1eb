//! JUnit XML with one test case per finding: a break fails; dangerous and unknown findings are skipped, with a
//! message.

use std::fmt::Write as _;

use super::marked;
use crate::level::Level;
use crate::report::Report;

/// Renders the report as a test suite.
pub fn junit(report: &Report) -> String {
    let summary = report.summary();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"toolcrib\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n",
        report.changes.len().max(1),
        summary.breaking,
        summary.dangerous + summary.unknown
    );
    if report.changes.is_empty() {
        text.push_str("    <testcase classname=\"toolcrib\" name=\"no change\"/>\n");
    }
    for change in &report.changes {
        let _ = write!(
            text,
            "    <testcase classname=\"{}\" name=\"{}\"",
            marked(&change.tool),
            marked(format!("{} {}", change.id, change.path).trim_end())
        );
        let witness =
            change.witness.as_ref().map_or_else(String::new, |witness| format!(" witness: {witness}"));
        let body = format!("{}{witness}", change.message);
        let _ = match change.verdict {
            Level::Breaking => writeln!(
                text,
                ">\n      <failure message=\"{}\">{}</failure>\n    </testcase>",
                marked(&change.message),
                marked(&body)
            ),
            Level::Dangerous | Level::Unknown => {
                writeln!(text, ">\n      <skipped message=\"{}\"/>\n    </testcase>", marked(&body))
            }
            Level::Compatible => writeln!(text, "/>"),
        };
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}
