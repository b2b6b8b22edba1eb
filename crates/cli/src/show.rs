//! `toolcrib show WHAT [TOOL]`: shows signature, effect, schemas and digest of tools in a file or the catalogue (R8.3).

use std::fmt::Write as _;
use std::path::Path;

use anyhow::anyhow;
use serde_json::json;
use toolcrib_contract::text::escaped;
use toolcrib_contract::{Definition, Digests, Effect, signature};

use crate::catalogue::{Place, find};
use crate::demonstration::{self, Subject};
use crate::exit::{Exit, Failure, print};
use crate::form::{Form, Format};
use crate::toolsets::Toolsets;
use crate::{Outcome, source, suggestion};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A file that holds definitions, or SERVER or SERVER/TOOL of the catalogue.
    what: String,
    /// Only this tool, with its description, schemas and digests.
    tool: Option<String>,
    #[command(flatten)]
    form: Form,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let (definitions, wanted) = tools(&args.what, args.tool.as_deref(), &args.place)?;
    let text = match (&wanted, args.form.format()) {
        (Some(tool), Format::Terminal) => whole(tool),
        (None, Format::Terminal) => definitions
            .iter()
            .map(|definition| {
                format!("{:<12} {}\n", badge(definition.annotations().effect()), signature(definition))
            })
            .collect(),
        (Some(tool), Format::Json) => json_of(tool).to_string(),
        (None, Format::Json) => {
            json!({"tools": definitions.iter().map(json_of).collect::<Vec<_>>()}).to_string()
        }
    };
    print(&text)?;
    Ok(Exit::Nothing)
}

/// Returns the tools of a file or a server, and the one that was named.
pub(crate) fn tools(what: &str, tool: Option<&str>, place: &Place) -> Result<Tools, Failure> {
    let path = Path::new(what);
    let looks_like_a_file = what.ends_with(".json") || what.ends_with(".lock") || what.ends_with(".yaml");
    let (definitions, named) = if path.is_file() || looks_like_a_file {
        (source::definitions(path)?, None)
    } else {
        match (find(&place.open()?, what), desk(what)?) {
            (Ok(found), _) => (found.tools, found.tool),
            // `desk` names the demonstration, as in `call`, unless the catalogue has such a server.
            (Err(_), Some((tools, tool))) => (tools, tool),
            (Err(failure), None) => return Err(failure),
        }
    };
    let Some(wanted) = tool else { return Ok((definitions, named)) };
    let found = definitions.iter().find(|definition| definition.name() == wanted).cloned();
    let found = found.ok_or_else(|| {
        Failure::new(Exit::Usage, anyhow!("{what} holds no tool {wanted:?}"))
            .hint(suggestion::hint(wanted, definitions.iter().map(Definition::name)))
    })?;
    Ok((definitions, Some(found)))
}

type Tools = (Vec<Definition>, Option<Definition>);

/// Returns the demonstration's tools if `what` is `desk` or `desk/TOOL`, with the named one.
fn desk(what: &str) -> Result<Option<Tools>, Failure> {
    let (server, tool) = what.split_once('/').map_or((what, None), |(server, tool)| (server, Some(tool)));
    if server != "desk" {
        return Ok(None);
    }
    let server = demonstration::server(Subject::Desk, &Toolsets::default(), None)?;
    let entries = server.list(&toolcrib::Filter::default());
    let tools: Vec<Definition> = entries.iter().map(|entry| entry.contract().definition().clone()).collect();
    let Some(wanted) = tool else { return Ok(Some((tools, None))) };
    match tools.iter().find(|own| own.name() == wanted).cloned() {
        Some(found) => Ok(Some((tools, Some(found)))),
        None => Err(Failure::new(Exit::Usage, anyhow!("desk has no tool {wanted:?}"))
            .hint(suggestion::hint(wanted, tools.iter().map(Definition::name)))),
    }
}

fn json_of(definition: &Definition) -> serde_json::Value {
    let digest = Digests::of(definition).ok().map(|digests| digests.definition.to_string());
    json!({"name": definition.name(), "signature": signature(definition), "effect": badge(definition.annotations().effect()),
        "digest": digest, "definition": definition.root().to_value()})
}

fn whole(definition: &Definition) -> String {
    let mut out = format!("{}\n", signature(definition));
    if let Some(description) = definition.description() {
        let _ = writeln!(out, "\n{}", escaped(&description));
    }
    let effect = definition.annotations().effect();
    let _ = writeln!(out, "\neffect  {}", badge(effect));
    let _ = writeln!(out, "        {}", if effect.idempotent { "idempotent" } else { "not idempotent" });
    let _ = writeln!(out, "        {}", if effect.open_world { "open world" } else { "closed world" });
    match Digests::of(definition) {
        Ok(digests) => {
            let _ = writeln!(out, "digest  {}", digests.definition);
        }
        Err(error) => {
            let _ = writeln!(out, "digest  none: {error}");
        }
    }
    for (name, schema) in [("input", definition.input_schema()), ("output", definition.output_schema())] {
        if let Some(schema) = schema {
            let _ = write!(out, "\n{name}\n{}", escaped(&toolcrib_registry::pretty(schema)));
        }
    }
    out
}

/// Returns one word for a tool's effect. An unannotated tool is never shown as safe (R1.3).
pub(crate) fn badge(effect: Effect) -> &'static str {
    match effect {
        Effect { read_only: true, .. } => "read-only",
        Effect { destructive: true, .. } => "destructive",
        _ => "writes",
    }
}
