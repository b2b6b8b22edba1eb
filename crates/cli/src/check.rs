//! `toolcrib check`: what servers offer now, against what the lock or a registry file says.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::anyhow;
use toolcrib_change::{Places, Report, pinned_digest};
use toolcrib_contract::Definition;

use crate::Outcome;
use crate::exit::{Exit, Failure, print};
use crate::judge::Judge;
use crate::lock::{LOCK, load, twice};
use crate::origin::{Origin, Origins, place};

#[derive(Debug, clap::Args)]
#[command(after_help = crate::origin::HELP)]
pub(crate) struct Args {
    /// What to check, each perhaps as NAME=SERVER; every server of the lock where none is named, by its name in the
    /// configuration.
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    /// The lock.
    #[arg(long, value_name = "FILE", default_value = LOCK)]
    lock: PathBuf,
    /// Check against the servers of this registry file instead.
    #[arg(long, value_name = "FILE", conflicts_with = "lock")]
    registry: Option<PathBuf>,
    #[command(flatten)]
    origins: Origins,
    #[command(flatten)]
    judge: Judge,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let (pinned, shown) = match &args.registry {
        Some(file) => (pinned_by_registry(args, file)?, file),
        None => (pinned_by_lock(args)?, &args.lock),
    };
    let many = pinned.len() > 1;
    let mut whole = Report::default();
    let mut approvals = String::new();
    for Pair { server, old, new } in &pinned {
        let report = args.judge.compare(old, new);
        for tool in changed(&report) {
            let digest = new.iter().find(|own| own.name() == tool).map(|own| pinned_digest(own).to_string());
            let prefix = if many { format!("{server}/") } else { String::new() };
            let digest = digest.as_deref().unwrap_or("removed");
            approvals.push_str(&format!("  toolcrib lock --approve '{prefix}{tool}@{digest}'\n"));
        }
        whole.join(report, many.then_some(server));
    }
    let mut places = vec![place(&shown.display().to_string())];
    // A tool that is new stands in what was read, where that is a file.
    places.extend(args.servers.iter().map(|word| place(word)));
    let exit = args.judge.conclude(whole, &Places::new(places))?;
    if args.judge.is_for_people() && !approvals.is_empty() && args.registry.is_none() {
        print(&format!("\nto pin what is offered now, once reviewed, of the same servers:\n{approvals}"))?;
    }
    Ok(exit)
}

/// Tools with a finding, each once, under the name they have now where they are still offered.
fn changed(report: &Report) -> BTreeSet<&str> {
    report.changes.iter().map(|change| change.tool.as_str()).collect()
}

/// A server before and now.
struct Pair {
    server: String,
    old: Vec<Definition>,
    new: Vec<Definition>,
}

fn pinned_by_lock(args: &Args) -> Result<Vec<Pair>, Failure> {
    let lock = load(&args.lock)?;
    let pinned: BTreeSet<&str> = lock.tools().iter().map(|tool| tool.server.as_str()).collect();
    let words: Vec<String> = match args.servers.as_slice() {
        [] => pinned.iter().map(|name| (*name).to_owned()).collect(),
        words => words.to_vec(),
    };
    let mut live = args.origins.read_all(&words)?;
    twice(&live)?;
    if let (1, Some(only), [one]) = (pinned.len(), pinned.first(), live.as_mut_slice())
        && !args.servers.iter().any(|word| word.contains('='))
    {
        // One server on either side is the same server, whatever its file or address is called.
        one.server = (*only).to_owned();
    }
    live.into_iter()
        .map(|Origin { server, definitions: new }| {
            if !pinned.contains(server.as_str()) {
                let error = anyhow!("{}: the lock has no server {server:?}", args.lock.display());
                return Err(Failure::new(Exit::Usage, error)
                    .hint("say which one of the lock it is, as NAME=SERVER, or lock it"));
            }
            Ok(Pair { old: lock.definitions(&server), new, server })
        })
        .collect()
}

fn pinned_by_registry(args: &Args, file: &std::path::Path) -> Result<Vec<Pair>, Failure> {
    if args.servers.is_empty() {
        let error = anyhow!("no server to check is named");
        return Err(Failure::new(Exit::Usage, error).hint("toolcrib check --registry FILE NAME=SERVER…"));
    }
    let pair = |word: &String| {
        let Origin { server, definitions: new } = args.origins.read(word)?;
        let old = args.origins.read(&format!("{}#{server}", file.display()))?.definitions;
        Ok(Pair { server, old, new })
    };
    args.servers.iter().map(pair).collect()
}
