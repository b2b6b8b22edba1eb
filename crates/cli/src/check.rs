//! `toolcrib check`: compares what servers offer now with the lock or a registry file (R7.1).

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::anyhow;
use toolcrib_change::{Places, Report, pinned_digest};
use toolcrib_contract::Definition;
use toolcrib_contract::text::one_line;

use crate::Outcome;
use crate::exit::{Exit, Failure, print};
use crate::judge::{Judge, Judged, Side};
use crate::lock::{LOCK, load, twice};
use crate::origin::{Origin, Origins, bare, place};

#[derive(Debug, clap::Args)]
#[command(after_help = crate::origin::HELP)]
pub(crate) struct Args {
    /// Servers to check, each as SERVER or NAME=SERVER; without any, every server of the lock, by its name in the
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
    let mut whole = Judged::default();
    let mut approvals = String::new();
    let shown_word = shown.display().to_string();
    for Pair { server, word, old, new } in &pinned {
        let old = Side { word: &shown_word, definitions: old };
        let judged =
            args.judge.compare(old, Side { word: word.as_deref().unwrap_or(server), definitions: new });
        for tool in changed(&judged.report) {
            let digest = new.iter().find(|own| own.name() == tool).map(|own| pinned_digest(own).to_string());
            let digest = digest.as_deref().unwrap_or("removed");
            approvals.push_str(&args.approval(server, word.as_deref(), many, &format!("{tool}@{digest}")));
        }
        whole.join(judged, many.then_some(server));
    }
    let mut places = vec![place(&shown_word)];
    // A new tool is located in the file that it was read from.
    places.extend(args.servers.iter().map(|word| place(word)));
    let exit = args.judge.conclude(whole, &Places::new(places))?;
    if args.judge.is_for_people() && !approvals.is_empty() && args.registry.is_none() {
        print(&format!("\nto pin what is offered now, once reviewed:\n{approvals}"))?;
    }
    Ok(exit)
}

impl Args {
    /// Returns the command line that pins one tool as it is now.
    fn approval(&self, server: &str, word: Option<&str>, many: bool, tool: &str) -> String {
        let mut line = String::from("  toolcrib lock");
        let mut say = |word: &str| line.push_str(&format!(" {}", for_shell(word)));
        if self.lock.as_os_str() != LOCK {
            say("-o");
            say(&self.lock.display().to_string());
        }
        if let Some(config) = self.origins.config() {
            say("--config");
            say(&config.display().to_string());
        }
        let tool = match word {
            Some(word) => {
                // A name with these characters cannot be given as NAME=SERVER; it is the server's own name.
                let is_own = server.contains(['/', ':', '.', '#', '?']);
                say(&if is_own { word.to_owned() } else { format!("{server}={word}") });
                tool.to_owned()
            }
            None if many => format!("{server}/{tool}"),
            None => tool.to_owned(),
        };
        line.push_str(&format!(" --approve '{}'", tool.replace('\'', r"'\''")));
        format!("{}\n", one_line(&line))
    }
}

/// Quotes a word for a POSIX shell.
fn for_shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=#@,+%".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Returns the tools with findings, each once; a renamed tool under both names.
fn changed(report: &Report) -> BTreeSet<&str> {
    let renamed = report.changes.iter().filter(|change| change.id == "tool.renamed");
    let now = renamed.filter_map(|change| change.new.as_ref()?.as_str());
    report.changes.iter().map(|change| change.tool.as_str()).chain(now).collect()
}

/// A server's definitions before and now.
struct Pair {
    server: String,
    /// The server as it was named on the command line; `None` if the lock names it and the configuration finds it.
    word: Option<String>,
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
        // One server on each side is the same server, whatever its file or address is called.
        one.server = (*only).to_owned();
    }
    let asked = args.servers.iter().map(|word| Some(bare(word).to_owned())).chain(std::iter::repeat(None));
    live.into_iter()
        .zip(asked)
        .map(|(Origin { server, definitions: new }, word)| {
            if !pinned.contains(server.as_str()) {
                let error = anyhow!("{}: the lock has no server {server:?}", args.lock.display());
                return Err(Failure::new(Exit::Usage, error)
                    .hint("say which one of the lock it is, as NAME=SERVER, or lock it"));
            }
            Ok(Pair { old: lock.definitions(&server), new, server, word })
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
        Ok(Pair { server, word: Some(bare(word).to_owned()), old, new })
    };
    args.servers.iter().map(pair).collect()
}
