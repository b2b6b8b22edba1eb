//! Two tools under contract, over stdio or HTTP:
//!
//! ```sh
//! cargo run -p toolcrib --example workshop                        # stdin and stdout
//! cargo run -p toolcrib --example workshop -- --listen 127.0.0.1:8001
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib::{Context, Elicited, Server, ToolError, ToolSpec};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CharacterWish {
    /// Theme of the character, such as "forest" or "sea".
    theme: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Character {
    name: String,
    species: String,
    character_class: String,
    abilities: Vec<String>,
}

async fn character(wish: CharacterWish, context: Context) -> Result<Character, ToolError> {
    let theme = wish.theme.unwrap_or_else(|| "stars".to_owned());
    context.progress(1.0, Some(2.0), Some("naming"));
    let made = Character {
        name: format!("Elowen of the {theme}"),
        species: "elf".to_owned(),
        character_class: "ranger".to_owned(),
        abilities: vec![format!("walks unseen through the {theme}"), "speaks with owls".to_owned()],
    };
    context.progress(2.0, Some(2.0), Some("done"));
    Ok(made)
}

async fn confetti(arguments: Value, context: Context) -> Result<String, ToolError> {
    let count = arguments.get("count").and_then(Value::as_u64).unwrap_or(1);
    if arguments.get("ask").and_then(Value::as_bool) == Some(true) {
        let schema =
            json!({"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]});
        match context.elicit("sure", &format!("Really launch {count}?"), &schema).await? {
            Elicited::Accepted(answer) if answer.get("sure") == Some(&json!(true)) => {}
            _ => return Err(ToolError::new("Not launched.")),
        }
    }
    Ok(format!("Launched {count} confetti cannons."))
}

fn workshop() -> Result<Server, Box<dyn std::error::Error>> {
    let server = Server::builder("workshop", "1.0.0").instructions("Confetti and characters.").build()?;
    server.add_typed(
        ToolSpec::new("generate_fantasy_character", "Makes up a character for a fantasy story")
            .title("Fantasy character")
            .read_only(true)
            .open_world(false),
        character,
    )?;
    server.add(
        ToolSpec::new("launch_confetti", "Launches confetti over the whole office; it cannot be taken back")
            .destructive(true)
            .open_world(true)
            .input_schema(json!({"type": "object", "properties": {
                "count": {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many cannons"},
                "ask": {"type": "boolean", "description": "Ask the person first"}
            }, "required": ["count"], "additionalProperties": false})),
        confetti,
    )?;
    Ok(server)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = workshop()?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] | ["--stdio"] => server.serve_stdio().await?,
        ["--listen", address] => server.serve_http(address).await?,
        _ => return Err("usage: workshop [--stdio | --listen ADDRESS]".into()),
    }
    Ok(())
}
