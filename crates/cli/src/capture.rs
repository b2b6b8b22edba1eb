//! `toolcrib capture WHAT [-- COMMAND…]`: asks a running server for its tools and fills them into its entry.

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
use toolcrib_upstream::{Spec, snapshot};

use crate::Outcome;
use crate::catalogue::{Place, find, import_failure};
use crate::convert::read;
use crate::exit::{Exit, Failure};
use crate::form::Form;
use crate::progress::Progress;
use crate::written;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A server.json, or a server of the catalogue.
    what: String,
    /// Ask the server at this URL instead of the one that the entry names.
    #[arg(long, conflicts_with = "command")]
    url: Option<String>,
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

/// The entry that is filled.
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
    args.form.say(&format!("{shown}{tools} tools, {bytes} bytes of extension{not}\n"), &json)?;
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

/// One definition that is none fails the whole: an entry that lacks it would lie.
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

/// How the server is reached: as told, else by its first remote, else by its package's runner.
fn spec(args: &Args, server: Node<'_>, name: &str) -> Result<Spec, Failure> {
    if let Some(url) = &args.url {
        return Ok(Spec::url(name, url));
    }
    if let Some(spec) = Spec::command(name, &args.command) {
        return Ok(spec);
    }
    let text =
        |node: Node<'_>, key: &str| node.get(key).and_then(Node::as_str).map(std::borrow::Cow::into_owned);
    let remotes = server.get("remotes").into_iter().flat_map(Node::elements);
    let mut http =
        remotes.filter(|remote| remote.get("type").is_some_and(|kind| kind.is_text("streamable-http")));
    if let Some(url) = http.find_map(|remote| text(remote, "url")) {
        return Ok(Spec::url(name, &url));
    }
    for package in server.get("packages").into_iter().flat_map(Node::elements) {
        let (Some(kind), Some(identifier)) = (text(package, "registryType"), text(package, "identifier"))
        else {
            continue;
        };
        let exact = |sign: &str| {
            text(package, "version")
                .map_or_else(|| identifier.clone(), |version| format!("{identifier}{sign}{version}"))
        };
        let words: Vec<String> = match kind.as_str() {
            "npm" => vec!["npx".into(), "--yes".into(), exact("@")],
            "pypi" => vec!["uvx".into(), exact("==")],
            "oci" => vec!["docker".into(), "run".into(), "--rm".into(), "-i".into(), identifier.clone()],
            _ => continue,
        };
        let runner = words.first().map(String::as_str).unwrap_or_default();
        if is_on_path(runner)
            && let Some(spec) = Spec::command(name, &words)
        {
            return Ok(spec);
        }
    }
    let error = anyhow!(
        "{name}: no remote over Streamable HTTP, and no package whose runner (npx, uvx, docker) is here"
    );
    Err(Failure::new(Exit::Unreachable, error).hint("say how: --url URL, or -- COMMAND…"))
}

fn is_on_path(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}
