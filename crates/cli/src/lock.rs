//! `toolcrib lock`: pins what servers offer, and approves single tools by the digest that was reviewed (R7.7).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use anyhow::{Context as _, anyhow};
use serde_json::json;
use toolcrib_change::{Lock, LockedTool};
use toolcrib_contract::{Definition, Digest};

use crate::Outcome;
use crate::convert::read;
use crate::exit::{Exit, Failure};
use crate::form::Form;
use crate::judge::unusable;
use crate::origin::{Origin, Origins};
use crate::terminal::counted;

/// Default name of the lock file.
pub(crate) const LOCK: &str = "toolcrib.lock";

/// Names of pins that a message lists.
const LISTED_MAX: usize = 20;

#[derive(Debug, clap::Args)]
#[command(after_help = crate::origin::HELP)]
pub(crate) struct Args {
    /// Servers to pin, each as SERVER or NAME=SERVER; without any, every configured server.
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    /// The lock.
    #[arg(short, long, value_name = "FILE", default_value = LOCK)]
    output: PathBuf,
    /// Pin this one tool of a lock that exists, if it is still what was reviewed; TOOL@removed lets go of one that is
    /// gone. With several servers TOOL is SERVER/TOOL.
    #[arg(long, value_name = "TOOL@DIGEST")]
    approve: Vec<String>,
    /// Let go of pins of tools that are no longer offered and, where no server is named, of servers that are no longer
    /// configured. Without it a pin is never lost.
    #[arg(long, conflicts_with = "approve")]
    prune: bool,
    /// Pin tools with an unusable schema too, as they are; `check` then wants a waiver for each.
    #[arg(long)]
    pin_unusable: bool,
    #[command(flatten)]
    origins: Origins,
    #[command(flatten)]
    form: Form,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let words = if args.servers.is_empty() { args.origins.names()? } else { args.servers.clone() };
    if words.is_empty() {
        let error = anyhow!("nothing to lock: no server is named, and there is no toolcrib.toml here");
        return Err(Failure::new(Exit::Usage, error).hint("toolcrib lock FILE|URL|NAME…"));
    }
    let origins = args.origins.read_all(&words)?;
    twice(&origins)?;
    if !args.pin_unusable {
        refuse_unusable(&words, &origins, &args.approve)?;
    }
    let Pinned { lock, lost } = if args.approve.is_empty() {
        pinned(args, origins)?
    } else {
        let mut lock = load(&args.output)?;
        for approval in &args.approve {
            approve(&mut lock, &origins, approval)?;
        }
        Pinned { lock, lost: Vec::new() }
    };
    save(&args.output, &lock)?;
    let tools = lock.tools().len();
    let servers: BTreeSet<&str> = lock.tools().iter().map(|tool| tool.server.as_str()).collect();
    let outcome = if args.approve.is_empty() { "pinned" } else { "approved" };
    let json = json!({"outcome": outcome, "file": args.output, "servers": servers, "tools": tools,
        "approved": args.approve, "lost": lost});
    let gone = match lost.as_slice() {
        [] => String::new(),
        lost => format!(", {} let go of: {}", counted(lost.len(), "pin"), listed(lost)),
    };
    args.form.say(&format!("{}: {} pinned{gone}", args.output.display(), counted(tools, "tool")), &json)?;
    Ok(Exit::Nothing)
}

/// A lock to be written, and the pins of the lock before that it does not have, as SERVER/TOOL.
struct Pinned {
    lock: Lock,
    lost: Vec<String>,
}

/// Pins what the read servers offer. Pins of other servers stay; a pin is lost only with `--prune`.
fn pinned(args: &Args, origins: Vec<Origin>) -> Result<Pinned, Failure> {
    let mut lock = Lock::default();
    let read: BTreeSet<String> = origins.iter().map(|origin| origin.server.clone()).collect();
    for origin in origins {
        lock.extend(&origin.server, origin.definitions);
    }
    if !args.output.exists() {
        return Ok(Pinned { lock, lost: Vec::new() });
    }
    let offered: BTreeSet<(String, String)> = lock.tools().iter().map(named).collect();
    let (mut lost, mut kept) = (Vec::new(), BTreeMap::<&str, Vec<Definition>>::new());
    let before = load(&args.output)?;
    for tool in before.tools() {
        let is_read = read.contains(&tool.server);
        if is_read && !offered.contains(&named(tool)) || !is_read && args.prune && args.servers.is_empty() {
            lost.push(format!("{}/{}", tool.server, tool.definition.name()));
        } else if !is_read {
            kept.entry(&tool.server).or_default().push(tool.definition.clone());
        }
    }
    for (server, definitions) in kept {
        lock.extend(server, definitions);
    }
    if lost.is_empty() || args.prune {
        return Ok(Pinned { lock, lost });
    }
    let error =
        anyhow!("{} would be lost, and nothing was changed: {}", counted(lost.len(), "pin"), listed(&lost));
    Err(Failure::new(Exit::Findings, error).hint("--prune lets go of them"))
}

fn named(tool: &LockedTool) -> (String, String) {
    (tool.server.clone(), tool.definition.name().to_owned())
}

/// Joins names, at most [`LISTED_MAX`] of them.
fn listed(names: &[String]) -> String {
    let shown = names.get(..LISTED_MAX).unwrap_or(names).join(", ");
    match names.len().saturating_sub(LISTED_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Fails if a schema is unusable; with approvals, only the approved tools are checked.
fn refuse_unusable(words: &[String], origins: &[Origin], approvals: &[String]) -> Result<(), Failure> {
    let names = approvals.iter().filter_map(|approval| approval.rsplit_once('@'));
    let names: Vec<&str> =
        names.map(|(tool, _)| tool.rsplit_once('/').map_or(tool, |(_, tool)| tool)).collect();
    let mut lines = Vec::new();
    for (word, origin) in words.iter().zip(origins) {
        let found = toolcrib_change::unusable(&origin.definitions).into_iter();
        let found = found.filter(|one| approvals.is_empty() || names.contains(&one.tool.as_str()));
        lines.extend(found.map(|one| format!("{word}: {one}")));
    }
    match unusable(lines) {
        None => Ok(()),
        Some(failure) => Err(failure.hint("nothing was pinned; --pin-unusable pins it as it is")),
    }
}

/// Fails if two servers have the same name, because a lock identifies servers by name.
pub(crate) fn twice(origins: &[Origin]) -> Result<(), Failure> {
    let mut names: Vec<&str> = origins.iter().map(|origin| origin.server.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| matches!(pair, [a, b] if a == b)) {
        Some(pair) => {
            let error = anyhow!("two servers are called {:?}", pair.first().copied().unwrap_or_default());
            Err(Failure::new(Exit::Usage, error).hint("tell them apart as NAME=SERVER"))
        }
        None => Ok(()),
    }
}

/// Reads a lock and verifies every digest in it.
pub(crate) fn load(path: &Path) -> Result<Lock, Failure> {
    let bytes = read(path).map_err(|failure| failure.hint("`toolcrib lock SERVER…` makes one"))?;
    let text = String::from_utf8(bytes)
        .with_context(|| path.display().to_string())
        .map_err(|error| Failure::new(Exit::Usage, error))?;
    Lock::parse(&text)
        .with_context(|| path.display().to_string())
        .map_err(|error| Failure::new(Exit::Usage, error))
}

fn approve(lock: &mut Lock, origins: &[Origin], approval: &str) -> Result<(), Failure> {
    let usage = |error: anyhow::Error| Failure::new(Exit::Usage, error);
    let (tool, digest) =
        approval.rsplit_once('@').ok_or_else(|| usage(anyhow!("{approval:?} is not TOOL@DIGEST")))?;
    let (origin, tool) = match (origins, tool.rsplit_once('/')) {
        ([origin], None) => (origin, tool),
        (_, Some((server, tool))) => {
            let origin = origins.iter().find(|origin| origin.server == server);
            (origin.ok_or_else(|| usage(anyhow!("no server {server:?} was read")))?, tool)
        }
        _ => return Err(usage(anyhow!("{tool:?} may be of several servers")).hint("say SERVER/TOOL@DIGEST")),
    };
    let outcome = if digest == "removed" {
        lock.approve_removal(&origin.server, &origin.definitions, tool)
    } else {
        let digest = Digest::from_str(digest).map_err(|error| usage(anyhow!("{approval:?}: {error}")))?;
        lock.approve(&origin.server, &origin.definitions, tool, digest)
    };
    outcome.map_err(|error| {
        Failure::new(Exit::Findings, error).hint("`toolcrib check` shows what it is now; nothing was changed")
    })
}

/// Writes the lock to a temporary file, then renames it: a full disk or a kill leaves the old lock.
fn save(path: &Path, lock: &Lock) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = std::fs::write(&beside, lock.to_text())
        .and_then(|()| std::fs::File::open(&beside)?.sync_all())
        .and_then(|()| std::fs::rename(&beside, path));
    written.with_context(|| path.display().to_string()).map_err(|error| {
        // Removes the incomplete temporary file.
        let _ = std::fs::remove_file(&beside);
        Failure::new(Exit::Unreachable, error)
    })
}
