//! Python stubs: `TypedDict`s from `typing`.

use std::fmt::Write as _;

use super::ToolTypes;
use super::build::{Field, Named, Shape, Type};
use crate::text::{is_hidden, one_line};

const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

pub(super) fn write(types: &[Named], tools: &[ToolTypes]) -> String {
    let mut out = String::from(
        "# Written by `toolcrib types --lang python`; do not edit.\nfrom __future__ import annotations\n\n\
         from typing import Any, Dict, Final, List, Literal, Never, NotRequired, TypeAlias, TypedDict, Union\n",
    );
    for named in types {
        out.push('\n');
        match &named.shape {
            Shape::Alias(kind) => {
                comment(&mut out, "", named.description.as_deref());
                // Quoted, because the alias may refer to itself.
                let _ = writeln!(out, "{}: TypeAlias = {}", named.name, quoted(&text(kind)));
            }
            Shape::Object(fields) if fields.iter().all(|field| is_attribute(&field.key)) => {
                let _ = writeln!(out, "\nclass {}(TypedDict):", named.name);
                comment(&mut out, "    ", named.description.as_deref());
                for field in fields {
                    comment(&mut out, "    ", field.description.as_deref());
                    let _ = writeln!(out, "    {}: {}", field.key, member(field));
                }
                if fields.is_empty() {
                    out.push_str("    pass\n");
                }
                out.push('\n');
            }
            Shape::Object(fields) => {
                comment(&mut out, "", named.description.as_deref());
                let _ = writeln!(out, "{} = TypedDict({}, {{", named.name, quoted(&named.name));
                for field in fields {
                    let _ = writeln!(out, "    {}: {},", quoted(&field.key), quoted(&member(field)));
                }
                out.push_str("})\n");
            }
        }
    }
    out.push_str("\n# Every tool: the names of what it takes and of what it returns.\nTOOLS: Final[Dict[str, tuple[str, str | None]]] = {\n");
    for tool in tools {
        let result = tool.result.as_deref().map_or_else(|| "None".to_owned(), quoted);
        let _ = writeln!(out, "    {}: ({}, {result}),", quoted(&tool.name), quoted(&tool.arguments));
    }
    out.push_str("}\n");
    out
}

fn is_attribute(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && !name.starts_with("__");
    starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !KEYWORDS.contains(&name)
}

fn member(field: &Field) -> String {
    let kind = text(&field.kind);
    if field.required { kind } else { format!("NotRequired[{kind}]") }
}

fn comment(out: &mut String, indent: &str, text: Option<&str>) {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return };
    // `type:` would make it a type comment.
    let text = one_line(&text.replace('\n', " ")).replace("type:", "type :");
    let _ = writeln!(out, "{indent}# {text}");
}

/// Returns a Python string literal with hidden characters escaped.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                out.push('\\');
                out.push(letter);
            }
            _ if is_hidden(letter) => {
                let _ = write!(out, "\\U{:08x}", u32::from(letter));
            }
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}

fn text(kind: &Type) -> String {
    match kind {
        Type::Any => "Any".to_owned(),
        Type::Never => "Never".to_owned(),
        Type::Null => "None".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::Integer => "int".to_owned(),
        Type::Number => "float".to_owned(),
        Type::String => "str".to_owned(),
        Type::Literals(list) => {
            format!("Literal[{}]", list.iter().map(|text| literal(text)).collect::<Vec<_>>().join(", "))
        }
        Type::Array(item) => format!("List[{}]", text(item)),
        Type::Map(value) => format!("Dict[str, {}]", text(value)),
        Type::Union(parts) => format!("Union[{}]", parts.iter().map(text).collect::<Vec<_>>().join(", ")),
        Type::Named { name, .. } => name.clone(),
    }
}

fn literal(text: &str) -> String {
    match text {
        "true" => "True".to_owned(),
        "false" => "False".to_owned(),
        // Decoded first: `\/` and surrogate pairs are valid in JSON and not in Python.
        _ => serde_json::from_str::<String>(text).map_or_else(|_| text.to_owned(), |text| quoted(&text)),
    }
}
