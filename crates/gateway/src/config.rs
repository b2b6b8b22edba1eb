//! Which servers stand behind the gateway, from the file the operator has.
//!
//! Guarantees: a file is read as a whole or refused as a whole, with file, line, column and what was expected; nothing
//! is started before it was read. Files of other programs are read as they are: what they say to others is passed over.

mod check;
mod clients;
mod codex;
mod expand;
mod issuer;
mod jsonc;
mod oauth;
mod own;
mod place;
mod safety;
mod variables;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use toolcrib_engine::{Policy, ToolsetOptions, toolset};

pub use own::schema;
pub use place::{ConfigError, Place, Problem};
pub use variables::{Environment, ProcessEnvironment};

use crate::drift::Classes;
use crate::limits::CONFIG_BYTES_MAX;
use crate::source::Source;

/// What a file says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    pub listen: Option<String>,
    /// Certificate of the endpoint.
    pub tls: Option<TlsFiles>,
    /// HTTP/2 without TLS is spoken with clients that begin with it.
    pub http2: bool,
    pub trusted_proxies: TrustedPeers,
    pub sources: Vec<Source>,
    pub pins: Option<Pins>,
    pub auth: Auth,
    /// Names the endpoint answers to besides those of this machine.
    pub hosts: Vec<String>,
    pub origins: Vec<String>,
    pub streams_when_listed_first: bool,
    pub toolsets: toolset::config::Config,
    /// Where spans are sent.
    pub otlp_endpoint: Option<String>,
    /// Section `[safety]` of `toolcrib.toml`: which calls have to be confirmed. Files of other programs have none.
    pub safety: Option<Policy>,
}

impl Config {
    /// Puts what the file says about toolsets into a server's options; each server's own toolset can be selected before
    /// the server has answered.
    pub fn select(&self, options: &mut ToolsetOptions) {
        self.toolsets.clone().apply(options);
        let own = self.sources.iter().map(|source| source.toolset.as_deref().unwrap_or(source.name()));
        options.expected.extend(own.map(Into::into));
    }
}

impl Config {
    /// Tokens of servers that ask for OAuth are kept in a folder.
    pub fn keep_tokens_in(&mut self, folder: &Path) {
        for source in &mut self.sources {
            source.spec.keep_tokens_in(folder);
        }
    }
}

/// Peers whose word about their clients' addresses is believed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedPeers {
    pub networks: Vec<IpNet>,
    /// Whoever connects over a unix socket.
    pub unix: bool,
}

/// Certificate chain and private key, both PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    pub cert: PathBuf,
    pub key: PathBuf,
}

/// Which lock the servers are held to, and what is done about what differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pins {
    pub lock: PathBuf,
    pub classes: Classes,
}

/// Who may call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Auth {
    pub tokens: Vec<Token>,
    pub jwt: Option<Jwt>,
}

impl Auth {
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.tokens.is_empty() && self.jwt.is_none()
    }
}

/// A bearer token and whose it is.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    pub subject: String,
    pub token: String,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Token").field("subject", &self.subject).finish_non_exhaustive()
    }
}

/// JSON Web Tokens of one issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jwt {
    pub issuer: String,
    pub audience: String,
    pub jwks: Jwks,
    pub scopes: Vec<String>,
}

/// Where the issuer's keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Jwks {
    File(PathBuf),
    Url(String),
}

/// Whether tools carry their server's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefixing {
    /// As the file says, else always: a second server must not rename the first one's tools.
    Default,
    Always,
    Never,
}

impl Config {
    /// Reads a file of any known kind.
    pub fn load(
        path: &Path,
        prefixing: Prefixing,
        environment: &dyn Environment,
    ) -> Result<Self, ConfigError> {
        let io = |error: std::io::Error| ConfigError::whole(path, Problem::Unreadable(error.kind()));
        let mut bytes = Vec::new();
        // What is no plain file may say no length and have no end.
        let file = std::fs::File::open(path).map_err(io)?;
        file.take(CONFIG_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(io)?;
        if bytes.len() as u64 > CONFIG_BYTES_MAX {
            return Err(ConfigError::whole(path, Problem::TooLarge));
        }
        let text = String::from_utf8(bytes).map_err(|_| io(std::io::ErrorKind::InvalidData.into()))?;
        Self::read(path, &text, prefixing, environment)
    }

    /// The same from text; `path` tells the kind and is named in errors.
    pub fn read(
        path: &Path,
        text: &str,
        prefixing: Prefixing,
        environment: &dyn Environment,
    ) -> Result<Self, ConfigError> {
        let reader = Reader { path, text, prefixing, environment };
        let config = if !reader.is_toml() {
            clients::read(&reader)?
        } else if codex::is_codex(text) {
            codex::read(&reader)?
        } else {
            own::read(&reader)?
        };
        if config.sources.is_empty() {
            return Err(ConfigError::whole(path, Problem::NoServers));
        }
        check::check(&reader, &config)?;
        Ok(config)
    }
}

/// A file that is being read.
pub(crate) struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    prefixing: Prefixing,
    environment: &'a dyn Environment,
}

impl Reader<'_> {
    /// The folder that relative paths in the file start from.
    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    fn error(&self, offset: Option<usize>, problem: Problem) -> ConfigError {
        ConfigError::at(self.path, self.text, offset, problem)
    }

    /// A problem with something that stands in the text.
    fn error_near(&self, needle: &str, problem: Problem) -> ConfigError {
        self.error(self.text.find(needle), problem)
    }

    /// Where the value stands that a path of keys leads to.
    fn offset(&self, path: &[&str]) -> Option<usize> {
        self.offset_within(path, 1)
    }

    /// The same, or where the last key of the path stands that is there; `None` if there are fewer than `least`.
    fn offset_within(&self, path: &[&str], least: usize) -> Option<usize> {
        if !self.is_toml() {
            return place::in_json(self.text, path, least);
        }
        place::in_toml(self.text, path, least)
    }

    fn is_toml(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
    }

    /// Whether a server's tools are prefixed, where the file says nothing for it.
    fn prefixes(&self) -> bool {
        self.prefixing != Prefixing::Never
    }
}

#[cfg(test)]
mod tests;
