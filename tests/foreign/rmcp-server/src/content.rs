//! The tools, and those that answer at once.

use serde_json::{Value, json};

/// A red pixel.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVQI12P4z8AAAAMBAQAY3Y2wAAAAAElFTkSuQmCC";

/// No sound at 8 kHz.
const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==";

/// Tools without arguments.
const PLAIN: [(&str, &str); 25] = [
    ("test_simple_text", "Answers with text"),
    ("test_image_content", "Answers with an image"),
    ("test_audio_content", "Answers with a sound"),
    ("test_embedded_resource", "Answers with a resource"),
    ("test_multiple_content_types", "Answers with several kinds"),
    ("test_error_handling", "Always fails"),
    ("test_tool_with_progress", "Reports 0, 50 and 100 of 100"),
    ("test_tool_with_logging", "Logs three messages"),
    ("test_logging_tool", "Logs, where the request allows it"),
    ("test_elicitation_sep1034_defaults", "Asks with a default for every type"),
    ("test_elicitation_sep1330_enums", "Asks with every form of choice"),
    ("test_missing_capability", "Needs a client that can sample"),
    ("test_streaming_elicitation", "Asks the person to go on"),
    ("test_trigger_tool_change", "Adds a tool, or takes it away again"),
    ("test_trigger_prompt_change", "Adds a prompt, or takes it away again"),
    ("test_input_required_result_elicitation", "Asks for a name"),
    ("test_input_required_result_sampling", "Asks the client's model"),
    ("test_input_required_result_list_roots", "Asks for the client's roots"),
    ("test_input_required_result_request_state", "Keeps state between rounds"),
    ("test_input_required_result_multiple_inputs", "Asks three things at once"),
    ("test_input_required_result_multi_round", "Asks twice, one after the other"),
    ("test_input_required_result_tampered_state", "Refuses altered state"),
    ("test_input_required_result_capabilities", "Asks only what the client declared"),
    ("test_input_required_result_validate_input", "Asks again after a wrong answer"),
    ("test_reconnection", "Answers after a while"),
];

/// Every tool, as `tools/list` has it.
pub(crate) fn tools() -> Vec<Value> {
    let plain = PLAIN.iter().map(|(name, description)| {
        json!({"name": name, "description": description, "inputSchema": {"type": "object", "properties": {}}})
    });
    let text = |name: &str, description: &str, argument: &str| {
        let properties = json!({argument: {"type": "string", "description": "Any text"}});
        json!({"name": name, "description": description,
            "inputSchema": {"type": "object", "properties": properties, "required": [argument]}})
    };
    let header =
        json!({"type": "object", "properties": {"value": {"type": "string", "x-mcp-header": "Value"}}});
    let further = [
        text("test_sampling", "Asks the client's model", "prompt"),
        text("test_elicitation", "Asks the person for a name and an address", "message"),
        json!({"name": "test_custom_header", "description": "Takes an argument that HTTP clients repeat in a header",
            "inputSchema": header}),
        json!({"name": "json_schema_2020_12_tool", "description": "Tool with JSON Schema 2020-12 features",
            "inputSchema": schema_2020_12()}),
    ];
    plain.chain(further).collect()
}

fn schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"}
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false
    })
}

pub(crate) fn text(text: impl Into<String>) -> Value {
    json!({"content": [{"type": "text", "text": text.into()}]})
}

/// The result of a tool that needs nobody.
pub(crate) fn answer(name: &str, arguments: &Value) -> Option<Value> {
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    let resource = |uri: &str, kind: &str, text: &str| json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}});
    Some(match name {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => json!({"content": [image]}),
        "test_audio_content" => json!({"content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]}),
        "test_embedded_resource" => {
            let contents = "This is an embedded resource content.";
            json!({"content": [resource("test://embedded-resource", "text/plain", contents)]})
        }
        "test_multiple_content_types" => json!({"content": [
            {"type": "text", "text": "Multiple content types test:"}, image,
            resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
        ]}),
        "test_error_handling" => json!({"isError": true, "content": [
            {"type": "text", "text": "This tool intentionally returns an error for testing"}]}),
        "test_custom_header" | "json_schema_2020_12_tool" => text(format!("Received: {arguments}")),
        "test_dynamic_tool" => text("Here for now"),
        _ => return None,
    })
}
