//! `toolcrib registry compact|expand`: fits an entry into a size budget, and restores it (R6.5).

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use toolcrib_contract::json::{Document, Limits, Node};
use toolcrib_registry::budget::Target;
use toolcrib_registry::compact::{Step, compacted, expanded};
use toolcrib_registry::pretty;
use toolcrib_store::StoreError;

use crate::Outcome;
use crate::catalogue::{Place, unreachable};
use crate::convert::read;
use crate::exit::{Exit, Failure, print};
use crate::written;

#[derive(Debug, clap::Args)]
pub(crate) struct CompactArgs {
    /// A server.json.
    input: PathBuf,
    /// Whose budget: official, toolhive, or a file with {"name":…,"bytes_max":…}.
    #[arg(long, default_value = "official")]
    target: String,
    /// Where the whole entry can be had: the address of a registry that serves it.
    #[arg(long, default_value = "http://127.0.0.1:7421")]
    registry: String,
    /// Where to write; standard output unless given.
    #[arg(short, long)]
    output: Option<PathBuf>,
}

/// Returns a target by name, or reads it from a file.
pub(crate) fn target(name: &str) -> Result<Target, Failure> {
    if let Ok(target) = name.parse() {
        return Ok(target);
    }
    let bytes = read(&PathBuf::from(name))?;
    let usage = |error: anyhow::Error| Failure::new(Exit::Usage, error);
    let document =
        Document::parse(&bytes, &Limits::file()).with_context(|| name.to_owned()).map_err(usage)?;
    Target::read(document.root()).with_context(|| name.to_owned()).map_err(usage)
}

pub(crate) fn compact(args: &CompactArgs) -> Outcome {
    let target = target(&args.target)?;
    let bytes = read(&args.input)?;
    let usage = |error: anyhow::Error| Failure::new(Exit::Usage, error);
    let document = Document::parse(&bytes, &Limits::file())
        .with_context(|| args.input.display().to_string())
        .map_err(usage)?;
    let root = document.root();
    let text = |key: &str| {
        root.get(key).and_then(Node::as_str).unwrap_or_default().replace('/', "%2F").replace('+', "%2B")
    };
    let whole = format!(
        "{}/v0.1/servers/{}/versions/{}",
        args.registry.trim_end_matches('/'),
        text("name"),
        text("version")
    );
    let made = compacted(root, &target, &whole)
        .with_context(|| args.input.display().to_string())
        .map_err(|error| Failure::new(Exit::Findings, error))?;
    if made.step == Step::Whole {
        eprintln!("{} bytes of {}: nothing is left out", made.bytes.0, target.bytes_max);
    } else {
        eprintln!(
            "{} bytes, now {} of {}: left out {}",
            made.bytes.0,
            made.bytes.1,
            target.bytes_max,
            made.step.left_out().join(", ")
        );
    }
    emit(&made.text, args.output.as_ref())
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExpandArgs {
    /// A compact server.json.
    input: PathBuf,
    /// Where to write; standard output unless given.
    #[arg(short, long)]
    output: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn expand(args: &ExpandArgs) -> Outcome {
    let bytes = read(&args.input)?;
    let usage = |error: anyhow::Error| Failure::new(Exit::Usage, error);
    let document = Document::parse(&bytes, &Limits::file())
        .with_context(|| args.input.display().to_string())
        .map_err(usage)?;
    let root = document.root();
    let text = |key: &str| root.get(key).and_then(Node::as_str).unwrap_or_default().into_owned();
    let (name, version) = (text("name"), text("version"));
    let store = args.place.open()?;
    let wanted = (name.clone(), version.clone());
    let row = store
        .read::<_, StoreError, _>(move |db| db.server(&wanted.0, &wanted.1, true))
        .wait_blocking()
        .map_err(unreachable)?;
    let row =
        row.ok_or_else(|| Failure::new(Exit::Unreachable, anyhow!("the catalogue has no {name} {version}")))?;
    let whole = Document::parse(row.document.as_bytes(), &Limits::file())
        .map_err(|error| Failure::new(Exit::Internal, error))?;
    let text = expanded(root, whole.root())
        .with_context(|| args.input.display().to_string())
        .map_err(|error| Failure::new(Exit::Findings, error))?;
    emit(&text, args.output.as_ref())
}

fn emit(text: &str, output: Option<&PathBuf>) -> Outcome {
    let document = Document::parse(text.as_bytes(), &Limits::file())
        .map_err(|error| Failure::new(Exit::Internal, error))?;
    let text = pretty(document.root());
    match output {
        Some(path) => written::replace(path, &text)?,
        None => print(&text)?,
    }
    Ok(Exit::Nothing)
}
