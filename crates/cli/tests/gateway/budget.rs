//! Answers over a size budget, as clients of both eras see them.

use serde_json::{Value, json};

use super::client::{Legacy, able};
use super::folder::Folder;
use super::running::Gateway;

const BUDGET: usize = 4_096;

fn gateway(folder: &Folder, budget: usize) -> Gateway {
    let hostile = toolcrib_testkit::deps::built_example("hostile").unwrap_or_else(|error| panic!("{error}"));
    let text = format!(
        "[servers.s]\ncommand = {:?}\nargs = [\"stdio\", \"long\"]\nrules = [{{ tools = \"*\", result_bytes_max = {budget} }}]\n",
        hostile.display().to_string()
    );
    Gateway::start(&["--config", &folder.file("toolcrib.toml", &text)])
}

/// Returns the result as the server sends it, byte for byte.
fn rows() -> String {
    let rows = vec![r#"{ "n": 1.50, "big": 9007199254740993 }"#; 2_000].join(", ");
    format!(
        r#"{{ "content": [ {{"type":"text","text":"2000 rows"}} ], "structuredContent": {{"rows": [{rows}], "total": 2000}}, "x-own": 0.10 }}"#
    )
}

/// Sends a request as a client of one era.
type Ask<'a> = &'a dyn Fn(&str, Value) -> Value;

fn both_eras(test: impl Fn(Ask<'_>)) {
    let folder = Folder::new("budget");
    let gateway = gateway(&folder, BUDGET);
    test(&|method, params| gateway.ask(method, &params));
    let legacy = Legacy::new(&gateway, &able());
    test(&|method, params| legacy.calling(method, &params).send(gateway.address).unwrap().json().unwrap());
}

fn linked(answer: &Value) -> String {
    let blocks = answer["result"]["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let link =
        blocks.iter().find(|block| block["type"] == "resource_link").unwrap_or_else(|| panic!("{answer}"));
    link["uri"].as_str().unwrap().to_owned()
}

/// R5.10: an answer above a per-tool size is kept as a resource; the client gets a short one that says so and links to
/// it.
#[test]
fn a_long_text_is_kept_and_linked_to() {
    both_eras(|ask| {
        let answer = ask("tools/call", json!({"name": "s__poke", "arguments": {}}));
        assert!(answer["result"].to_string().len() <= BUDGET, "{answer}");
        assert_ne!(answer["result"]["isError"], true);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("lorem ipsum") && text.contains("The answer has"), "{text}");
        let read = ask("resources/read", json!({"uri": linked(&answer)}));
        let whole: Value =
            serde_json::from_str(read["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(whole["content"][0]["text"], "lorem ipsum ".repeat(10_000));
        // Short answers are sent unchanged.
        let short = ask("tools/call", json!({"name": "s__echo", "arguments": {"a": 1}}));
        assert_eq!(short["result"]["content"].as_array().unwrap().len(), 1, "{short}");
    });
}

/// R5.10: however large the budget, no more than `SHOWN_ANSWER_BYTES_MAX` of a text is shown.
#[test]
fn no_more_than_shown_answer_bytes_max_of_a_text_is_shown() {
    let folder = Folder::new("budget-shown");
    let gateway = gateway(&folder, 65_536);
    let answer = gateway.ask("tools/call", &json!({"name": "s__poke", "arguments": {}}));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    let (shown, _) = text.split_once("\n\n[The answer has").unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(shown.len(), 16_384, "{answer}");
}

/// R5.10: the shortened answer still satisfies the output schema, and the full one comes back byte for byte.
#[test]
fn a_long_structured_answer_is_an_excerpt_that_keeps_its_schema() {
    both_eras(|ask| {
        let answer = ask("tools/call", json!({"name": "s__rows", "arguments": {}}));
        assert!(answer["result"].to_string().len() <= BUDGET, "{answer}");
        assert_ne!(answer["result"]["isError"], true, "{answer}");
        let structured = &answer["result"]["structuredContent"];
        let kept = structured["rows"].as_array().unwrap_or_else(|| panic!("{answer}"));
        assert!((1..2_000).contains(&kept.len()), "{}", kept.len());
        assert_eq!((&structured["total"], &kept[0]["n"]), (&json!(2000), &json!(1.5)));
        let read = ask("resources/read", json!({"uri": linked(&answer)}));
        assert_eq!(read["result"]["contents"][0]["text"].as_str().unwrap(), rows());
    });
}
