//! Codex's `config.toml`: reads the `[mcp_servers.NAME]` tables and ignores the rest.

use std::collections::BTreeMap;

use serde::Deserialize;
use toolcrib_upstream::spec::{Command, Endpoint};
use toolcrib_upstream::{Spec, Transport};

use super::place::{ConfigError, Problem};
use super::{Config, Reader};
use crate::pattern::Pattern;
use crate::source::Source;

#[derive(Deserialize)]
struct File {
    mcp_servers: BTreeMap<String, Server>,
}

#[derive(Deserialize)]
struct Server {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    env_vars: Vec<String>,
    cwd: Option<String>,
    url: Option<String>,
    bearer_token_env_var: Option<String>,
    #[serde(default)]
    http_headers: BTreeMap<String, String>,
    /// Header name to the name of an environment variable.
    #[serde(default)]
    env_http_headers: BTreeMap<String, String>,
    startup_timeout_sec: Option<f64>,
    /// Older spelling, which is still documented.
    startup_timeout_ms: Option<f64>,
    tool_timeout_sec: Option<f64>,
    enabled: Option<bool>,
    enabled_tools: Option<Vec<String>>,
    #[serde(default)]
    disabled_tools: Vec<String>,
}

/// Returns `true` if the text has `[mcp_servers…]` tables, a name that only Codex uses.
pub(super) fn is_codex(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with("[mcp_servers"))
}

pub(super) fn read(reader: &Reader<'_>) -> Result<Config, ConfigError> {
    let file: File = toml::from_str(reader.text).map_err(|error| {
        let offset = error.span().map(|span| span.start);
        reader.error(offset, Problem::Syntax(error.message().trim_end().to_owned()))
    })?;
    let mut sources = Vec::new();
    for (name, server) in file.mcp_servers {
        if server.enabled != Some(false) {
            sources.push(source(reader, &name, server)?);
        }
    }
    Ok(Config { sources, ..Config::default() })
}

fn source(reader: &Reader<'_>, name: &str, server: Server) -> Result<Source, ConfigError> {
    let near = |problem| reader.error_near(&format!("[mcp_servers.{name}"), problem);
    let variable = |key: &str| {
        let missing = || reader.error_near(key, Problem::MissingVariable(key.to_owned()));
        reader.environment.variable(key).ok_or_else(missing)
    };
    let transport = match (server.command, server.url) {
        (None, None) => return Err(near(Problem::NoTransport(name.to_owned()))),
        (Some(_), Some(_)) => return Err(near(Problem::TwoTransports(name.to_owned()))),
        (Some(program), None) => {
            let mut env = reader.expand_map(server.env)?;
            for key in &server.env_vars {
                if let Some(value) = reader.environment.variable(key) {
                    env.insert(key.clone(), value);
                }
            }
            Transport::Stdio(Command {
                program: reader.expand(&program)?,
                arguments: reader.expand_all(&server.args)?,
                env,
                clean_env: false,
                folder: server.cwd.map(|folder| reader.folder().join(folder)),
            })
        }
        (None, Some(url)) => {
            let mut headers = reader.expand_map(server.http_headers)?;
            for (header, key) in &server.env_http_headers {
                headers.insert(header.clone(), variable(key)?);
            }
            if let Some(key) = &server.bearer_token_env_var {
                headers.insert("Authorization".to_owned(), format!("Bearer {}", variable(key)?));
            }
            Transport::Http(Box::new(Endpoint { url: reader.expand(&url)?, headers, ..Endpoint::default() }))
        }
    };
    let mut spec = Spec::new(name, transport);
    let ms = |seconds: f64| (seconds * 1_000.0).clamp(1.0, 86_400_000.0) as u64;
    let start = server.startup_timeout_sec.or(server.startup_timeout_ms.map(|given| given / 1_000.0));
    spec.start_ms_max = start.map_or(spec.start_ms_max, ms);
    spec.call_ms_max = server.tool_timeout_sec.map_or(spec.call_ms_max, ms);
    let mut source = Source::new(spec, reader.prefixes());
    source.include = server.enabled_tools.unwrap_or_default().iter().map(|text| Pattern::new(text)).collect();
    source.exclude = server.disabled_tools.iter().map(|text| Pattern::new(text)).collect();
    Ok(source)
}
