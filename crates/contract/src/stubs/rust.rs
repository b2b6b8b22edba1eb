//! Rust stubs without dependencies; serde derives are behind the feature `serde`.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::ToolTypes;
use super::build::{Field, Named, Shape, Type};
use super::name::{pascal, snake, unique};
use crate::text::one_line;

const HEAD: &str = r#"// Written by `toolcrib types --lang rust`; do not edit.
#![allow(dead_code, non_camel_case_types, clippy::all)]

use std::collections::BTreeMap;

/// A tool: its name, what it takes, and what it returns.
pub trait Tool {
    const NAME: &'static str;
    type Arguments;
    type Result;
}

/// Any JSON.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(untagged))]
pub enum Json {
    Null,
    Bool(bool),
    Integer(i64),
    Number(f64),
    String(String),
    Array(Vec<Json>),
    Object(BTreeMap<String, Json>),
}
"#;
const DERIVE: &str = "#[derive(Debug, Clone, PartialEq)]\n#[cfg_attr(feature = \"serde\", derive(serde::Serialize, serde::Deserialize)";
const KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield", "union",
];

struct Writer {
    out: String,
    /// Enumerations that fields need, written after the type that owns them.
    more: Vec<(String, Type)>,
    taken: HashSet<String>,
}

pub(super) fn write(types: &[Named], tools: &[ToolTypes]) -> String {
    let mut taken: HashSet<String> = types.iter().map(|named| named.name.clone()).collect();
    taken.extend(["Json", "Tool", "String", "Vec", "Option", "Box", "BTreeMap", "Self"].map(str::to_owned));
    let mut writer = Writer { out: HEAD.to_owned(), more: Vec::new(), taken };
    for named in types {
        writer.named(named);
        while let Some((name, kind)) = writer.more.pop() {
            writer.enumeration(&name, &kind, None);
        }
    }
    for tool in tools {
        writer.out.push('\n');
        comment(&mut writer.out, "", tool.description.as_deref());
        let name = unique(&pascal(&tool.name), &mut writer.taken);
        let result = tool.result.as_deref().unwrap_or("Json");
        let _ = writeln!(
            writer.out,
            "pub struct {name};\nimpl Tool for {name} {{\n    const NAME: &'static str = {};\n    type Arguments = {};\n    type Result = {result};\n}}",
            quoted(&tool.name),
            tool.arguments
        );
    }
    writer.out
}

impl Writer {
    fn named(&mut self, named: &Named) {
        match &named.shape {
            Shape::Object(fields) => self.object(named, fields),
            Shape::Alias(kind @ (Type::Union(_) | Type::Literals(_))) if is_enumeration(kind) => {
                self.enumeration(&named.name, kind, named.description.as_deref());
            }
            Shape::Alias(kind) => {
                let recursive = goes_around(kind);
                let kind = self.text(kind, &format!("{}Value", named.name));
                self.out.push('\n');
                comment(&mut self.out, "", named.description.as_deref());
                if recursive {
                    // A recursive type alias does not compile; a newtype does.
                    let _ = writeln!(
                        self.out,
                        "{DERIVE}, serde(transparent))]\npub struct {}(pub {kind});",
                        named.name
                    );
                } else {
                    let _ = writeln!(self.out, "pub type {} = {kind};", named.name);
                }
            }
        }
    }

    fn object(&mut self, named: &Named, fields: &[Field]) {
        self.out.push('\n');
        comment(&mut self.out, "", named.description.as_deref());
        let _ = writeln!(self.out, "{DERIVE})]\npub struct {} {{", named.name);
        let mut names = HashSet::new();
        for field in fields {
            comment(&mut self.out, "    ", field.description.as_deref());
            let mut name = snake(&field.key);
            if KEYWORDS.contains(&&*name) {
                name.push('_');
            }
            let name = unique(&name, &mut names);
            let kind = self.text(&field.kind, &format!("{}{}", named.name, pascal(&field.key)));
            let mut attributes = String::new();
            if name != field.key {
                let _ = write!(attributes, "rename = {}", quoted(&field.key));
            }
            let kind = if field.required {
                kind
            } else {
                let comma = if attributes.is_empty() { "" } else { ", " };
                let _ = write!(attributes, "{comma}default, skip_serializing_if = \"Option::is_none\"");
                if kind.starts_with("Option<") { kind } else { format!("Option<{kind}>") }
            };
            if !attributes.is_empty() {
                let _ = writeln!(self.out, "    #[cfg_attr(feature = \"serde\", serde({attributes}))]");
            }
            let _ = writeln!(self.out, "    pub {name}: {kind},");
        }
        self.out.push_str("}\n");
    }

    fn enumeration(&mut self, name: &str, kind: &Type, description: Option<&str>) {
        let mut variants = HashSet::new();
        let mut body = String::new();
        let literals = matches!(kind, Type::Literals(_));
        match kind {
            Type::Literals(list) => {
                for text in list {
                    let value: String = serde_json::from_str(text).unwrap_or_default();
                    let variant = variant(&value, &mut variants);
                    let _ = writeln!(
                        body,
                        "    #[cfg_attr(feature = \"serde\", serde(rename = {}))]\n    {variant},",
                        quoted(&value)
                    );
                }
            }
            Type::Union(parts) => {
                for part in parts {
                    let wanted = match part {
                        Type::Named { .. } | Type::Map(_) => "Object",
                        Type::Literals(_) => "Literal",
                        Type::Array(_) => "Array",
                        Type::String => "Text",
                        Type::Integer => "Integer",
                        Type::Number => "Number",
                        Type::Boolean => "Boolean",
                        _ => "Other",
                    };
                    let variant = unique(wanted, &mut variants);
                    let inner = self.text(part, &format!("{name}{variant}"));
                    // Boxed, because a variant may contain the enumeration itself.
                    let inner =
                        if matches!(part, Type::Named { .. }) { format!("Box<{inner}>") } else { inner };
                    let _ = writeln!(body, "    {variant}({inner}),");
                }
            }
            _ => {}
        }
        self.out.push('\n');
        comment(&mut self.out, "", description);
        let tail = if literals { ")]" } else { ", serde(untagged))]" };
        let _ = writeln!(self.out, "{DERIVE}{tail}\npub enum {name} {{\n{body}}}");
    }

    fn text(&mut self, kind: &Type, wanted: &str) -> String {
        match kind {
            Type::Any | Type::Never => "Json".to_owned(),
            Type::Null => "()".to_owned(),
            Type::Boolean => "bool".to_owned(),
            Type::Integer => "i64".to_owned(),
            Type::Number => "f64".to_owned(),
            Type::String => "String".to_owned(),
            Type::Literals(_) if is_enumeration(kind) => self.later(kind.clone(), wanted),
            Type::Literals(list) => {
                if list.iter().any(|text| text.starts_with(['t', 'f'])) { "bool" } else { "i64" }.to_owned()
            }
            Type::Array(item) => format!("Vec<{}>", self.text(item, &format!("{wanted}Item"))),
            Type::Map(value) => format!("BTreeMap<String, {}>", self.text(value, &format!("{wanted}Value"))),
            Type::Union(parts) => {
                let rest: Vec<Type> = parts.iter().filter(|part| **part != Type::Null).cloned().collect();
                let nullable = rest.len() < parts.len();
                let inner = match rest.as_slice() {
                    [only] => self.text(only, wanted),
                    _ => self.later(Type::Union(rest), wanted),
                };
                if nullable { format!("Option<{inner}>") } else { inner }
            }
            Type::Named { name, inside: true } => format!("Box<{name}>"),
            Type::Named { name, inside: false } => name.clone(),
        }
    }

    fn later(&mut self, kind: Type, wanted: &str) -> String {
        let name = unique(wanted, &mut self.taken);
        self.more.push((name.clone(), kind));
        name
    }
}

/// `true` if the type contains a type whose definition it is part of.
fn goes_around(kind: &Type) -> bool {
    match kind {
        Type::Named { inside, .. } => *inside,
        Type::Array(inner) | Type::Map(inner) => goes_around(inner),
        Type::Union(parts) => parts.iter().any(goes_around),
        _ => false,
    }
}

/// `true` if the type needs an enumeration of its own: a choice of strings, or several types without null.
fn is_enumeration(kind: &Type) -> bool {
    match kind {
        Type::Literals(list) => list.iter().all(|text| text.starts_with('"')),
        Type::Union(parts) => !parts.contains(&Type::Null) && parts.len() > 1,
        _ => false,
    }
}

fn variant(value: &str, taken: &mut HashSet<String>) -> String {
    let name = if value.is_empty() { "Empty".to_owned() } else { pascal(value) };
    let name = if name == "Self" { "Self_".to_owned() } else { name };
    unique(&name, taken)
}

fn comment(out: &mut String, indent: &str, text: Option<&str>) {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return };
    let _ = writeln!(out, "{indent}/// {}", one_line(&text.replace('\n', " ")));
}

/// Returns a Rust string literal.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        if letter.is_control() || crate::text::hidden(letter).is_some() {
            out.extend(letter.escape_unicode());
        } else if matches!(letter, '"' | '\\') {
            out.push('\\');
            out.push(letter);
        } else {
            out.push(letter);
        }
    }
    out.push('"');
    out
}
