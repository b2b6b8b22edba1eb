//! TypeScript stubs.

use std::fmt::Write as _;

use super::ToolTypes;
use super::build::{Named, Shape, Type};
use crate::json::write_string;
use crate::text::one_line;

pub(super) fn write(types: &[Named], tools: &[ToolTypes]) -> String {
    let mut out = String::from("// Written by `toolcrib types --lang ts`; do not edit.\n");
    for named in types {
        out.push('\n');
        comment(&mut out, "", named.description.as_deref());
        match &named.shape {
            Shape::Alias(kind) => {
                let _ = writeln!(out, "export type {} = {};", named.name, text(kind));
            }
            Shape::Object(fields) => {
                // A type alias, because unlike an interface it is assignable to a `Record`.
                let _ = writeln!(out, "export type {} = {{", named.name);
                for field in fields {
                    comment(&mut out, "  ", field.description.as_deref());
                    let mark = if field.required { "" } else { "?" };
                    let _ = writeln!(out, "  {}{mark}: {};", key(&field.key), text(&field.kind));
                }
                out.push_str("};\n");
            }
        }
    }
    out.push_str("\n/** Every tool: what it takes, and what it returns. */\nexport interface Tools {\n");
    for tool in tools {
        comment(&mut out, "  ", tool.description.as_deref());
        let result = tool.result.as_deref().unwrap_or("unknown");
        let _ =
            writeln!(out, "  {}: {{ arguments: {}; result: {result} }};", quoted(&tool.name), tool.arguments);
    }
    out.push_str("}\n");
    out
}

fn comment(out: &mut String, indent: &str, text: Option<&str>) {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return };
    let _ = writeln!(out, "{indent}/** {} */", one_line(&text.replace('\n', " ")).replace("*/", "*\\/"));
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    write_string(&mut out, text);
    // JSON allows both characters in a string; some TypeScript tools do not.
    out.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn key(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain { name.to_owned() } else { quoted(name) }
}

fn text(kind: &Type) -> String {
    match kind {
        Type::Any => "unknown".to_owned(),
        Type::Never => "never".to_owned(),
        Type::Null => "null".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::Integer | Type::Number => "number".to_owned(),
        Type::String => "string".to_owned(),
        Type::Literals(list) => {
            list.iter().map(|text| text.replace('\u{2028}', "\\u2028")).collect::<Vec<_>>().join(" | ")
        }
        Type::Array(item) => format!("Array<{}>", text(item)),
        // Not `Record`: only an index signature may refer to the alias being defined.
        Type::Map(value) => format!("{{ [key: string]: {} }}", text(value)),
        Type::Union(parts) => parts.iter().map(text).collect::<Vec<_>>().join(" | "),
        Type::Named { name, .. } => name.clone(),
    }
}
