//! Semantic checks of a configuration, before anything is started and for every format: values that parse but cannot
//! be used.

use toolcrib_engine::toolset;

use super::place::{ConfigError, Problem};
use super::{Config, Reader, issuer};
use crate::gateway::{Gateway, GatewayError};
use crate::source::Source;

/// Tables that contain the servers, one path per format.
const TABLES: [&[&str]; 5] = [&["servers"], &["mcp_servers"], &["mcpServers"], &["mcp", "servers"], &[]];

/// Refuses unusable values, with their place in the file.
pub(super) fn check(reader: &Reader<'_>, config: &Config) -> Result<(), ConfigError> {
    for source in &config.sources {
        if let Some((key, problem)) = unusable(source) {
            return Err(reader.error(server(reader, source.name(), key), problem));
        }
    }
    let value = |text: String, path: &[&str]| reader.error(reader.offset(path), Problem::Value(text));
    if let Some(listen) = config.listen.as_deref().filter(|listen| !is_address(listen)) {
        let says =
            format!("{listen:?} is no address; expected HOST:PORT, such as 127.0.0.1:7420, or unix:PATH");
        return Err(value(says, &["listen"]));
    }
    if let Some(origin) = config.origins.iter().find(|origin| !is_origin(origin)) {
        let says = format!("{origin:?} is no origin; expected SCHEME://HOST, such as https://example.org");
        return Err(value(says, &["origins"]));
    }
    if let Some(host) = config.hosts.iter().find(|host| host.is_empty() || host.contains('/')) {
        return Err(value(format!("{host:?} is no host; expected a name, such as example.org"), &["hosts"]));
    }
    if let Some((key, says)) = config.auth.jwt.as_ref().and_then(issuer::unusable) {
        return Err(value(says, &["auth", "jwt", key]));
    }
    Gateway::check(&config.sources).map_err(|error| {
        let place = match &error {
            GatewayError::SamePrefix { other, .. } => server(reader, other, "prefix"),
            GatewayError::Twice(name) => server(reader, name, ""),
            GatewayError::TooMany | GatewayError::NoThread(_) => None,
        };
        reader.error(place, Problem::Value(error.to_string()))
    })
}

/// Offset of a key in a server's table, else of the table.
fn server(reader: &Reader<'_>, name: &str, key: &str) -> Option<usize> {
    let path = |table: &[&'static str]| -> Vec<String> {
        table.iter().map(|part| (*part).to_owned()).chain([name.to_owned(), key.to_owned()]).collect()
    };
    TABLES.iter().find_map(|table| {
        let whole = path(table);
        let whole: Vec<&str> = whole.iter().map(String::as_str).collect();
        // A path that exists in part is accepted too: no server has the name of one of these tables.
        reader.offset_within(&whole, table.len() + 1)
    })
}

/// Returns the first unusable key of a server, and the reason.
fn unusable(source: &Source) -> Option<(&'static str, Problem)> {
    let spec = &source.spec;
    if spec.name.trim().is_empty() {
        return Some(("", Problem::Value("a server has a name that is not empty".to_owned())));
    }
    if let Err((key, cause)) = spec.check() {
        return Some((key, Problem::Value(cause.to_string())));
    }
    for (key, ms) in [("start_ms_max", spec.start_ms_max), ("call_ms_max", spec.call_ms_max)] {
        if ms == 0 {
            return Some((key, Problem::Value(format!("{key} is 0; expected at least one millisecond"))));
        }
    }
    let toolset = source.toolset.as_deref()?;
    let refused = toolset::check_name(toolset).err()?;
    Some(("toolset", Problem::Value(refused.to_string())))
}

fn is_address(text: &str) -> bool {
    if let Some(path) = text.strip_prefix("unix:") {
        return !path.is_empty();
    }
    text.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

fn is_origin(text: &str) -> bool {
    let rest = text.split_once("://").map(|(_, rest)| rest);
    text == "null" || rest.is_some_and(|rest| !rest.is_empty() && !rest.contains('/'))
}
