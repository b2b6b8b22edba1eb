use serde_json::{Value, json};
use toolcrib_contract::Definition;

use super::*;
use crate::{Options, diff};

fn report() -> Report {
    let tool = |value: Value| Definition::from_value(&value).unwrap();
    let old = [
        tool(
            json!({"name": "search", "description": "Finds", "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}}),
        ),
        tool(json!({"name": "gone", "inputSchema": {"type": "object"}})),
    ];
    let new = [tool(
        json!({"name": "search", "description": "Finds <b>|`x`\u{200b}", "inputSchema": {"type": "object",
        "properties": {"q": {"type": "string", "maxLength": 3}, "owner": {"type": "string"}}, "required": ["q", "owner"]}}),
    )];
    diff(&old, &new, &Options::default())
}

/// R7.6: every format, as people and machines read it.
#[test]
fn every_format_is_as_recorded() {
    let report = report();
    insta::assert_snapshot!("terminal", terminal(&report, false));
    insta::assert_snapshot!("json", json(&report));
    insta::assert_snapshot!("github", github(&report, "toolcrib.lock"));
    insta::assert_snapshot!("junit", junit(&report));
    insta::assert_snapshot!("markdown", markdown(&report));
    insta::assert_snapshot!("html", html(&report));
}

/// R7.6: SARIF has rule, level, place, fingerprint and witness of every finding.
#[test]
fn sarif_has_what_code_scanning_needs() {
    let report = report();
    let sarif = sarif(&report, "toolcrib.lock");
    assert_eq!(sarif["version"], "2.1.0");
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), report.changes.len());
    let known: Vec<&str> = sarif["runs"][0]["tool"]["driver"]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|rule| rule["id"].as_str())
        .collect();
    for result in results {
        assert!(known.contains(&result["ruleId"].as_str().unwrap()));
        assert_eq!(result["partialFingerprints"]["toolcrib/v1"].as_str().unwrap().len(), 12);
        assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "toolcrib.lock");
    }
    assert!(results.iter().any(|result| !result["properties"]["witness"].is_null()));
}

/// R4.9: text from elsewhere cannot become markup or a workflow command.
#[test]
fn foreign_text_stays_text() {
    let page = html(&report());
    assert!(!page.contains("<b>") && !page.contains('\u{200b}'));
    let commands = github(&report(), "a,b:c");
    assert!(commands.lines().all(|line| line.starts_with("::")));
    assert!(commands.contains("file=a%2Cb%3Ac"));
}
