//! Inserts or removes one entry in a JSON file that may have comments and trailing commas.

use std::ops::Range;
use std::path::Path;

use serde_json::{Map, Value};

use super::EditError;

/// A member of an object, with the byte offsets of its key and value.
struct Member {
    key: String,
    start: usize,
    value: Range<usize>,
}

struct Object {
    open: usize,
    close: usize,
    members: Vec<Member>,
}

/// Parses a JSON text with comments. An empty text is an empty object.
pub(crate) fn value(path: &Path, text: &str) -> Result<Value, EditError> {
    if plain(text).trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    serde_json::from_str(&plain(text)).map_err(|error| EditError::Malformed {
        path: path.to_owned(),
        kind: "JSON",
        cause: error.to_string(),
    })
}

/// Returns the text with this entry set, everything else unchanged.
pub(crate) fn set(
    path: &Path,
    text: &str,
    section: &str,
    name: &str,
    entry: &Value,
) -> Result<String, EditError> {
    let mut wanted = value(path, text)?;
    let shape = || EditError::Shape { path: path.to_owned(), what: section.to_owned() };
    let members = wanted.as_object_mut().ok_or_else(shape)?;
    let servers = members.entry(section).or_insert_with(|| Value::Object(Map::new()));
    servers.as_object_mut().ok_or_else(shape)?.insert(name.to_owned(), entry.clone());
    let changed = if plain(text).trim().is_empty() {
        format!("{}\n", pretty(&wanted, ""))
    } else {
        spliced(text, section, name, entry).ok_or_else(|| EditError::Unsafe { path: path.to_owned() })?
    };
    proven(path, changed, &wanted)
}

/// Returns the text without this entry, or the unchanged text if it has none.
pub(crate) fn remove(path: &Path, text: &str, section: &str, name: &str) -> Result<String, EditError> {
    let mut wanted = value(path, text)?;
    let servers = wanted.get_mut(section).and_then(Value::as_object_mut);
    if servers.and_then(|servers| servers.shift_remove(name)).is_none() {
        return Ok(text.to_owned());
    }
    let changed = cut(text, section, name).ok_or_else(|| EditError::Unsafe { path: path.to_owned() })?;
    proven(path, changed, &wanted)
}

/// Returns `text` if it parses to exactly `wanted`, else [`EditError::Unsafe`].
fn proven(path: &Path, text: String, wanted: &Value) -> Result<String, EditError> {
    if value(path, &text)? == *wanted { Ok(text) } else { Err(EditError::Unsafe { path: path.to_owned() }) }
}

fn spliced(text: &str, section: &str, name: &str, entry: &Value) -> Option<String> {
    let root = object(text, skip(text, 0))?;
    let Some(found) = root.members.iter().find(|member| member.key == section) else {
        let inner = Value::Object(Map::from_iter([(name.to_owned(), entry.clone())]));
        return inserted(text, &root, section, &inner);
    };
    let servers = object(text, found.value.start)?;
    match servers.members.iter().find(|member| member.key == name) {
        Some(member) => {
            let indent = indent_at(text, member.start);
            Some(format!(
                "{}{}{}",
                text.get(..member.value.start)?,
                pretty(entry, &indent),
                text.get(member.value.end..)?
            ))
        }
        None => inserted(text, &servers, name, entry),
    }
}

/// Inserts `key` as the last member of `into`.
fn inserted(text: &str, into: &Object, key: &str, value: &Value) -> Option<String> {
    let key = Value::from(key).to_string();
    if let Some(last) = into.members.last() {
        let indent = indent_at(text, last.start);
        let (before, after) = (text.get(..last.value.end)?, text.get(last.value.end..)?);
        return Some(format!("{before},\n{indent}{key}: {}{after}", pretty(value, &indent)));
    }
    let outer = indent_at(text, into.open);
    let indent = format!("{outer}  ");
    let (before, inner, after) =
        (text.get(..=into.open)?, text.get(into.open + 1..into.close)?, text.get(into.close..)?);
    let end = if inner.contains('\n') { inner.to_owned() } else { format!("{}\n{outer}", inner.trim_end()) };
    Some(format!("{before}\n{indent}{key}: {}{end}{after}", pretty(value, &indent)))
}

fn cut(text: &str, section: &str, name: &str) -> Option<String> {
    let root = object(text, skip(text, 0))?;
    let section = root.members.iter().find(|member| member.key == section)?;
    let servers = object(text, section.value.start)?;
    let at = servers.members.iter().position(|member| member.key == name)?;
    let member = servers.members.get(at)?;
    let after = skip(text, member.value.end);
    let followed = text.as_bytes().get(after) == Some(&b',');
    let before = at.checked_sub(1).and_then(|before| servers.members.get(before));
    let (from, to) = match (followed, before) {
        (true, _) => (line_start(text, member.start), after + 1),
        (false, Some(before)) => (before.value.end, member.value.end),
        (false, None) => (line_start(text, member.start), member.value.end),
    };
    Some(format!("{}{}", text.get(..from)?, text.get(to..)?))
}

/// Pretty-prints `value`, with `indent` before each line but the first.
fn pretty(value: &Value, indent: &str) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default().replace('\n', &format!("\n{indent}"))
}

/// Returns the offset of the line feed before `at` if only white space lies between, else `at`.
fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rfind('\n').unwrap_or(0);
    if before.get(line..).is_some_and(|rest| rest.trim().is_empty()) { line } else { at }
}

/// Returns the indentation of the line that contains `at`.
fn indent_at(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rfind('\n').map_or(0, |newline| newline + 1);
    let rest = before.get(line..).unwrap_or_default();
    rest.chars().take_while(|character| matches!(character, ' ' | '\t')).collect()
}

/// Returns the offset after white space and comments.
fn skip(text: &str, mut at: usize) -> usize {
    let bytes = text.as_bytes();
    loop {
        match (bytes.get(at), bytes.get(at + 1)) {
            (Some(b' ' | b'\t' | b'\r' | b'\n'), _) => at += 1,
            (Some(b'/'), Some(b'/')) => {
                at += text.get(at..).and_then(|rest| rest.find('\n')).unwrap_or(text.len() - at);
            }
            (Some(b'/'), Some(b'*')) => {
                let rest = text.get(at + 2..).unwrap_or_default();
                at += 2 + rest.find("*/").map_or(rest.len(), |end| end + 2);
            }
            // Byte order mark.
            (Some(0xef), Some(0xbb)) if at == 0 => at += 3,
            _ => return at,
        }
    }
}

/// Returns the offset after the string that begins at `at`.
fn string_end(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = at + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Returns the offset after the value that begins at `at`.
fn value_end(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (at, 0usize);
    loop {
        match bytes.get(at)? {
            b'"' => at = string_end(text, at)?,
            b'{' | b'[' => (at, depth) = (at + 1, depth + 1),
            b'}' | b']' => (at, depth) = (at + 1, depth.checked_sub(1)?),
            b'/' => at = skip(text, at).max(at + 1),
            _ if depth > 0 => at += 1,
            _ => {
                let rest = text.get(at..)?;
                let end = rest.find(|c: char| matches!(c, ',' | '}' | ']' | '/') || c.is_whitespace());
                at += end.filter(|end| *end > 0)?;
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

fn object(text: &str, open: usize) -> Option<Object> {
    let bytes = text.as_bytes();
    if bytes.get(open) != Some(&b'{') {
        return None;
    }
    let mut members = Vec::new();
    let mut at = skip(text, open + 1);
    loop {
        match bytes.get(at)? {
            b'}' => return Some(Object { open, close: at, members }),
            b',' => at = skip(text, at + 1),
            b'"' => {
                let end = string_end(text, at)?;
                let key = serde_json::from_str(text.get(at..end)?).ok()?;
                let colon = skip(text, end);
                let value = skip(text, colon + 1);
                let value = value..value_end(text, value)?;
                let next = skip(text, value.end);
                members.push(Member { key, start: at, value });
                at = next;
            }
            _ => return None,
        }
    }
}

/// Converts the text to strict JSON of the same layout: comments and trailing commas become blanks.
fn plain(text: &str) -> String {
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let end = match byte {
            b'"' => string_end(text, at).unwrap_or(bytes.len()).min(bytes.len()),
            b'/' | 0xef => skip(text, at).max(at + 1),
            _ => at + 1,
        };
        let piece = bytes.get(at..end).unwrap_or_default();
        match byte {
            b'"' => out.extend_from_slice(piece),
            b'/' | 0xef if end > at + 1 => {
                out.extend(piece.iter().map(|byte| if *byte == b'\n' { b'\n' } else { b' ' }));
            }
            b',' if matches!(bytes.get(skip(text, end)), Some(b'}' | b']')) => out.push(b' '),
            other => out.push(*other),
        }
        at = end;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry() -> Value {
        json!({"type": "http", "url": "http://127.0.0.1:7420/mcp"})
    }

    fn put(text: &str) -> String {
        set(Path::new("f"), text, "servers", "toolcrib", &entry()).unwrap()
    }

    #[test]
    fn comments_order_and_spacing_stay() {
        let before = "{\n\t// mine\n\t\"servers\": {\n\t\t\"a\": {\"command\": \"x\"}, // first\n\t},\n\t\"inputs\": [1, 2,],\n}\n";
        let after = put(before);
        assert!(
            after.starts_with(
                "{\n\t// mine\n\t\"servers\": {\n\t\t\"a\": {\"command\": \"x\"},\n\t\t\"toolcrib\": {"
            ),
            "{after}"
        );
        assert!(after.ends_with(", // first\n\t},\n\t\"inputs\": [1, 2,],\n}\n"), "{after}");
        assert_eq!(remove(Path::new("f"), &after, "servers", "toolcrib").unwrap(), before);
    }

    #[test]
    fn every_kind_of_file_takes_an_entry_and_gives_it_back() {
        for before in [
            "{}",
            "{ }\n",
            "{\"servers\":{}}",
            "{\"servers\": {\n  }\n}",
            "{\"a\":\"}//\\\"\",\"servers\":{\"b\":[{}]}}",
            "{/* c */\"x\":1}",
            "\u{feff}{\"x\": 1}\n",
        ] {
            let after = put(before);
            let wanted = value(Path::new("f"), &after).unwrap();
            assert_eq!(wanted["servers"]["toolcrib"], entry(), "{after}");
            assert_eq!(put(&after), after, "twice is once");
            let gone = remove(Path::new("f"), &after, "servers", "toolcrib").unwrap();
            assert!(value(Path::new("f"), &gone).unwrap()["servers"].get("toolcrib").is_none(), "{gone}");
        }
        assert_eq!(
            put(""),
            "{\n  \"servers\": {\n    \"toolcrib\": {\n      \"type\": \"http\",\n      \"url\": \"http://127.0.0.1:7420/mcp\"\n    }\n  }\n}\n"
        );
    }

    #[test]
    fn an_entry_of_the_same_name_is_replaced_where_it_stands() {
        let after = put("{\"servers\": {\"toolcrib\": {\"url\": \"old\"}, \"b\": 1}}");
        let wanted = value(Path::new("f"), &after).unwrap();
        assert_eq!(wanted["servers"].as_object().unwrap().keys().collect::<Vec<_>>(), ["toolcrib", "b"]);
        assert_eq!(wanted["servers"]["toolcrib"], entry());
    }

    #[test]
    fn what_is_no_such_file_is_left_alone() {
        for text in ["[1]", "{\"servers\": 3}", "{\"servers\": {", "nonsense", "{\"a\" 1}"] {
            assert!(set(Path::new("f"), text, "servers", "toolcrib", &entry()).is_err(), "{text}");
        }
    }
}
