//! Inserts or removes one table in a TOML file.

use std::path::Path;

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table};

use super::EditError;

fn document(path: &Path, text: &str) -> Result<DocumentMut, EditError> {
    text.parse().map_err(|error: toml_edit::TomlError| EditError::Malformed {
        path: path.to_owned(),
        kind: "TOML",
        // The error's further lines only draw the position.
        cause: error.to_string().lines().next().unwrap_or_default().to_owned(),
    })
}

/// Returns the names of the tables under `section`, in file order.
pub(crate) fn names(path: &Path, text: &str, section: &str) -> Result<Vec<String>, EditError> {
    let document = document(path, text)?;
    let table = document.get(section).and_then(Item::as_table_like);
    Ok(table.map(|table| table.iter().map(|(name, _)| name.to_owned()).collect()).unwrap_or_default())
}

/// Returns the text with `[section.name]` set, everything else unchanged.
pub(crate) fn set(
    path: &Path,
    text: &str,
    section: &str,
    name: &str,
    entry: &Value,
) -> Result<String, EditError> {
    let mut document = document(path, text)?;
    if document.is_empty() && !text.is_empty() {
        // `toml_edit` would move comments of a file without tables below the new table.
        return Ok(format!("{text}{}", set(path, "", section, name, entry)?));
    }
    let shape = || EditError::Shape { path: path.to_owned(), what: section.to_owned() };
    let servers = document.entry(section).or_insert_with(|| {
        let mut table = Table::new();
        // An implicit table has no header of its own.
        table.set_implicit(true);
        Item::Table(table)
    });
    let servers = servers.as_table_like_mut().ok_or_else(shape)?;
    let members = entry.as_object().ok_or_else(shape)?;
    let mut table = Table::new();
    for (key, value) in members {
        table.insert(key, Item::Value(toml_value(value)));
    }
    servers.insert(name, Item::Table(table));
    Ok(document.to_string())
}

/// Returns the text without `[section.name]`, or the unchanged text if it has none.
pub(crate) fn remove(path: &Path, text: &str, section: &str, name: &str) -> Result<String, EditError> {
    let mut document = document(path, text)?;
    let Some(servers) = document.get_mut(section).and_then(Item::as_table_like_mut) else {
        return Ok(text.to_owned());
    };
    if servers.remove(name).is_none() {
        return Ok(text.to_owned());
    }
    if servers.is_empty() && document.get(section).and_then(Item::as_table).is_some_and(Table::is_implicit) {
        document.remove(section);
    }
    Ok(document.to_string())
}

fn toml_value(value: &Value) -> toml_edit::Value {
    match value {
        Value::Null => "".into(),
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => toml_edit::Value::Array(items.iter().map(toml_value).collect::<Array>()),
        Value::Object(members) => {
            let mut table = InlineTable::new();
            for (key, value) in members {
                table.insert(key, toml_value(value));
            }
            toml_edit::Value::InlineTable(table)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_rest_of_the_file_stays() {
        let before = "# mine\nmodel = \"m\"   # odd   spacing\n\n[mcp_servers.other]\ncommand = \"x\"\n\n[profiles.a]\nb = 1\n";
        let entry = json!({"url": "http://127.0.0.1:7420/mcp"});
        let after = set(Path::new("f"), before, "mcp_servers", "toolcrib", &entry).unwrap();
        for line in before.lines() {
            assert!(after.contains(line), "{line}: {after}");
        }
        assert!(after.contains("[mcp_servers.toolcrib]\nurl = \"http://127.0.0.1:7420/mcp\""), "{after}");
        assert!(!after.contains("[mcp_servers]\n"), "{after}");
        assert_eq!(remove(Path::new("f"), &after, "mcp_servers", "toolcrib").unwrap(), before);
        assert_eq!(set(Path::new("f"), &after, "mcp_servers", "toolcrib", &entry).unwrap(), after);
    }

    #[test]
    fn a_comment_at_the_head_stays_there() {
        let after = set(Path::new("f"), "# head\n\n", "servers", "a", &json!({"url": "u"})).unwrap();
        assert_eq!(after, "# head\n\n[servers.a]\nurl = \"u\"\n");
    }

    #[test]
    fn what_is_no_such_file_is_left_alone() {
        for text in ["mcp_servers = 3", "= 1", "[a\n"] {
            assert!(set(Path::new("f"), text, "mcp_servers", "toolcrib", &json!({})).is_err(), "{text}");
        }
    }
}
