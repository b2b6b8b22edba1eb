//! Tools that return each kind of content, and tools for schemas and headers.

use toolcrib::serde_json::{Value, json};
use toolcrib::{Content, Context, RegisterError, ResourceContents, Server, ToolError, ToolResult, ToolSpec};

use crate::media::{PNG, WAV};

type Answer = Result<ToolResult, ToolError>;

pub(crate) fn register(server: &Server) -> Result<(), RegisterError> {
    let plain =
        |name: &str, description: &str| ToolSpec::new(name, description).read_only(true).open_world(false);
    server
        .add(plain("test_simple_text", "Answers with text"), |_: Value, _: Context| async {
            Answer::Ok(ToolResult::text("This is a simple text response for testing."))
        })?
        .add(plain("test_image_content", "Answers with an image"), |_: Value, _: Context| async {
            Answer::Ok(ToolResult::new().with(Content::image(PNG, "image/png")))
        })?
        .add(plain("test_audio_content", "Answers with a sound"), |_: Value, _: Context| async {
            Answer::Ok(ToolResult::new().with(Content::audio(WAV, "audio/wav")))
        })?
        .add(plain("test_embedded_resource", "Answers with a resource"), |_: Value, _: Context| async {
            let contents = ResourceContents::text(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content.",
            );
            Answer::Ok(ToolResult::new().with(Content::resource(&contents)))
        })?
        .add(plain("test_multiple_content_types", "Answers with several kinds"), |_: Value, _: Context| async {
            let contents = ResourceContents::text(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            );
            Answer::Ok(
                ToolResult::text("Multiple content types test:")
                    .with(Content::image(PNG, "image/png"))
                    .with(Content::resource(&contents)),
            )
        })?
        .add(plain("test_error_handling", "Always fails"), |_: Value, _: Context| async {
            Err::<ToolResult, _>(ToolError::new("This tool intentionally returns an error for testing"))
        })?
        .add(
            plain("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features").input_schema(schema_2020_12()),
            |arguments: Value, _: Context| async move { Answer::Ok(ToolResult::text(format!("Received: {arguments}"))) },
        )?
        .add(
            plain("test_custom_header", "Takes an argument that HTTP clients repeat in a header").input_schema(json!({
                "type": "object",
                "properties": {"value": {"type": "string", "description": "Any text", "x-mcp-header": "Value"}}
            })),
            |arguments: Value, _: Context| async move {
                Answer::Ok(ToolResult::text(format!("value: {}", arguments.get("value").unwrap_or(&Value::Null))))
            },
        )?;
    Ok(())
}

fn schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
        }},
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
