//! Maps a ToolHive entry to server.json.

use toolcrib_contract::json::{Node, ObjectWriter, Pointer, write_string};

use super::{Kind, input};
use crate::issue::{Fault, Issue, Report};
use crate::limits::{SERVER_DESCRIPTION_CHARS_MAX, SERVER_TITLE_CHARS_MAX};
use crate::{PUBLISHER_KEY, SERVER_SCHEMA, STACKLOK};

/// Version of the server, since ToolHive's format has none.
const VERSION: &str = "1.0.0";

/// Members of an entry that have a counterpart in server.json.
const PLACED: [&str; 8] =
    ["name", "title", "description", "repository_url", "image", "url", "transport", "target_port"];
/// Members of the extension, in output order.
const EXTENSION: [&str; 16] = [
    "args",
    "custom_metadata",
    "docker_tags",
    "env_vars",
    "metadata",
    "oauth_config",
    "overview",
    "permissions",
    "provenance",
    "proxy_port",
    "stateless",
    "status",
    "tags",
    "tier",
    "tool_definitions",
    "tools",
];

/// Maps `entry` to server.json. `name` is the full name of its key.
pub(crate) fn to_server(
    name: &str,
    kind: Kind,
    entry: Node<'_>,
    report: &mut Report,
) -> Result<String, Issue> {
    if !entry.is_object() {
        let fault = Fault::Kind { expected: "an object", found: entry.kind().name() };
        return Err(Issue::new(Pointer::root(), fault));
    }
    let member = match kind {
        Kind::Image => "image",
        Kind::Remote => "url",
    };
    let subject = entry.get(member).and_then(Node::as_str);
    let subject = subject.ok_or_else(|| Issue::new(Pointer::root(), Fault::Missing { member }))?;
    let own = entry.get("name").and_then(Node::as_str).filter(|name| !name.is_empty());
    let name = own.as_deref().unwrap_or(name);
    let mut out = ObjectWriter::new();
    out.string("$schema", SERVER_SCHEMA).string("name", name);
    described(name, entry, report, &mut out);
    if let Some(url) = entry.get("repository_url").filter(|url| url.as_str().is_some()) {
        let mut repository = ObjectWriter::new();
        repository.raw("url", url.raw()).string("source", "github");
        out.raw("repository", &repository.finish());
    }
    out.string("version", VERSION);
    match kind {
        Kind::Image => out.raw("packages", &format!("[{}]", package(entry, &subject))),
        Kind::Remote => out.raw("remotes", &format!("[{}]", remote(entry, &subject))),
    };
    out.raw("_meta", &meta(&subject, &extension(kind, entry)));
    Ok(out.finish())
}

fn described(name: &str, entry: Node<'_>, report: &mut Report, out: &mut ObjectWriter) {
    let given = |key: &str| entry.get(key).and_then(Node::as_str).filter(|text| !text.is_empty());
    // The format requires a description, so the name stands in for a missing one.
    let description = given("description").or_else(|| given("title"));
    let description = shortened(
        "description",
        SERVER_DESCRIPTION_CHARS_MAX,
        description.as_deref().unwrap_or(name),
        report,
    );
    out.string("description", &description);
    if let Some(title) = given("title") {
        out.string("title", &shortened("title", SERVER_TITLE_CHARS_MAX, &title, report));
    }
}

/// Cuts a text to `limit` characters, at a word boundary if there is one in the second half.
fn shortened(member: &'static str, limit: usize, text: &str, report: &mut Report) -> String {
    let found = text.chars().count();
    if found <= limit {
        return text.to_owned();
    }
    report.note(Pointer::root().join(member), Fault::Shortened { member, found, limit });
    let cut: String = text.chars().take(limit - 1).collect();
    let word = cut.rfind(char::is_whitespace).filter(|at| *at > limit / 2).unwrap_or(cut.len());
    format!("{}…", cut.get(..word).unwrap_or(&cut).trim_end())
}

fn transport_type(entry: Node<'_>, default: &'static str) -> String {
    entry
        .get("transport")
        .and_then(Node::as_str)
        .map_or_else(|| default.to_owned(), std::borrow::Cow::into_owned)
}

fn package(entry: Node<'_>, image: &str) -> String {
    let kind = transport_type(entry, "stdio");
    let mut transport = ObjectWriter::new();
    transport.string("type", &kind);
    if matches!(kind.as_str(), "sse" | "streamable-http") {
        // A number that is no port would make the URL invalid; it is carried along instead.
        let port = entry.get("target_port").and_then(Node::as_u64).and_then(|port| u16::try_from(port).ok());
        let port = port.filter(|port| *port > 0);
        transport.string(
            "url",
            &port.map_or_else(|| "http://localhost".to_owned(), |port| format!("http://localhost:{port}")),
        );
    }
    let mut out = ObjectWriter::new();
    out.string("registryType", "oci").string("identifier", image).raw("transport", &transport.finish());
    if let Some(list) = entry.get("env_vars").and_then(|list| input::list_to_server(list, false)) {
        out.raw("environmentVariables", &list);
    }
    out.finish()
}

fn remote(entry: Node<'_>, url: &str) -> String {
    let mut out = ObjectWriter::new();
    out.string("type", &transport_type(entry, "sse")).string("url", url);
    if let Some(list) = entry.get("headers").and_then(|list| input::list_to_server(list, true)) {
        out.raw("headers", &list);
    }
    out.finish()
}

/// Returns the extension: all members without a counterpart, unknown ones included.
fn extension(kind: Kind, entry: Node<'_>) -> String {
    let placed = |key: &str| match kind {
        Kind::Image => key == "env_vars" || PLACED.contains(&key),
        Kind::Remote => key == "headers" || PLACED.contains(&key),
    };
    let mut out = ObjectWriter::new();
    for key in EXTENSION.into_iter().filter(|key| !placed(key)) {
        match entry.get(key) {
            Some(value) => out.raw(key, &value.to_compact()),
            None if key == "status" => out.string(key, "active"),
            None => continue,
        };
    }
    for (key, value) in entry.members() {
        let name = key.as_str().unwrap_or_default();
        if !placed(&name) && !EXTENSION.contains(&name.as_ref()) {
            out.copy(key, value);
        }
    }
    out.finish()
}

/// Returns a `_meta` object with one block.
pub(crate) fn meta(subject: &str, block: &str) -> String {
    let mut out = String::from("{");
    write_string(&mut out, PUBLISHER_KEY);
    out.push_str(":{");
    write_string(&mut out, STACKLOK);
    out.push_str(":{");
    write_string(&mut out, subject);
    out.push(':');
    out.push_str(block);
    out.push_str("}}}");
    out
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use toolcrib_contract::json::{Document, Limits};

    use super::*;

    /// Converts an entry; returns server.json and the number of shortened texts.
    fn converted(entry: &Value) -> (Value, usize) {
        let text = entry.to_string();
        let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
        let mut report = Report::default();
        let server = to_server("io.x/y", Kind::Image, document.root(), &mut report).unwrap();
        (serde_json::from_str(&server).unwrap(), report.issues().len())
    }

    /// R6.3: texts over `SERVER_DESCRIPTION_CHARS_MAX` and `SERVER_TITLE_CHARS_MAX` are shortened and reported.
    #[test]
    fn texts_over_server_description_chars_max_and_server_title_chars_max_are_shortened() {
        let of = |title: usize, description: usize| {
            converted(
                &json!({"image": "x", "title": "é".repeat(title), "description": "ü".repeat(description)}),
            )
        };
        let (server, shortened) = of(SERVER_TITLE_CHARS_MAX, SERVER_DESCRIPTION_CHARS_MAX);
        assert_eq!(server["title"], json!("é".repeat(SERVER_TITLE_CHARS_MAX)));
        assert_eq!(server["description"], json!("ü".repeat(SERVER_DESCRIPTION_CHARS_MAX)));
        assert_eq!(shortened, 0);
        let (server, shortened) = of(SERVER_TITLE_CHARS_MAX + 1, SERVER_DESCRIPTION_CHARS_MAX + 1);
        for (text, limit) in [
            (&server["title"], SERVER_TITLE_CHARS_MAX),
            (&server["description"], SERVER_DESCRIPTION_CHARS_MAX),
        ] {
            let text = text.as_str().unwrap();
            assert!(text.ends_with('…') && text.chars().count() == limit, "{text}");
        }
        assert_eq!(shortened, 2);
    }
}
