//! `toolcrib add` and `toolcrib remove`: edit the servers in `toolcrib.toml`, with the options of `claude mcp add`.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Parser as _;
use serde_json::{Map, Value, json};
use toolcrib_gateway::config::Environment;
use toolcrib_gateway::{Config, Prefixing};

use crate::Outcome;
use crate::edit;
use crate::exit::{Exit, Failure};
use crate::form::Form;
use crate::words;

/// Configuration file that is written if `--config` is not given.
pub(crate) const CONFIG: &str = "toolcrib.toml";
pub(crate) const SECTION: &str = "servers";
pub(crate) const HEAD: &str =
    "# Servers behind toolcrib: `toolcrib serve --config toolcrib.toml` serves them at one endpoint.\n\n";

#[derive(Debug, clap::Args)]
#[command(after_help = "toolcrib add files -- npx -y @modelcontextprotocol/server-filesystem .\n\
                        toolcrib add issues --transport http https://example.org/mcp -H 'Authorization: Bearer ${TOKEN}'")]
pub(crate) struct Args {
    /// The server's name.
    name: String,
    /// The URL, or the command with its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND | URL")]
    target: Vec<String>,
    #[command(flatten)]
    options: Options,
}

/// Options, accepted before the name, after it, and after a URL.
#[derive(Debug, Default, clap::Args)]
struct Options {
    /// How it is reached [default: http for a URL, stdio for a command].
    #[arg(long, short, value_enum)]
    transport: Option<Transport>,
    /// A variable for the command, as NAME=VALUE; `${NAME}` is filled in at the start.
    #[arg(long, short, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// A header for the URL, as "Name: value".
    #[arg(long, short = 'H', value_name = "HEADER")]
    header: Vec<String>,
    /// Replace a server of this name.
    #[arg(long)]
    force: bool,
    /// The file [default: toolcrib.toml].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    form: Form,
}

/// The words behind a URL: it takes no arguments, so these are options.
#[derive(Debug, clap::Parser)]
#[command(name = "toolcrib add NAME URL", no_binary_name = true, disable_help_flag = true)]
struct Behind {
    #[command(flatten)]
    options: Options,
}

impl Options {
    fn join(&mut self, behind: Options) {
        self.transport = behind.transport.or(self.transport);
        self.env.extend(behind.env);
        self.header.extend(behind.header);
        self.force |= behind.force;
        self.config = behind.config.or(self.config.take());
        if behind.form.is_json() {
            self.form = behind.form;
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct RemoveArgs {
    /// The server's name.
    name: String,
    /// The file.
    #[arg(long, value_name = "FILE", default_value = CONFIG)]
    config: PathBuf,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Transport {
    Stdio,
    Http,
}

pub(crate) fn run(mut args: Args) -> Outcome {
    let is_behind_url = args.target.first().is_some_and(|first| is_url(first))
        && args.target.get(1).is_some_and(|word| word.starts_with('-'));
    if is_behind_url {
        let words = args.target.drain(1..);
        args.options.join(Behind::try_parse_from(words).map_err(|error| words::failure(&error))?.options);
    }
    let entry = entry(&args)?;
    let Args { name, options: Options { config, force, form, .. }, .. } = args;
    let path = config.unwrap_or_else(|| CONFIG.into());
    let before = edit::read(&path)?.unwrap_or_else(|| HEAD.to_owned());
    let known = edit::toml::names(&path, &before, SECTION)?;
    if known.contains(&name) && !force {
        let error = anyhow!("{} has a server {name:?} already", path.display());
        return Err(Failure::new(Exit::Usage, error).hint("replace it with --force, or choose another name"));
    }
    let after = edit::toml::set(&path, &before, SECTION, &name, &entry)?;
    judged(&path, &after)?;
    edit::write(&path, &after)?;
    let file = path.display();
    let (outcome, word) = if known.contains(&name) { ("replaced", "in") } else { ("added", "to") };
    let text = format!("{outcome} {name} {word} {file}\nserve it: toolcrib serve --config {file}\n");
    form.say(&text, &json!({"outcome": outcome, "server": name, "file": path, "entry": entry}))?;
    Ok(Exit::Nothing)
}

fn is_url(word: &str) -> bool {
    word.starts_with("http://") || word.starts_with("https://")
}

pub(crate) fn remove(args: &RemoveArgs) -> Outcome {
    let unreachable = || anyhow!("{}: no such file", args.config.display());
    let before = edit::read(&args.config)?.ok_or_else(|| Failure::new(Exit::Unreachable, unreachable()))?;
    let known = edit::toml::names(&args.config, &before, SECTION)?;
    if !known.contains(&args.name) {
        let error =
            anyhow!("{} has no server {:?} (known: {})", args.config.display(), args.name, known.join(", "));
        return Err(Failure::new(Exit::Usage, error));
    }
    edit::write(&args.config, &edit::toml::remove(&args.config, &before, SECTION, &args.name)?)?;
    let text = format!("removed {} from {}\n", args.name, args.config.display());
    args.form.say(&text, &json!({"outcome": "removed", "server": args.name, "file": args.config}))?;
    Ok(Exit::Nothing)
}

fn entry(args: &Args) -> Result<Value, Failure> {
    let usage = |text: String| Failure::new(Exit::Usage, anyhow!(text));
    let (first, rest) = args.target.split_first().ok_or_else(|| usage("no command and no URL".to_owned()))?;
    let (options, is_url) = (&args.options, is_url(first));
    let pairs = |words: &[String], sign: char, what: &str| -> Result<Map<String, Value>, Failure> {
        let pair = |word: &String| {
            let (name, value) =
                word.split_once(sign).ok_or_else(|| usage(format!("{word:?} is not {what}")))?;
            Ok((name.trim().to_owned(), Value::from(if sign == ':' { value.trim() } else { value })))
        };
        words.iter().map(pair).collect()
    };
    match options.transport.unwrap_or(if is_url { Transport::Http } else { Transport::Stdio }) {
        Transport::Http if !is_url => {
            Err(usage(format!("{first:?} is no URL; expected http:// or https://")))
        }
        Transport::Http if !rest.is_empty() || !options.env.is_empty() => {
            Err(usage("a URL takes neither arguments nor variables".to_owned()))
        }
        Transport::Http => {
            let mut entry = json!({"url": first});
            with(&mut entry, "headers", pairs(&options.header, ':', "a header, \"Name: value\"")?);
            Ok(entry)
        }
        Transport::Stdio if is_url => Err(usage(format!("{first:?} is a URL, not a command"))),
        Transport::Stdio if !options.header.is_empty() => Err(usage("a command takes no headers".to_owned())),
        Transport::Stdio => {
            let mut entry = json!({"command": first, "args": rest});
            with(&mut entry, "env", pairs(&options.env, '=', "a variable, NAME=VALUE")?);
            Ok(entry)
        }
    }
}

fn with(entry: &mut Value, name: &str, members: Map<String, Value>) {
    if let Some(object) = entry.as_object_mut().filter(|_| !members.is_empty()) {
        object.insert(name.to_owned(), Value::Object(members));
    }
}

/// Environment in which every variable is set: the values only matter when the servers start.
struct Anything;

impl Environment for Anything {
    fn variable(&self, _: &str) -> Option<String> {
        Some("x".to_owned())
    }
}

/// Refuses a file that `serve` would refuse, before it is written.
pub(crate) fn judged(path: &Path, text: &str) -> Result<(), Failure> {
    Config::read(path, text, Prefixing::Default, &Anything)
        .map(drop)
        .map_err(|error| Failure::new(Exit::Usage, error).hint("nothing was written"))
}
