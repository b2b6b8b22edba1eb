//! The workshop, a demonstration server for tests: one read-only tool with an output schema, two destructive tools.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib::{Context, Server, ToolError, ToolSpec};

use crate::exit::{Exit, Failure};
use crate::safe::Safe;
use crate::toolsets::Toolsets;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wish {
    /// Theme of the character, such as "forest" or "sea".
    theme: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Character {
    name: String,
    species: String,
    character_class: String,
    abilities: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Launch {
    /// How many cannons.
    #[schemars(range(min = 1, max = 100))]
    count: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Transfer {
    /// The vault that pays.
    from: String,
    /// The vault that is paid.
    to: String,
    /// Coins.
    amount: u64,
    /// Note in the ledger.
    memo: Option<String>,
    /// Other vaults that get a share.
    #[serde(default)]
    shares: Vec<Share>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Share {
    to: String,
    part: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Transferred {
    transferred: u64,
    entry: String,
}

/// Duration of a transfer.
const COUNTING: Duration = Duration::from_millis(20);

/// Deterministic, so that the output matches the documentation.
fn character(theme: &str) -> Character {
    const PEOPLE: [(&str, &str, &str); 4] = [
        ("Elowen", "elf", "ranger"),
        ("Brakka", "dwarf", "smith"),
        ("Tamsin", "halfling", "bard"),
        ("Orruk", "orc", "shaman"),
    ];
    let turn = theme.bytes().map(usize::from).sum::<usize>() % PEOPLE.len();
    let (name, species, class) = PEOPLE.get(turn).copied().unwrap_or(("Elowen", "elf", "ranger"));
    Character {
        name: format!("{name} of the {theme}"),
        species: species.to_owned(),
        character_class: class.to_owned(),
        abilities: vec![format!("walks unseen through the {theme}"), "speaks with owls".to_owned()],
    }
}

pub(crate) fn server(toolsets: &Toolsets, safe: Option<&Safe>) -> Result<Server, Failure> {
    let mut builder =
        Server::builder("toolcrib", env!("CARGO_PKG_VERSION")).title("Toolcrib demonstration").instructions(
            "Three tools to try: one only reads, two cannot be taken back and have to be confirmed.",
        );
    if let Some(safe) = safe {
        builder = safe.apply(builder);
    }
    let internal = |error| Failure::new(Exit::Internal, error);
    let server = toolsets.apply(builder)?.build().map_err(|error| internal(error.into()))?;
    fill(&server).map_err(internal)?;
    crate::toolsets::check(&server)?;
    Ok(server)
}

fn fill(server: &Server) -> anyhow::Result<()> {
    server.add_typed(
        ToolSpec::new("generate_fantasy_character", "Makes up a character for a fantasy story")
            .title("Fantasy character")
            .toolset("stories")
            .read_only(true)
            .open_world(false),
        |wish: Wish, _: Context| async move {
            Ok::<_, ToolError>(character(wish.theme.as_deref().unwrap_or("stars")))
        },
    )?;
    server.add_typed(
        ToolSpec::new("launch_confetti", "Launches confetti over the whole office; it cannot be taken back")
            .title("Launch confetti")
            .toolset("office")
            .destructive(true)
            .open_world(true),
        |launch: Launch, _: Context| async move {
            #[derive(Serialize, JsonSchema)]
            struct Launched {
                launched: u32,
            }
            Ok::<_, ToolError>(Launched { launched: launch.count })
        },
    )?;
    server.add_typed(
        ToolSpec::new("transfer_gold", "Moves gold from one vault to another; it cannot be taken back")
            .title("Transfer gold")
            .toolset("office")
            .destructive(true)
            .open_world(false),
        |transfer: Transfer, _: Context| async move {
            tokio::time::sleep(COUNTING).await;
            let shares: String = transfer
                .shares
                .iter()
                .map(|share| format!(", {} of it to {}", share.part, share.to))
                .collect();
            let memo = transfer.memo.map(|memo| format!(" ({memo})")).unwrap_or_default();
            let entry = format!("{} to {}{shares}{memo}", transfer.from, transfer.to);
            Ok::<_, ToolError>(Transferred { transferred: transfer.amount, entry })
        },
    )?;
    Ok(())
}
