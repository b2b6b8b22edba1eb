//! Reads definitions from the source that a word names: a file in any format, one server of a registry file, a running
//! server by its URL, or a server in the configuration.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use toolcrib_change::Place;
use toolcrib_contract::Definition;
use toolcrib_contract::json::{Document, Limits, Node};
use toolcrib_engine::Policy;
use toolcrib_gateway::config::{Pins, ProcessEnvironment};
use toolcrib_gateway::{Config, Prefixing, Source};
use toolcrib_registry::Format;
use toolcrib_registry::convert::{Options, convert};
use toolcrib_upstream::{Spec, snapshot};

use crate::convert::read;
use crate::data::Data;
use crate::exit::{Exit, Failure};
use crate::progress::Progress;
use crate::source;

pub(crate) const HELP: &str = "A side is a file ({\"tools\":[…]}, an array, one definition, a lock, a server.json, a registry file as \
                               FILE#SERVER), the URL of a running server, or the name of a server in toolcrib.toml.";

/// Default configuration file.
const CONFIG: &str = "toolcrib.toml";

/// How words are read.
#[derive(Debug, clap::Args)]
pub(crate) struct Origins {
    /// The file that names servers [default: toolcrib.toml].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How long a running server may take to be read, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    patience: u64,
}

/// Server to be called, with the pins and the policy that its configuration sets for calls.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) source: Source,
    pub(crate) pins: Option<Pins>,
    /// Section `[safety]`.
    pub(crate) safety: Option<Policy>,
}

/// Definitions, and the name of the server that they belong to.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) server: String,
    pub(crate) definitions: Vec<Definition>,
}

/// Splits `NAME=WORD`. A word that is an existing file is not split.
fn named(word: &str) -> Option<(&str, &str)> {
    let pair = word.split_once('=').filter(|_| !Path::new(word).exists());
    pair.filter(|(name, _)| !name.is_empty() && !name.contains(['/', ':', '.', '#', '?']))
}

/// Returns the word without its `NAME=`.
pub(crate) fn bare(word: &str) -> &str {
    named(word).map_or(word, |(_, word)| word)
}

/// Returns the location for findings about a word: lines, if it is a file.
pub(crate) fn place(word: &str) -> Place {
    let word = bare(word);
    let path = match word.rsplit_once('#') {
        Some((path, _)) if !Path::new(word).exists() => path,
        _ => word,
    };
    let text = read(Path::new(path)).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    match text {
        Some(text) => Place::read(path, text),
        None => Place::new(word),
    }
}

impl Origins {
    /// Reads the source that `word` names. `NAME=WORD` calls the server NAME.
    pub(crate) fn read(&self, word: &str) -> Result<Origin, Failure> {
        if let Some((name, word)) = named(word) {
            return Ok(Origin { server: name.to_owned(), ..self.read(word)? });
        }
        if word.starts_with("http://") || word.starts_with("https://") {
            return self.live(&with_tokens(Spec::url(word, word)), None);
        }
        if Path::new(word).exists() {
            return file(Path::new(word), None);
        }
        match word.rsplit_once('#') {
            Some((path, server)) if Path::new(path).exists() => file(Path::new(path), Some(server)),
            _ => self.configured(word),
        }
    }

    /// Reads several sources and shows progress.
    pub(crate) fn read_all(&self, words: &[String]) -> Result<Vec<Origin>, Failure> {
        let progress = Progress::new("reading servers", words.len());
        let read = |word: &String| {
            progress.at(word);
            let origin = self.read(word);
            progress.one_done();
            origin
        };
        words.iter().map(read).collect()
    }

    /// Returns the configuration file, if one was named.
    pub(crate) fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs(self.patience)
    }

    /// Returns the server to call, by its URL or its name in the configuration, configured as in `serve`.
    pub(crate) fn target(&self, word: &str, data: &Data) -> Result<Target, Failure> {
        let unknown = |known: &str| {
            let error = anyhow!("there is no server {word:?} (known: {known})");
            Failure::new(Exit::Usage, error).hint("name a file of servers with --config, or a URL")
        };
        let is_url = word.starts_with("http://") || word.starts_with("https://");
        let is_there = self.config.is_some() || Path::new(CONFIG).exists();
        if !is_there && !is_url {
            return Err(unknown("desk"));
        }
        let mut config = if is_there { self.read_config()? } else { Config::default() };
        if is_url {
            config.sources = vec![Source::new(Spec::url(word, word), false)];
        }
        config.keep_tokens_in(&data.tokens()?);
        let names: Vec<&str> = config.sources.iter().map(Source::name).collect();
        let place = names.iter().position(|name| *name == word);
        let place = place.ok_or_else(|| unknown(&format!("desk, {}", names.join(", "))))?;
        let source = config.sources.swap_remove(place);
        Ok(Target { source, pins: config.pins.filter(|_| !is_url), safety: config.safety })
    }

    /// Returns the names of the servers in the configuration, empty if there is no such file.
    pub(crate) fn names(&self) -> Result<Vec<String>, Failure> {
        if self.config.is_none() && !Path::new(CONFIG).exists() {
            return Ok(Vec::new());
        }
        Ok(self.load()?.sources.iter().map(|source| source.name().to_owned()).collect())
    }

    fn read_config(&self) -> Result<Config, Failure> {
        let path = self.config.as_deref().unwrap_or(Path::new(CONFIG));
        Config::load(path, Prefixing::Default, &ProcessEnvironment)
            .map_err(|error| Failure::new(Exit::Usage, error))
    }

    fn load(&self) -> Result<Config, Failure> {
        let mut config = self.read_config()?;
        if let Ok(tokens) = Data::default().tokens() {
            config.keep_tokens_in(&tokens);
        }
        Ok(config)
    }

    fn configured(&self, name: &str) -> Result<Origin, Failure> {
        let nowhere = |place: &str| {
            let error = anyhow!("{name:?} is no file, no URL, and no server {place}");
            Failure::new(Exit::Unreachable, error).hint("name a file of servers with --config")
        };
        if self.config.is_none() && !Path::new(CONFIG).exists() {
            return Err(nowhere("of a toolcrib.toml here"));
        }
        let config = self.load()?;
        let source = config.sources.iter().find(|source| source.name() == name);
        let source = source.ok_or_else(|| nowhere("of the configuration"))?;
        self.live(&source.spec, Some(name))
    }

    /// Asks a running server. A single unreadable definition fails the whole, because a comparison of a part would
    /// mislead.
    fn live(&self, spec: &Spec, name: Option<&str>) -> Result<Origin, Failure> {
        let unreachable = |error: anyhow::Error| Failure::new(Exit::Unreachable, error);
        let runtime = tokio::runtime::Runtime::new().map_err(|error| Failure::new(Exit::Internal, error))?;
        let seen = runtime
            .block_on(snapshot(spec, Duration::from_secs(self.patience)))
            .with_context(|| spec.name.clone())
            .map_err(unreachable)?;
        let definitions = seen
            .tools
            .into_iter()
            .map(|listed| {
                listed
                    .definition
                    .with_context(|| format!("{}: tool {:?} is no definition", spec.name, listed.name))
            })
            .collect::<Result<_, _>>()
            .map_err(unreachable)?;
        let server =
            name.map_or_else(|| own_name(seen.introduction.server_info(), &spec.name), str::to_owned);
        Ok(Origin { server, definitions })
    }
}

/// Adds the tokens that `toolcrib auth` stored for this server, if any.
fn with_tokens(mut spec: Spec) -> Spec {
    if let Ok(tokens) = Data::default().tokens() {
        spec.keep_tokens_in(&tokens);
    }
    spec
}

/// Returns the name that the server introduces itself by, else `otherwise`.
fn own_name(info: Option<&str>, otherwise: &str) -> String {
    let document = info.and_then(|info| Document::parse(info.as_bytes(), &Limits::message()).ok());
    let name = document.and_then(|info| info.root().get("name")?.as_str().map(std::borrow::Cow::into_owned));
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| otherwise.to_owned())
}

fn file(path: &Path, server: Option<&str>) -> Result<Origin, Failure> {
    let shown = path.display().to_string();
    let usage = |error: anyhow::Error| Failure::new(Exit::Usage, error.context(shown.clone()));
    let bytes = read(path)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let of_servers = Document::parse(&bytes, &Limits::file())
        .ok()
        .and_then(|document| Format::detect(document.root()))
        .is_some_and(|format| format != Format::Tools);
    if !of_servers {
        let lock = std::str::from_utf8(&bytes).ok().and_then(|text| toolcrib_change::Lock::parse(text).ok());
        return match (lock, server) {
            (Some(lock), Some(server)) => {
                let definitions = lock.definitions(server);
                if definitions.is_empty() {
                    return Err(usage(anyhow!("the lock has no server {server:?}")));
                }
                Ok(Origin { server: server.to_owned(), definitions })
            }
            _ => Ok(Origin {
                server: server.map_or(stem, str::to_owned),
                definitions: source::definitions(path)?,
            }),
        };
    }
    let mut options = Options::default();
    options.name = Some(stem);
    let converted = convert(&bytes, Format::Upstream, &options).map_err(|error| usage(error.into()))?;
    let document =
        Document::parse(converted.text.as_bytes(), &Limits::file()).map_err(|error| usage(error.into()))?;
    let servers = document.root().get("data").and_then(|data| data.get("servers"));
    let mut listed = Vec::new();
    for node in servers.into_iter().flat_map(Node::elements) {
        let mut report = toolcrib_registry::Report::default();
        listed.push(toolcrib_registry::Listed::read(node, &mut report).map_err(|issue| usage(issue.into()))?);
    }
    let named = |name: &str| match server {
        Some(wanted) => name == wanted || name.rsplit('/').next() == Some(wanted),
        None => true,
    };
    let names: Vec<String> = listed.iter().map(|server| server.name.clone()).collect();
    let mut found: Vec<_> = listed.into_iter().filter(|server| named(&server.name)).collect();
    match (found.pop(), found.is_empty()) {
        (Some(server), true) => Ok(Origin { server: server.name, definitions: server.tools }),
        _ => {
            const NAMES_SHOWN: usize = 10;
            let some: Vec<&str> = names.iter().take(NAMES_SHOWN).map(String::as_str).collect();
            let more = if names.len() > NAMES_SHOWN { ", …" } else { "" };
            let error = anyhow!("name one of its {} servers: {}{more}", names.len(), some.join(", "));
            Err(usage(error).hint("as FILE#SERVER"))
        }
    }
}
