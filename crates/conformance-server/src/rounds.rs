//! Tools whose calls take several rounds of `input_required` with a modern client.

use toolcrib::serde_json::{Value, json};
use toolcrib::{Capability, Context, Elicited, Question, RegisterError, Server, ToolError, ToolSpec};

use crate::asking::{message, sampled};

pub(crate) fn register(server: &Server) -> Result<(), RegisterError> {
    let spec = |name: &str, description: &str| {
        ToolSpec::new(&format!("test_input_required_result_{name}"), description).read_only(true)
    };
    server
        .add(spec("elicitation", "Asks for a name"), |_: Value, context: Context| async move {
            Ok(format!("Hello, {}!", ask_text(&context, "user_name", "What is your name?", "name").await?))
        })?
        .add(spec("sampling", "Asks the client's model"), |_: Value, context: Context| async move {
            let question = Question::sample(&message("What is the capital of France?", 100));
            Ok(sampled(&context.ask("capital_question", question).await?.value()))
        })?
        .add(spec("list_roots", "Asks for the client's roots"), |_: Value, context: Context| async move {
            let reply = context.ask("client_roots", Question::roots()).await?;
            Ok(format!("Roots: {}", roots(&reply.value())))
        })?
        .add(spec("request_state", "Keeps state between rounds"), |_: Value, context: Context| async move {
            let before: Option<u32> = context.kept();
            context.keep(&7u32)?;
            confirm(&context).await?;
            // The state was sealed by this server for this call; otherwise the engine would have refused the round.
            Ok(if before == Some(7) { "state-ok" } else { "no state came back" })
        })?
        .add(spec("tampered_state", "Refuses altered state"), |_: Value, context: Context| async move {
            confirm(&context).await?;
            Ok("state-ok")
        })?
        .add(spec("multiple_inputs", "Asks three things at once"), |_: Value, context: Context| async move {
            let questions = vec![
                ("user_name".to_owned(), name_question()),
                ("greeting".to_owned(), Question::sample(&message("Generate a greeting", 50))),
                ("client_roots".to_owned(), Question::roots()),
            ];
            let replies = context.ask_all(questions).await?;
            let parts: Vec<String> = replies.iter().map(|reply| reply.as_json().to_owned()).collect();
            Ok(parts.join("\n"))
        })?
        .add(
            spec("multi_round", "Asks twice, one after the other"),
            |_: Value, context: Context| async move {
                let name = ask_text(&context, "step1", "Step 1: What is your name?", "name").await?;
                let color =
                    ask_text(&context, "step2", "Step 2: What is your favorite color?", "color").await?;
                Ok(format!("{name} likes {color}"))
            },
        )?
        .add(
            spec("capabilities", "Asks only what the client declared"),
            |_: Value, context: Context| async move {
                let mut questions = Vec::new();
                if context.can(Capability::Sampling) {
                    questions.push(("sample".to_owned(), Question::sample(&message("Say hello", 10))));
                }
                if context.can(Capability::ElicitationForm) {
                    questions.push(("user_name".to_owned(), name_question()));
                }
                if context.can(Capability::Roots) {
                    questions.push(("client_roots".to_owned(), Question::roots()));
                }
                let replies = context.ask_all(questions).await?;
                Ok(format!("{} answers", replies.len()))
            },
        )?;
    Ok(())
}

fn name_question() -> Question {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    Question::elicit("What is your name?", &schema)
}

async fn confirm(context: &Context) -> Result<(), ToolError> {
    let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]});
    match context.elicit("confirm", "Please confirm", &schema).await? {
        Elicited::Accepted(_) => Ok(()),
        Elicited::Declined | Elicited::Cancelled => Err(ToolError::new("Not confirmed")),
    }
}

pub(crate) async fn ask_text(
    context: &Context,
    key: &str,
    message: &str,
    field: &str,
) -> Result<String, ToolError> {
    let schema = json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]});
    match context.elicit(key, message, &schema).await? {
        Elicited::Accepted(content) => {
            Ok(content.get(field).and_then(Value::as_str).unwrap_or_default().to_owned())
        }
        Elicited::Declined | Elicited::Cancelled => Err(ToolError::new("The person did not answer")),
    }
}

fn roots(reply: &Value) -> String {
    let list = reply.get("roots").and_then(Value::as_array).cloned().unwrap_or_default();
    let uris: Vec<&str> = list.iter().filter_map(|root| root.get("uri")?.as_str()).collect();
    uris.join(", ")
}
