//! Rules of the official registry that the schema of server.json does not express.

use toolcrib_contract::json::{Node, Pointer};

use crate::SERVER_SCHEMA;
use crate::issue::{Fault, Report};

/// URL prefix of every version of server.json's schema.
const SCHEMAS: &str = "https://static.modelcontextprotocol.io/schemas/";

/// Returns true if the key matches `^[a-z0-9][a-z0-9-]+[a-z0-9]$`.
pub(super) fn is_toolhive_key(key: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = key.as_bytes();
    let ends = [bytes.first(), bytes.last()].into_iter().all(|byte| byte.is_some_and(|byte| plain(*byte)));
    bytes.len() >= 3 && ends && bytes.iter().all(|byte| plain(*byte) || *byte == b'-')
}

/// Returns true if the text names more than one version.
fn is_range(version: &str) -> bool {
    let wild = |part: &str| matches!(part, "x" | "X" | "*");
    version.starts_with(['^', '~', '>', '<', '='])
        || version.contains("||")
        || version.contains(" - ")
        || version.split(['.', '-', '+']).any(wild)
}

pub(super) fn server(server: Node<'_>, place: &Pointer, report: &mut Report) {
    let mut say = |place: Pointer, rule: &str| report.note(place, Fault::Schema { rule: rule.to_owned() });
    if let Some(version) = server.get("version").and_then(Node::as_str)
        && (is_range(&version) || version == "latest" || version.is_empty())
    {
        say(place.join("version"), "a version names one version, not a range");
    }
    if let Some(schema) = server.get("$schema").and_then(Node::as_str)
        && schema.starts_with(SCHEMAS)
        && schema != SERVER_SCHEMA
    {
        let found = schema.trim_start_matches(SCHEMAS).split('/').next().unwrap_or_default().to_owned();
        report.note(place.join("$schema"), Fault::OldSchema { found });
    }
    let mut say = |place: Pointer, rule: &str| report.note(place, Fault::Schema { rule: rule.to_owned() });
    for (index, package) in server.get("packages").into_iter().flat_map(Node::elements).enumerate() {
        let place = place.join("packages").join(index.to_string());
        let text = |key: &str| package.get(key).and_then(Node::as_str);
        if text("registryType").as_deref() == Some("mcpb") && text("fileSha256").is_none() {
            say(place.join("fileSha256"), "an mcpb package has the digest of its file");
        }
        if text("version").is_some_and(|version| is_range(&version)) {
            say(place.join("version"), "a version names one version, not a range");
        }
    }
    for (index, icon) in server.get("icons").into_iter().flat_map(Node::elements).enumerate() {
        if icon.get("src").and_then(Node::as_str).is_some_and(|src| !src.starts_with("https://")) {
            say(place.join("icons").join(index.to_string()).join("src"), "an icon is fetched by https");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_told_from_versions() {
        for range in ["^1.2.3", "~1", ">=1", "1.x", "1.*", "1 || 2", "1.0 - 2.0", "=1"] {
            assert!(is_range(range), "{range}");
        }
        for version in ["1.0.0", "2026.8.31", "1.0.0-rc.1+x86", "v1", "experimental", "1.0.0-linux"] {
            assert!(!is_range(version), "{version}");
        }
        assert!(
            is_toolhive_key("abc")
                && !is_toolhive_key("ab")
                && !is_toolhive_key("a_c")
                && !is_toolhive_key("-bc")
        );
    }
}
