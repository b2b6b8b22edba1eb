//! Files of MCP clients, read unchanged: `mcpServers` (Claude, Cursor, Windsurf, Gemini) and VS Code's `servers`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use toolcrib_upstream::spec::{Command, Endpoint};
use toolcrib_upstream::{Spec, Transport};

use super::place::{ConfigError, Problem};
use super::{Config, Reader, jsonc};
use crate::limits::UPSTREAMS_MAX;
use crate::pattern::Pattern;
use crate::source::Source;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Server {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, EnvValue>,
    cwd: Option<String>,
    url: Option<String>,
    /// Used by Windsurf.
    server_url: Option<String>,
    /// Used by Gemini.
    http_url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
    /// Call timeout in milliseconds, used by Gemini.
    timeout: Option<u64>,
    #[serde(default)]
    include_tools: Vec<String>,
    #[serde(default)]
    exclude_tools: Vec<String>,
}

/// Value of an environment variable. Some files have numbers and booleans instead of text; `null` unsets the variable.
#[derive(Deserialize)]
#[serde(untagged)]
enum EnvValue {
    Text(String),
    Other(Value),
}

pub(super) fn read(reader: &Reader<'_>) -> Result<Config, ConfigError> {
    let plain = jsonc::plain(reader.text);
    let value: Value = serde_json::from_str(&plain).map_err(|error| syntax(reader, &error))?;
    if let Some((name, offset)) = twice(&plain) {
        return Err(reader.error(Some(offset), Problem::Twice(name)));
    }
    let Some(servers) = servers(&value) else { return Err(reader.error(None, Problem::NoServers)) };
    if servers.len() > UPSTREAMS_MAX {
        return Err(reader.error(None, Problem::TooManyServers));
    }
    let mut sources = Vec::new();
    for (name, value) in servers {
        let near = |problem| reader.error_near(&format!("\"{name}\""), problem);
        let server = Server::deserialize(value)
            .map_err(|error| near(Problem::Syntax(format!("server {name:?}: {error}"))))?;
        if !server.disabled {
            sources.push(source(reader, name, server)?);
        }
    }
    Ok(Config { sources, ..Config::default() })
}

/// Returns a server name that occurs twice and its offset. JSON parsers differ in which of the two counts.
fn twice(plain: &str) -> Option<(String, usize)> {
    struct Names;
    impl<'de> serde::de::Visitor<'de> for Names {
        type Value = Option<String>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut seen = std::collections::HashSet::new();
            let mut twice = None;
            while let Some((name, _)) = map.next_entry::<String, serde::de::IgnoredAny>()? {
                if !seen.insert(name.clone()) {
                    twice.get_or_insert(name);
                }
            }
            Ok(twice)
        }
    }
    #[derive(Deserialize)]
    struct File<'a> {
        #[serde(borrow, rename = "mcpServers")]
        mcp_servers: Option<&'a serde_json::value::RawValue>,
        #[serde(borrow)]
        servers: Option<&'a serde_json::value::RawValue>,
    }
    let file: File<'_> = serde_json::from_str(plain).ok()?;
    let raw = file.mcp_servers.or(file.servers)?.get();
    let name =
        serde::Deserializer::deserialize_map(&mut serde_json::Deserializer::from_str(raw), Names).ok()??;
    Some((name.clone(), plain.rfind(&format!("\"{name}\""))?))
}

/// Returns the object with the servers, wherever the client keeps it.
fn servers(value: &Value) -> Option<&Map<String, Value>> {
    ["/mcpServers", "/servers", "/mcp/servers"].iter().find_map(|place| value.pointer(place)?.as_object())
}

fn syntax(reader: &Reader<'_>, error: &serde_json::Error) -> ConfigError {
    let lines = reader.text.split_inclusive('\n').take(error.line().saturating_sub(1));
    let offset = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
    let text = error.to_string();
    // Line and column are already printed before the message.
    let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
    reader.error(Some(offset), Problem::Syntax(message))
}

fn source(reader: &Reader<'_>, name: &str, server: Server) -> Result<Source, ConfigError> {
    let near = |problem| reader.error_near(&format!("\"{name}\""), problem);
    let url = server.http_url.or(server.url).or(server.server_url);
    let transport = match (server.command, url) {
        (None, None) => return Err(near(Problem::NoTransport(name.to_owned()))),
        (Some(_), Some(_)) => return Err(near(Problem::TwoTransports(name.to_owned()))),
        (Some(program), None) => {
            let mut env = BTreeMap::new();
            for (key, value) in server.env {
                match value {
                    EnvValue::Text(text) => drop(env.insert(key, reader.expand(&text)?)),
                    EnvValue::Other(Value::Null) => {}
                    EnvValue::Other(other) => drop(env.insert(key, other.to_string())),
                }
            }
            Transport::Stdio(Command {
                program: reader.expand(&program)?,
                arguments: reader.expand_all(&server.args)?,
                env,
                clean_env: false,
                folder: server
                    .cwd
                    .map(|folder| reader.expand(&folder))
                    .transpose()?
                    .map(|folder| reader.folder().join(folder)),
            })
        }
        (None, Some(url)) => Transport::Http(Box::new(Endpoint {
            url: reader.expand(&url)?,
            headers: reader.expand_map(server.headers)?,
            ..Endpoint::default()
        })),
    };
    let mut spec = Spec::new(name, transport);
    spec.call_ms_max = server.timeout.unwrap_or(spec.call_ms_max);
    let mut source = Source::new(spec, reader.prefixes());
    source.include = server.include_tools.iter().map(|text| Pattern::new(text)).collect();
    source.exclude = server.exclude_tools.iter().map(|text| Pattern::new(text)).collect();
    Ok(source)
}
