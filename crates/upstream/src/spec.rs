//! Configuration of one server and how to reach it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use toolcrib_protocol::Revision;

use crate::error::Cause;
use crate::limits::{UPSTREAM_CALL_MS_MAX, UPSTREAM_START_MS_MAX};
use crate::oauth::OAuth;

/// Transport to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    Stdio(Command),
    Http(Box<Endpoint>),
}

impl Transport {
    /// Value of OpenTelemetry's `network.transport`.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "pipe",
            Self::Http(_) => "tcp",
        }
    }
}

/// A command that speaks MCP on its stdin and stdout.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Command {
    pub program: String,
    pub arguments: Vec<String>,
    /// Environment variables that are set in addition to those of the gateway.
    pub env: BTreeMap<String, String>,
    /// `true` to pass on only the variables of the gateway's environment that a program needs to run.
    pub clean_env: bool,
    pub folder: Option<PathBuf>,
}

/// A Streamable HTTP endpoint: `http://`, `https://` or `unix:/run/server.sock`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Endpoint {
    pub url: String,
    /// Header fields of every request; may contain secrets.
    pub headers: BTreeMap<String, String>,
    /// Certificates that are trusted besides the system's, PEM.
    pub ca_file: Option<PathBuf>,
    /// Client certificate and its key, PEM.
    pub client_cert: Option<PathBuf>,
    pub client_key: Option<PathBuf>,
    /// Proxy, `http://host:port`; `none` for no proxy. `None` means the environment's.
    pub proxy: Option<String>,
    /// `true` to use HTTP/2 by prior knowledge, for servers that speak it without TLS.
    pub http2: bool,
    /// OAuth settings; `None` if a header has the credential.
    pub oauth: Option<OAuth>,
}

/// One server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    pub name: String,
    pub transport: Transport,
    pub start_ms_max: u64,
    pub call_ms_max: u64,
    /// The only revision that may be negotiated; any if absent.
    pub revision: Option<Revision>,
}

impl Spec {
    #[must_use]
    pub fn new(name: &str, transport: Transport) -> Self {
        Self {
            name: name.to_owned(),
            transport,
            start_ms_max: UPSTREAM_START_MS_MAX,
            call_ms_max: UPSTREAM_CALL_MS_MAX,
            revision: None,
        }
    }

    /// Stores tokens for this server in a folder, and uses those that are there. Does nothing for a server over stdio,
    /// or one whose credential the operator put into a header.
    pub fn keep_tokens_in(&mut self, folder: &std::path::Path) {
        let Transport::Http(endpoint) = &mut self.transport else { return };
        let has_credential = endpoint.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
        if endpoint.oauth.is_none() && !has_credential {
            endpoint.oauth = Some(OAuth { is_implicit: true, ..OAuth::default() });
        }
        if let Some(oauth) = &mut endpoint.oauth {
            oauth.folder = Some(folder.to_owned());
        }
    }

    /// Checks the configuration without connecting; returns the unusable setting and the reason.
    pub fn check(&self) -> Result<(), (&'static str, Cause)> {
        match &self.transport {
            Transport::Stdio(command) if command.program.trim().is_empty() => {
                Err(("command", Cause::Spawn { command: "".into(), kind: std::io::ErrorKind::InvalidInput }))
            }
            Transport::Stdio(_) => Ok(()),
            Transport::Http(endpoint) => crate::http::check(endpoint),
        }
    }

    /// A server started by a command and its arguments; `None` if `words` is empty.
    #[must_use]
    pub fn command(name: &str, words: &[String]) -> Option<Self> {
        let (program, arguments) = words.split_first()?;
        let command =
            Command { program: program.clone(), arguments: arguments.to_vec(), ..Command::default() };
        Some(Self::new(name, Transport::Stdio(command)))
    }

    #[must_use]
    pub fn url(name: &str, url: &str) -> Self {
        Self::new(name, Transport::Http(Box::new(Endpoint { url: url.to_owned(), ..Endpoint::default() })))
    }
}

// Only names are shown, because environment and headers may contain secrets.
impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Command")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("env", &self.env.keys())
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("url", &self.url)
            .field("headers", &self.headers.keys())
            .finish_non_exhaustive()
    }
}
