//! Configuration of the gateway: the servers behind it and its options, read from the operator's file.
//!
//! Guarantees: a file is accepted or refused as a whole; an error has file, line, column and what was expected.
//! Nothing is started before the file was read. Files of other programs are read unchanged, and their unrelated
//! settings are ignored.

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

/// Settings of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    pub listen: Option<String>,
    /// TLS certificate of the endpoint.
    pub tls: Option<TlsFiles>,
    /// `true` to accept HTTP/2 without TLS from clients with prior knowledge.
    pub http2: bool,
    pub trusted_proxies: TrustedPeers,
    pub sources: Vec<Source>,
    pub pins: Option<Pins>,
    pub auth: Auth,
    /// Host names that the endpoint accepts besides those of this machine.
    pub hosts: Vec<String>,
    pub origins: Vec<String>,
    pub streams_when_listed_first: bool,
    pub toolsets: toolset::config::Config,
    /// OTLP endpoint that spans are sent to.
    pub otlp_endpoint: Option<String>,
    /// Section `[safety]` of `toolcrib.toml`: which calls need a confirmation. Files of other programs have none.
    pub safety: Option<Policy>,
}

impl Config {
    /// Copies the toolset settings into a server's options. Each server's own toolset can be selected before the
    /// server has answered.
    pub fn select(&self, options: &mut ToolsetOptions) {
        self.toolsets.clone().apply(options);
        let own = self.sources.iter().map(|source| source.toolset.as_deref().unwrap_or(source.name()));
        options.expected.extend(own.map(Into::into));
    }
}

impl Config {
    /// Sets the folder in which OAuth tokens of servers are stored.
    pub fn keep_tokens_in(&mut self, folder: &Path) {
        for source in &mut self.sources {
            source.spec.keep_tokens_in(folder);
        }
    }
}

/// Peers whose forwarding headers are trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedPeers {
    pub networks: Vec<IpNet>,
    /// `true` to trust peers that connect over a unix socket.
    pub unix: bool,
}

/// Files with the certificate chain and the private key, both PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    pub cert: PathBuf,
    pub key: PathBuf,
}

/// The lock that servers are compared with, and the action for each class of difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pins {
    pub lock: PathBuf,
    pub classes: Classes,
}

/// Credentials that callers need.
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

/// A bearer token and its subject.
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

/// Accepted JSON Web Tokens of one issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jwt {
    pub issuer: String,
    pub audience: String,
    pub jwks: Jwks,
    /// Certificates that are trusted besides the system's, where the keys are fetched from a URL.
    pub ca_file: Option<PathBuf>,
    pub scopes: Vec<String>,
}

/// Source of the issuer's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Jwks {
    File(PathBuf),
    Url(String),
}

/// Prefixing of tool names by the server's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefixing {
    /// The file's setting, else always: a second server must not rename the first one's tools.
    Default,
    Always,
    Never,
}

impl Config {
    /// Reads a configuration file of any known format.
    pub fn load(
        path: &Path,
        prefixing: Prefixing,
        environment: &dyn Environment,
    ) -> Result<Self, ConfigError> {
        let io = |error: std::io::Error| ConfigError::whole(path, Problem::Unreadable(error.kind()));
        let mut bytes = Vec::new();
        // A file such as a device may report no length and have no end.
        let file = std::fs::File::open(path).map_err(io)?;
        file.take(CONFIG_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(io)?;
        if bytes.len() as u64 > CONFIG_BYTES_MAX {
            return Err(ConfigError::whole(path, Problem::TooLarge));
        }
        let text = String::from_utf8(bytes).map_err(|_| io(std::io::ErrorKind::InvalidData.into()))?;
        Self::read(path, &text, prefixing, environment)
    }

    /// Reads a configuration from text. `path` determines the format and is named in errors.
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
    /// Folder that relative paths in the file are resolved against.
    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    fn error(&self, offset: Option<usize>, problem: Problem) -> ConfigError {
        ConfigError::at(self.path, self.text, offset, problem)
    }

    /// Error at the first occurrence of `needle` in the text.
    fn error_near(&self, needle: &str, problem: Problem) -> ConfigError {
        self.error(self.text.find(needle), problem)
    }

    /// Offset of the value at a path of keys.
    fn offset(&self, path: &[&str]) -> Option<usize> {
        self.offset_within(path, 1)
    }

    /// Offset of the value at a path of keys, or of the path's last existing key; `None` if fewer than `least` keys
    /// exist.
    fn offset_within(&self, path: &[&str], least: usize) -> Option<usize> {
        if !self.is_toml() {
            return place::in_json(self.text, path, least);
        }
        place::in_toml(self.text, path, least)
    }

    fn is_toml(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
    }

    /// Returns `true` if a server's tools are prefixed when the file says nothing about it.
    fn prefixes(&self) -> bool {
        self.prefixing != Prefixing::Never
    }
}

#[cfg(test)]
mod tests;
