//! `toolcrib capture WHAT [-- COMMAND…]`: asks a running server for its tools and writes them into its entry (R6.6).

mod launch;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use serde_json::json;
use toolcrib_change::{Options as ChangeOptions, diff, render};
use toolcrib_contract::Definition;
use toolcrib_contract::json::{Document, Limits, Node};
use toolcrib_registry::budget::extension_bytes;
use toolcrib_registry::capture::captured;
use toolcrib_registry::import::{Options, import};
use toolcrib_registry::{Listed, Report, pretty};
use toolcrib_store::catalogue::Catalogue;
use toolcrib_upstream::spec::Transport;
use toolcrib_upstream::{Spec, snapshot};

use crate::Outcome;
use crate::catalogue::{Place, find, import_failure};
use crate::convert::read;
use crate::exit::{Exit, Failure};
use crate::form::Form;
use crate::progress::Progress;
use crate::terminal::counted;
use crate::written;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A server.json, or a server of the catalogue.
    what: String,
    /// Ask the server at this URL instead of the one that the entry names.
    #[arg(long, conflicts_with = "command")]
    url: Option<String>,
    /// A header for the URL, as "Name: value"; ${VARIABLE} in it is read from the environment.
    #[arg(long, value_name = "HEADER", conflicts_with = "command")]
    header: Vec<String>,
    /// How long it may take altogether, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    patience: u64,
    /// Say what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Leave no copy of a file with the ending .bak beside it.
    #[arg(long)]
    no_backup: bool,
    #[command(flatten)]
    form: Form,
    #[command(flatten)]
    place: Place,
    /// Start this command instead of what the entry names.
    #[arg(last = true)]
    command: Vec<String>,
}

/// The entry to fill: a file, or a server of the catalogue.
enum Entry {
    File(PathBuf),
    Stored(Catalogue),
}

pub(crate) fn run(args: &Args) -> Outcome {
    let path = Path::new(&args.what);
    let (entry, text) = if path.is_file() || args.what.ends_with(".json") {
        let bytes = read(path)?;
        let text = String::from_utf8(bytes)
            .with_context(|| args.what.clone())
            .map_err(|error| Failure::new(Exit::Usage, error))?;
        (Entry::File(path.to_owned()), text)
    } else {
        let store = args.place.open()?;
        let found = find(&store, &args.what)?;
        (Entry::Stored(store), found.server.document)
    };
    let document = Document::parse(text.as_bytes(), &Limits::file())
        .with_context(|| args.what.clone())
        .map_err(|error| Failure::new(Exit::Usage, error))?;
    let server = document.root();
    let before = Listed::read(server, &mut Report::default())
        .with_context(|| args.what.clone())
        .map_err(|error| Failure::new(Exit::Usage, error))?;
    let spec = spec(args, server, &before.name)?;
    let progress = Progress::new(&format!("asking {}", before.name), 0);
    let offered = ask(&spec, Duration::from_secs(args.patience))?;
    drop(progress);
    let filled = captured(server, &offered)
        .with_context(|| before.name.clone())
        .map_err(|error| Failure::new(Exit::Findings, error))?;
    let report = diff(&before.tools, &offered, &ChangeOptions::default());
    let after = Document::parse(filled.as_bytes(), &Limits::file())
        .map_err(|error| Failure::new(Exit::Internal, error))?;
    let (tools, bytes) = (offered.len(), extension_bytes(after.root()));
    let outcome = match filled != server.to_compact() {
        false => "unchanged",
        true if args.dry_run => "not written",
        true => "written",
    };
    if outcome == "written" {
        keep(entry, args, &filled, after.root())?;
    }
    let shown = render::terminal(&report, false);
    let not = if args.dry_run { "; nothing was written" } else { "" };
    let json = json!({"outcome": outcome, "server": before.name, "tools": tools, "extension_bytes": bytes,
        "report": report.to_json()});
    args.form.say(&format!("{shown}{}, {bytes} bytes of extension{not}\n", counted(tools, "tool")), &json)?;
    Ok(Exit::Nothing)
}

fn keep(entry: Entry, args: &Args, filled: &str, root: Node<'_>) -> Result<(), Failure> {
    match entry {
        Entry::File(path) => {
            if !args.no_backup {
                written::back_up(&path)?;
            }
            written::replace(&path, &pretty(root))
        }
        Entry::Stored(store) => {
            let mut options = Options::default();
            options.replace = true;
            import(&store, filled.as_bytes().to_vec(), &options)
                .map(|_| ())
                .map_err(|error| import_failure(Path::new(&args.what), error))
        }
    }
}

/// Asks the server for its tools. A single unreadable definition fails the whole capture, because an entry without it
/// would be incomplete.
fn ask(spec: &Spec, patience: Duration) -> Result<Vec<Definition>, Failure> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| Failure::new(Exit::Internal, error))?;
    let unreachable = |error: anyhow::Error| Failure::new(Exit::Unreachable, error);
    let seen =
        runtime.block_on(snapshot(spec, patience)).with_context(|| spec.name.clone()).map_err(unreachable)?;
    seen.tools
        .into_iter()
        .map(|listed| {
            listed
                .definition
                .with_context(|| format!("{}: tool {:?} is no definition", spec.name, listed.name))
        })
        .collect::<Result<_, _>>()
        .map_err(unreachable)
}

/// Returns how to reach the server: from the options, else from its entry.
fn spec(args: &Args, server: Node<'_>, name: &str) -> Result<Spec, Failure> {
    if let Some(spec) = Spec::command(name, &args.command) {
        return Ok(spec);
    }
    let mut spec = match &args.url {
        Some(url) => Spec::url(name, url),
        None => launch::spec(server, name)?,
    };
    let given = headers(&args.header)?;
    match &mut spec.transport {
        Transport::Http(endpoint) => endpoint.headers.extend(given),
        Transport::Stdio(_) if !given.is_empty() => {
            return Err(Failure::new(Exit::Usage, anyhow!("a command takes no headers")));
        }
        Transport::Stdio(_) => {}
    }
    Ok(spec)
}

/// Parses headers `Name: value`. `${VARIABLE}` in a value is read from the environment, so that no secret has to stand
/// on the command line.
pub(crate) fn headers(given: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let usage = |error: anyhow::Error| Failure::new(Exit::Usage, error);
    let one = |text: &String| {
        let (name, value) =
            text.split_once(':').ok_or_else(|| usage(anyhow!("{text:?} is no header, \"Name: value\"")))?;
        let value = launch::expanded(value.trim(), "${", |name| std::env::var(name).ok());
        match value {
            Ok(value) => Ok((name.trim().to_owned(), value)),
            Err(missing) => Err(usage(anyhow!("the variable {missing} is not set"))),
        }
    };
    given.iter().map(one).collect()
}
