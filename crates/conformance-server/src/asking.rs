//! Tools that ask the client during the call: the legacy scenarios, and the capabilities a modern client must declare.

use toolcrib::serde_json::{Value, json};
use toolcrib::{Context, Question, RegisterError, Server, ToolError, ToolSpec};

pub(crate) fn register(server: &Server) -> Result<(), RegisterError> {
    let text = |name: &str, description: &str| json!({"type": "object", "properties": {name: {"type": "string", "description": description}}, "required": [name]});
    server
        .add(
            ToolSpec::new("test_sampling", "Asks the client's model")
                .input_schema(text("prompt", "What to ask the model")),
            |arguments: Value, context: Context| async move {
                let prompt = arguments.get("prompt").and_then(Value::as_str).unwrap_or_default();
                let reply = context.ask("sample", Question::sample(&message(prompt, 100))).await?;
                Ok(format!("LLM response: {}", sampled(&reply.value())))
            },
        )?
        .add(
            ToolSpec::new("test_missing_capability", "Needs a client that can sample"),
            |_: Value, context: Context| async move {
                let reply = context.ask("sample", Question::sample(&message("Say something", 10))).await?;
                Ok(sampled(&reply.value()))
            },
        )?
        .add(
            ToolSpec::new("test_elicitation", "Asks the person for a name and an address")
                .input_schema(text("message", "What to show the person")),
            |arguments: Value, context: Context| async move {
                let message = arguments.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
                elicit(
                    &context,
                    &message,
                    &json!({"type": "object", "properties": {
                    "username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"}
                }, "required": ["username", "email"]}),
                )
                .await
            },
        )?
        .add(
            ToolSpec::new("test_streaming_elicitation", "Asks the person to go on"),
            |_: Value, context: Context| async move {
                context.progress(1.0, None, None);
                elicit(
                    &context,
                    "Go on?",
                    &json!({"type": "object", "properties": {"ok": {"type": "boolean"}}}),
                )
                .await
            },
        )?
        .add(
            ToolSpec::new("test_elicitation_sep1034_defaults", "Asks with a default for every type"),
            |_: Value, context: Context| async move { elicit(&context, "Please review", &defaults()).await },
        )?
        .add(
            ToolSpec::new("test_elicitation_sep1330_enums", "Asks with every form of choice"),
            |_: Value, context: Context| async move { elicit(&context, "Please choose", &choices()).await },
        )?;
    Ok(())
}

async fn elicit(context: &Context, message: &str, schema: &Value) -> Result<String, ToolError> {
    let reply = context.ask("elicit", Question::elicit(message, schema)).await?.value();
    let action = reply.get("action").and_then(Value::as_str).unwrap_or_default();
    let content = reply.get("content").cloned().unwrap_or_else(|| json!({}));
    Ok(format!("Elicitation completed: action={action}, content={content}"))
}

pub(crate) fn message(text: &str, max_tokens: u32) -> Value {
    json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}], "maxTokens": max_tokens})
}

pub(crate) fn sampled(reply: &Value) -> String {
    reply.pointer("/content/text").and_then(Value::as_str).unwrap_or("no text").to_owned()
}

fn defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "description": "User name", "default": "John Doe"},
        "age": {"type": "integer", "description": "User age", "default": 30},
        "score": {"type": "number", "description": "User score", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "description": "Verification status", "default": true}
    }, "required": []})
}

fn choices() -> Value {
    let titled = |first: &str, second: &str, third: &str| json!([{"const": "value1", "title": first}, {"const": "value2", "title": second}, {"const": "value3", "title": third}]);
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": titled("First Option", "Second Option", "Third Option")},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("First Choice", "Second Choice", "Third Choice")}}
    }, "required": []})
}
