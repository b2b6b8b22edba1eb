//! Conversion of results between the eras.
//!
//! For a legacy peer, `resultType`, `ttlMs` and `cacheScope` are removed, and `structuredContent` is dropped if it is
//! not an object or the revision lacks it (the text copy stays). For a modern peer, `resultType` is added, and the
//! cache hints where they are required.

use std::borrow::Cow;

use toolcrib_contract::json::{Node, ObjectWriter};

use crate::convert::content;
use crate::revision::{Era, Revision};

/// Cache lifetime and scope of a complete result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheHint {
    pub ttl_ms: u64,
    pub scope: CacheScope,
}

/// Sharing allowed for a cached result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheScope {
    /// May be shared between callers.
    Public,
    /// May be used only under the same authorization.
    Private,
}

impl CacheScope {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

impl CacheHint {
    /// Appends the members `ttlMs` and `cacheScope`, each with a leading comma.
    pub fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"ttlMs\":");
        out.extend_from_slice(self.ttl_ms.to_string().as_bytes());
        out.extend_from_slice(b",\"cacheScope\":\"");
        out.extend_from_slice(self.scope.as_str().as_bytes());
        out.push(b'"');
    }
}

/// Converts a result for a peer of `revision`. `hint` is added for a modern peer if the result has no hints.
#[must_use]
pub fn convert<'a>(result: Node<'a>, revision: Revision, hint: Option<CacheHint>) -> Cow<'a, str> {
    match revision.era() {
        Era::Legacy => to_legacy(result, revision),
        Era::Modern => to_modern(result, hint),
    }
}

fn to_legacy<'a>(result: Node<'a>, revision: Revision) -> Cow<'a, str> {
    let mut changed = false;
    let mut object = ObjectWriter::new();
    for (key, value) in result.members() {
        let name = key.as_str().unwrap_or_default();
        match &*name {
            "resultType" | "ttlMs" | "cacheScope" => changed = true,
            "structuredContent" if !(revision.has_structured_content() && value.is_object()) => {
                changed = true;
            }
            "content" if value.is_array() => match content::blocks(value, revision) {
                Cow::Borrowed(_) => {
                    object.copy(key, value);
                }
                Cow::Owned(blocks) => {
                    changed = true;
                    object.raw("content", &blocks);
                }
            },
            _ => {
                object.copy(key, value);
            }
        }
    }
    if changed { Cow::Owned(object.finish()) } else { Cow::Borrowed(result.raw()) }
}

fn to_modern<'a>(result: Node<'a>, hint: Option<CacheHint>) -> Cow<'a, str> {
    let typed = result.get("resultType").is_some();
    let hinted = hint.is_none() || (result.get("ttlMs").is_some() && result.get("cacheScope").is_some());
    if typed && hinted {
        return Cow::Borrowed(result.raw());
    }
    // Most results lack only their type, so it is inserted before the first member without copying each one.
    if let (true, false, Some(rest)) = (hinted, result.is_empty(), result.raw().strip_prefix('{')) {
        let mut text = String::with_capacity(rest.len() + 32);
        text.push_str("{\"resultType\":\"complete\",");
        text.push_str(rest);
        return Cow::Owned(text);
    }
    let mut object = ObjectWriter::new();
    if !typed {
        object.string("resultType", "complete");
    }
    for (key, value) in result.members() {
        if hinted || !(key.is_text("ttlMs") || key.is_text("cacheScope")) {
            object.copy(key, value);
        }
    }
    if let (false, Some(hint)) = (hinted, hint) {
        object.raw("ttlMs", &hint.ttl_ms.to_string()).string("cacheScope", hint.scope.as_str());
    }
    Cow::Owned(object.finish())
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::json::{Document, Limits};

    use super::*;

    fn run(text: &str, revision: Revision, hint: Option<CacheHint>) -> String {
        let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
        convert(document.root(), revision, hint).into_owned()
    }

    #[test]
    fn modern_members_are_stripped_for_a_legacy_peer() {
        let text = r#"{"resultType":"complete","content":[],"structuredContent":[1],"x":1.50}"#;
        assert_eq!(run(text, Revision::V2025_11_25, None), r#"{"content":[],"x":1.50}"#);
        let object = r#"{"content":[],"structuredContent":{"a":1}}"#;
        assert_eq!(run(object, Revision::V2025_06_18, None), object);
        assert_eq!(run(object, Revision::V2025_03_26, None), r#"{"content":[]}"#);
    }

    #[test]
    fn a_legacy_result_becomes_complete_and_cacheable_for_a_modern_peer() {
        let hint = CacheHint { ttl_ms: 0, scope: CacheScope::Private };
        assert_eq!(
            run(r#"{"tools":[]}"#, Revision::V2026_07_28, Some(hint)),
            r#"{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}"#
        );
        let done = r#"{"resultType":"task","taskId":"1"}"#;
        assert_eq!(run(done, Revision::V2026_07_28, None), done);
    }
}
