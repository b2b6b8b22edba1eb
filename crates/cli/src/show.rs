//! `toolcrib show FILE [TOOL]`: what a tool takes, returns and may do.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::anyhow;
use toolcrib_contract::text::escaped;
use toolcrib_contract::{Definition, Digests, Effect, signature};

use crate::exit::{Exit, Failure, print};
use crate::{Outcome, source};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A file that holds definitions.
    file: PathBuf,
    /// Only this tool, with its description and digests.
    tool: Option<String>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let definitions = source::definitions(&args.file)?;
    let Some(wanted) = &args.tool else {
        let lines: String = definitions
            .iter()
            .map(|definition| {
                format!("{:<12} {}\n", badge(definition.annotations().effect()), signature(definition))
            })
            .collect();
        print(&lines)?;
        return Ok(Exit::Nothing);
    };
    let found = definitions.iter().find(|definition| definition.name() == wanted);
    let definition = found.ok_or_else(|| {
        let error = anyhow!("{} holds no tool {wanted:?}", args.file.display());
        Failure::new(Exit::Usage, error).hint("`toolcrib show FILE` lists its tools")
    })?;
    print(&whole(definition))?;
    Ok(Exit::Nothing)
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
    out
}

/// One word for what calling a tool may do; an unannotated tool is never shown as safe.
pub(crate) fn badge(effect: Effect) -> &'static str {
    match effect {
        Effect { read_only: true, .. } => "read-only",
        Effect { destructive: true, .. } => "destructive",
        _ => "writes",
    }
}
