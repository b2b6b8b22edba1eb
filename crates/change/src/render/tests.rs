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

/// R7.6: the output of every format is recorded.
#[test]
fn every_format_is_as_recorded() {
    let report = report();
    insta::assert_snapshot!("terminal", terminal(&report, false));
    insta::assert_snapshot!("json", json(&report));
    insta::assert_snapshot!("github", github(&report, &"toolcrib.lock".into()));
    insta::assert_snapshot!("junit", junit(&report));
    insta::assert_snapshot!("markdown", markdown(&report));
    insta::assert_snapshot!("html", html(&report));
}

/// R7.6: SARIF has rule, level, location, fingerprint and witness of every finding.
#[test]
fn sarif_has_what_code_scanning_needs() {
    let report = report();
    let sarif = sarif(&report, &"toolcrib.lock".into());
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

/// R4.9: untrusted text cannot become markup or a workflow command.
#[test]
fn foreign_text_stays_text() {
    let page = html(&report());
    assert!(!page.contains("<b>") && !page.contains('\u{200b}'));
    let commands = github(&report(), &"a,b:c".into());
    assert!(commands.lines().all(|line| line.starts_with("::")));
    assert!(commands.contains("file=a%2Cb%3Ac"));
}

/// R7.6: the JSON output conforms to the published schema, for every rule's pair in both directions, with and without
/// waivers; and the schema is not trivial.
#[test]
fn the_json_report_keeps_its_schema() {
    let schema = schema();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let mut reports = vec![report(), Report::default()];
    for rule in crate::rules() {
        let tools = |values: &[Value]| -> Vec<Definition> {
            values.iter().map(|value| Definition::from_value(value).unwrap()).collect()
        };
        let (old, new) = (tools(&rule.old), tools(&rule.new));
        reports.extend([diff(&old, &new, &Options::default()), diff(&new, &old, &Options::default())]);
    }
    let waivers = json!({"waivers": [{"rule": "tool.removed", "tool": "gone", "reason": "agreed"},
        {"rule": "tool.removed", "tool": "never", "reason": "unused"}]});
    let waivers = crate::Waivers::parse(&waivers.to_string()).unwrap();
    let mut waived = report();
    waivers.apply(&mut waived, "2026-01-01");
    assert_eq!((waived.waived.len(), waived.stale.len()), (1, 1));
    reports.push(waived);
    for report in &reports {
        let value: Value = serde_json::from_str(&json(report)).unwrap();
        let wrong: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}: {value:#}");
    }
    for (at, bad) in
        [("/verdict", json!("fine")), ("/changes/0/fingerprint", json!(7)), ("/summary", json!({}))]
    {
        let mut value = reports[0].to_json();
        *value.pointer_mut(at).unwrap() = bad;
        assert!(!validator.is_valid(&value), "{at}");
    }
}
