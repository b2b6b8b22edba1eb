//! SARIF 2.1.0 for code scanning.

use serde_json::{Value, json};

use crate::level::Level;
use crate::place::Places;
use crate::report::Report;
use crate::rule::rules;

/// Renders the report as SARIF; `places` are the lock or lists that contain the tools.
pub fn sarif(report: &Report, places: &Places) -> Value {
    let level = |level: Level| match level {
        Level::Breaking => "error",
        Level::Dangerous | Level::Unknown => "warning",
        Level::Compatible => "note",
    };
    let driver_rules: Vec<Value> = rules()
        .iter()
        .map(|rule| {
            json!({"id": rule.id, "shortDescription": {"text": rule.message}, "help": {"text": rule.fix},
                "helpUri": rule.reference})
        })
        .collect();
    let results: Vec<Value> = report
        .changes
        .iter()
        .map(|change| {
            let (file, line) = places.of(&change.tool, &change.path);
            json!({
                "ruleId": change.id,
                "level": level(change.verdict),
                "message": {"text": format!("{}: {}", change.tool, change.message)},
                "locations": [{
                    "physicalLocation": {"artifactLocation": {"uri": file}, "region": {"startLine": line}},
                    "logicalLocations": [{"fullyQualifiedName": format!("{}{}", change.tool, change.path)}],
                }],
                "partialFingerprints": {"toolcrib/v1": change.fingerprint.as_str()},
                "properties": {"verdict": change.verdict.name(), "direction": change.direction.name(),
                    "witness": change.witness, "old": change.old, "new": change.new},
            })
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "toolcrib", "version": env!("CARGO_PKG_VERSION"), "rules": driver_rules}},
            "results": results,
            "properties": {"suggested_bump": report.suggested_bump().name()},
        }],
    })
}
