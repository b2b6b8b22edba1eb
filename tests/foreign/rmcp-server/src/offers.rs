//! Prompts and resources.

use rmcp::ErrorData;
use serde_json::{Value, json};

use crate::content::PNG;

pub(crate) fn prompts() -> Vec<Value> {
    let argument = |name: &str| json!({"name": name, "description": "Any text", "required": true});
    vec![
        json!({"name": "test_simple_prompt", "description": "A prompt without arguments"}),
        json!({"name": "test_prompt_with_arguments", "description": "A prompt with two arguments",
            "arguments": [argument("arg1"), argument("arg2")]}),
        json!({"name": "test_prompt_with_embedded_resource", "description": "A prompt that holds a resource",
            "arguments": [argument("resourceUri")]}),
        json!({"name": "test_prompt_with_image", "description": "A prompt that holds an image"}),
        json!({"name": "test_input_required_result_prompt", "description": "A prompt that asks first"}),
    ]
}

pub(crate) fn prompt(name: &str, arguments: &Value) -> Result<Value, ErrorData> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let say = |content: Value| json!({"role": "user", "content": content});
    let text = |text: String| say(json!({"type": "text", "text": text}));
    let messages = match name {
        "test_simple_prompt" | "test_dynamic_prompt" => {
            vec![text("This is a simple prompt for testing.".to_owned())]
        }
        "test_prompt_with_arguments" => {
            let said =
                format!("Prompt with arguments: arg1='{}', arg2='{}'", argument("arg1"), argument("arg2"));
            vec![text(said)]
        }
        "test_prompt_with_embedded_resource" => vec![
            say(
                json!({"type": "resource", "resource": {"uri": argument("resourceUri"), "mimeType": "text/plain",
                "text": "Embedded resource content for testing."}}),
            ),
            text("Please process the embedded resource above.".to_owned()),
        ],
        "test_prompt_with_image" => vec![
            say(json!({"type": "image", "data": PNG, "mimeType": "image/png"})),
            text("Please analyze the image above.".to_owned()),
        ],
        other => return Err(ErrorData::invalid_params(format!("no prompt {other:?}"), None)),
    };
    Ok(json!({"messages": messages}))
}

pub(crate) fn resources() -> Vec<Value> {
    let resource = |uri: &str, name: &str, kind: &str| json!({"uri": uri, "name": name, "description": name, "mimeType": kind});
    vec![
        resource("test://static-text", "Static text", "text/plain"),
        resource("test://static-binary", "Static binary", "image/png"),
        resource("test://watched-resource", "Watched resource", "text/plain"),
    ]
}

pub(crate) fn templates() -> Vec<Value> {
    vec![json!({"uriTemplate": "test://template/{id}/data", "name": "Template", "description": "Data by id",
        "mimeType": "application/json"})]
}

pub(crate) fn read(uri: &str) -> Result<Value, ErrorData> {
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let contents = match (uri, id) {
        ("test://static-text", _) => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."})
        }
        ("test://static-binary", _) => json!({"uri": uri, "mimeType": "image/png", "blob": PNG}),
        ("test://watched-resource", _) => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "Watched resource content"})
        }
        (_, Some(id)) => {
            let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()})
        }
        _ => return Err(ErrorData::resource_not_found("Resource not found", Some(json!({"uri": uri})))),
    };
    Ok(json!({"contents": [contents]}))
}
