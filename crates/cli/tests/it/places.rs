//! Locations of findings in files.

use serde_json::Value;

use crate::home::Home;

const OLD: &str = "{\n  \"tools\": [\n    {\n      \"name\": \"search\",\n      \"inputSchema\": {\n        \"type\": \"object\",\n        \"properties\": {\"q\": {\"type\": \"string\"}},\n        \"required\": [\"q\"]\n      }\n    },\n    {\"name\": \"gone\", \"inputSchema\": {\"type\": \"object\"}}\n  ]\n}\n";

/// Returns the location of every result, after checking the shape that code scanning requires.
fn places(sarif: &Value) -> Vec<(String, String, u64)> {
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    assert!(run["tool"]["driver"]["name"] == "toolcrib" && run["tool"]["driver"]["rules"].is_array());
    let results = run["results"].as_array().unwrap();
    let place = |result: &Value| {
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()), "{result}");
        assert!(
            result["message"]["text"].is_string() && result["partialFingerprints"].is_object(),
            "{result}"
        );
        let at = &result["locations"][0]["physicalLocation"];
        let line = at["region"]["startLine"].as_u64().unwrap();
        assert!(line >= 1);
        let uri = at["artifactLocation"]["uri"].as_str().unwrap().to_owned();
        (result["ruleId"].as_str().unwrap().to_owned(), uri, line)
    };
    results.iter().map(place).collect()
}

/// R7.6: SARIF and GitHub annotations point at the tool's line in the file.
#[test]
fn findings_point_at_the_lines_of_files() {
    let home = Home::new("places");
    home.write("old.json", OLD);
    let new = OLD.replace("[\"q\"]", "[\"q\", \"tag\"]").replace("\"gone\"", "\"came\"");
    home.write("new.json", &new);
    let ran = home.run(&["diff", "old.json", "new.json", "--format", "sarif"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let found = places(&ran.json());
    let of =
        |rule: &str| found.iter().find(|(id, ..)| id == rule).unwrap_or_else(|| panic!("{rule}: {found:?}"));
    let broken = found.iter().find(|(_, uri, line)| uri == "new.json" && (5..=8).contains(line));
    assert!(broken.is_some(), "the new list is shown where the schema changed: {found:?}");
    // A removed tool is located in the old list.
    let gone = of("tool.removed");
    assert_eq!((gone.1.as_str(), gone.2), ("old.json", 11), "{found:?}");

    assert_eq!(home.run(&["lock", "shop=old.json"]).code, 0);
    let ran = home.run(&["check", "shop=new.json", "--format", "github"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let lock = home.read("toolcrib.lock");
    let place = |needle: &str| lock.lines().position(|line| line.contains(needle)).unwrap() + 1;
    let removed = format!("file=toolcrib.lock,line={}::gone", place("\"name\": \"gone\"") - 1);
    assert!(ran.out.contains(&removed), "{removed}: {}", ran.out);
}
