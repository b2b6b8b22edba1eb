//! The reference converter's golden pairs hold, except for its own faults:
//!
//! 1. Its types add `"annotations": {}` to a tool that had none; Toolcrib keeps the definition as it was.
//! 2. Its own pairs disagree on `transport` inside the extension (an input has it, its output does not); Toolcrib keeps
//!    it where it was.
//!
//! `tools` (46 names) that differ from `tool_definitions` (1) are kept as they are: that is a matter for lint (R6.4).

use serde_json::{Value, json};
use toolcrib_registry::convert::{Options, convert};
use toolcrib_registry::{Format, PUBLISHER_KEY, STACKLOK};

use crate::real;

fn pair(folder: &str, name: &str) -> Option<(String, Value)> {
    let read = |kind: &str| real::file(&format!("toolhive-core/converters/{folder}/{kind}_{name}.json"));
    Some((read("input")?, serde_json::from_str(&read("expected")?).unwrap()))
}

fn converted(input: &str, to: Format, name: &str) -> Value {
    let mut options = Options::default();
    options.name = Some(name.to_owned());
    let text = convert(input.as_bytes(), to, &options).unwrap().text;
    serde_json::from_str(&text).unwrap()
}

/// Difference 1: removes the added annotations from the expected document.
fn without_made_up_annotations(definitions: &mut Value) {
    for tool in definitions.as_array_mut().into_iter().flatten() {
        if tool["annotations"] == json!({}) {
            tool.as_object_mut().unwrap().remove("annotations");
        }
    }
}

fn block_of(server: &mut Value) -> &mut Value {
    let blocks = server["_meta"][PUBLISHER_KEY][STACKLOK].as_object_mut().unwrap();
    blocks.values_mut().next().unwrap()
}

fn same_server(folder: &str, file: &str, name: &str) {
    let Some((input, mut expected)) = pair(folder, file) else { return };
    let mut made = converted(&input, Format::Server, name);
    // The golden file has no payload for the way back.
    made["_meta"][PUBLISHER_KEY].as_object_mut().unwrap().remove("dev.toolcrib");
    without_made_up_annotations(&mut block_of(&mut expected)["tool_definitions"]);
    assert_eq!(made, expected, "{folder}");
}

fn same_entry(folder: &str, file: &str) {
    let Some((input, mut expected)) = pair(folder, file) else { return };
    let mut file = converted(&input, Format::Toolhive, "x");
    let (_, entries) = file
        .as_object_mut()
        .unwrap()
        .iter_mut()
        .find(|(_, v)| v.as_object().is_some_and(|m| m.len() == 1))
        .unwrap();
    let made = entries.as_object_mut().unwrap().values_mut().next().unwrap();
    let members = made.as_object_mut().unwrap();
    if let Some(own) = members.get_mut("custom_metadata").and_then(Value::as_object_mut) {
        own.remove("dev.toolcrib");
    }
    // In a file the key has the name; alone the entry has it.
    let name = expected.as_object_mut().unwrap().remove("name").unwrap();
    assert!(name.as_str().unwrap().starts_with("io.github.stacklok/"));
    without_made_up_annotations(&mut expected["tool_definitions"]);
    assert_eq!(*made, expected, "{folder}");
}

/// R6.3: the image pair holds in both directions.
#[test]
fn image_goldens_hold() {
    same_server("image_to_server", "github", "github");
    same_entry("server_to_image", "github");
}

/// R6.3: the remote pair holds in both directions.
#[test]
fn remote_goldens_hold() {
    same_server("remote_to_server", "example", "example-remote");
    same_entry("server_to_remote", "example");
}

/// R6.3: the real pair of one catalogue in both formats describes the same server.
#[test]
fn the_catalogue_pair_is_one_server() {
    let (Some(legacy), Some(upstream)) = (
        real::file("toolhive-catalog/pair.registry-legacy.json"),
        real::file("toolhive-catalog/pair.registry-upstream.json"),
    ) else {
        return;
    };
    let mut made = converted(&legacy, Format::Server, "adb-mysql-mcp-server");
    let expected: Value = serde_json::from_str(&upstream).unwrap();
    let mut expected = expected["data"]["servers"][0].clone();
    made["_meta"][PUBLISHER_KEY].as_object_mut().unwrap().remove("dev.toolcrib");
    // ToolHive's format has no icons.
    expected.as_object_mut().unwrap().remove("icons");
    let (mut made_block, mut expected_block) = (block_of(&mut made).take(), block_of(&mut expected).take());
    assert_eq!(made, expected);
    for block in [&mut made_block, &mut expected_block] {
        without_made_up_annotations(&mut block["tool_definitions"]);
    }
    assert_eq!(made_block, expected_block);
}
