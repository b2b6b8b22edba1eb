//! `x-mcp-header`: arguments that a modern HTTP client mirrors as `Mcp-Param-*` headers.
//!
//! Guarantees: a set that was read from a schema is legal (names are tokens and unique ignoring case; only strings,
//! integers and booleans that are reached through `properties` alone). A call accepted by [`ParamHeaders::check`] has
//! a matching header for every marked argument that is present and not null, and no header without its argument.

use std::borrow::Cow;

use toolcrib_contract::json::{Kind, Node};

use crate::header::{self, Field, Headers, Mismatch};

const KEYWORD: &str = "x-mcp-header";
const INTEGER_MAX: i64 = (1 << 53) - 1;

/// Property marked with `x-mcp-header`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ParamHeader {
    /// Header name in lower case, with the prefix `mcp-param-`.
    header: Box<str>,
    path: Vec<Box<str>>,
}

/// All marked properties of an input schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParamHeaders(Vec<ParamHeader>);

/// Reason why a schema's marks are illegal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IllegalMark {
    #[error("x-mcp-header at {0} is not a non-empty header token")]
    NotAToken(Box<str>),
    #[error("x-mcp-header {0} is used twice")]
    Repeated(Box<str>),
    #[error("x-mcp-header at {0} is on a property that is no string, integer or boolean")]
    WrongType(Box<str>),
    #[error("x-mcp-header at {0} is not reached through properties alone")]
    OutOfReach(Box<str>),
}

impl ParamHeaders {
    /// Reads the marked properties of an input schema.
    pub fn read(schema: Node<'_>) -> Result<Self, IllegalMark> {
        let mut found = Vec::new();
        walk(schema, &mut Vec::new(), &mut found)?;
        let total = count(schema);
        if total != found.len() {
            return Err(IllegalMark::OutOfReach("the schema".into()));
        }
        for (index, mark) in found.iter().enumerate() {
            if found.iter().skip(index + 1).any(|other| other.header == mark.header) {
                return Err(IllegalMark::Repeated(mark.header.clone()));
            }
        }
        Ok(Self(found))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the headers that a client must send with these arguments; names are in lower case.
    #[must_use]
    pub fn headers_for(&self, arguments: Option<Node<'_>>) -> Vec<(Box<str>, String)> {
        self.0
            .iter()
            .filter_map(|mark| {
                let value = mark.argument(arguments)?;
                Some((mark.header.clone(), header::encode(&text_of(value)?).into_owned()))
            })
            .collect()
    }

    /// Checks that a call's headers match its arguments.
    pub fn check(&self, headers: &dyn Headers, arguments: Option<Node<'_>>) -> Result<(), Mismatch> {
        for mark in &self.0 {
            let Some(value) = mark.argument(arguments) else {
                if headers.field(&mark.header) == Field::Absent {
                    continue;
                }
                return Err(Mismatch::Different { header: mark.header.clone(), expected: "nothing".into() });
            };
            // A value of the wrong type has no text form; the schema check refuses it.
            let Some(expected) = text_of(value) else { continue };
            match headers.field(&mark.header).require(&mark.header, &expected) {
                Err(Mismatch::Different { .. }) if same_integer(headers, &mark.header, value) => {}
                other => other?,
            }
        }
        Ok(())
    }
}

impl ParamHeader {
    fn argument<'a>(&self, arguments: Option<Node<'a>>) -> Option<Node<'a>> {
        let value = self.path.iter().try_fold(arguments?, |node, name| node.get(name))?;
        (!value.is_null()).then_some(value)
    }
}

/// `true` if header and value are the same integer: `42.0` equals `42`.
fn same_integer(headers: &dyn Headers, name: &str, value: Node<'_>) -> bool {
    let Field::One(bytes) = headers.field(name) else { return false };
    let Some(text) = header::decode(bytes) else { return false };
    match (integer(&text), (value.kind() == Kind::Number).then(|| integer(value.raw())).flatten()) {
        (Some(left), Some(right)) => left == right,
        _ => false,
    }
}

fn integer(text: &str) -> Option<i64> {
    let whole = match text.split_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0') => whole,
        Some(_) => return None,
        None => text,
    };
    whole.parse().ok().filter(|number: &i64| number.abs() <= INTEGER_MAX)
}

fn text_of(value: Node<'_>) -> Option<Cow<'_, str>> {
    match value.kind() {
        Kind::String => value.as_str(),
        Kind::Number | Kind::Boolean => Some(Cow::Borrowed(value.raw())),
        _ => None,
    }
}

fn walk(schema: Node<'_>, path: &mut Vec<Box<str>>, found: &mut Vec<ParamHeader>) -> Result<(), IllegalMark> {
    if let (Some(mark), false) = (schema.get(KEYWORD), path.is_empty()) {
        let place = || path.join("/").into_boxed_str();
        let token =
            mark.as_str().filter(|text| is_token(text)).ok_or_else(|| IllegalMark::NotAToken(place()))?;
        let kind = schema.get("type").and_then(toolcrib_contract::json::Node::as_str);
        if !matches!(kind.as_deref(), Some("string" | "integer" | "boolean")) {
            return Err(IllegalMark::WrongType(place()));
        }
        let header = format!("{}{}", header::PARAM_PREFIX, token.to_ascii_lowercase());
        found.push(ParamHeader { header: header.into(), path: path.clone() });
    }
    if let Some(properties) = schema.get("properties") {
        for (key, property) in properties.members() {
            path.push(key.as_str().unwrap_or_default().into());
            walk(property, path, found)?;
            path.pop();
        }
    }
    Ok(())
}

/// Keywords whose values are data and no schemas.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];

/// Keywords whose members are schemas under free names, of which `x-mcp-header` may be one.
const NAMED: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

/// Counts the keyword in the whole schema.
fn count(schema: Node<'_>) -> usize {
    if !schema.is_object() {
        return schema.elements().map(count).sum();
    }
    let below = schema.members().filter(|(key, _)| !DATA.iter().any(|name| key.is_text(name)));
    let below = below.map(|(key, value)| match NAMED.iter().any(|name| key.is_text(name)) {
        true => value.members().map(|(_, schema)| count(schema)).sum(),
        false => count(value),
    });
    usize::from(schema.get(KEYWORD).is_some()) + below.sum::<usize>()
}

/// `true` if `text` is a `token` of RFC 9110.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::json::{Document, Limits};

    use super::*;

    struct One(&'static str, &'static str);

    impl Headers for One {
        fn field(&self, name: &str) -> Field<'_> {
            if name == self.0 { Field::One(self.1.as_bytes()) } else { Field::Absent }
        }
    }

    fn read(schema: &str) -> Result<ParamHeaders, IllegalMark> {
        ParamHeaders::read(Document::parse(schema.as_bytes(), &Limits::message()).unwrap().root())
    }

    fn check(headers: &dyn Headers, arguments: &str) -> Result<(), Mismatch> {
        let marks = read(
            r#"{"type":"object","properties":{"a":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"Num"}}}}}"#,
        )
        .unwrap();
        let document = Document::parse(arguments.as_bytes(), &Limits::message()).unwrap();
        marks.check(headers, Some(document.root()))
    }

    #[test]
    fn a_marked_argument_needs_its_header_and_only_then() {
        assert_eq!(check(&One("mcp-param-num", "42"), r#"{"a":{"n":42}}"#), Ok(()));
        assert_eq!(check(&One("mcp-param-num", "42.0"), r#"{"a":{"n":42}}"#), Ok(()));
        assert!(check(&One("mcp-param-num", "43"), r#"{"a":{"n":42}}"#).is_err());
        assert!(check(&One("mcp-param-num", "42.5"), r#"{"a":{"n":42}}"#).is_err());
        assert!(matches!(check(&header::NoHeaders, r#"{"a":{"n":42}}"#), Err(Mismatch::Missing { .. })));
        assert_eq!(check(&header::NoHeaders, r#"{"a":{"n":null}}"#), Ok(()));
        assert_eq!(check(&header::NoHeaders, r#"{"a":{}}"#), Ok(()));
        assert!(check(&One("mcp-param-num", "42"), r#"{"a":{}}"#).is_err());
    }

    #[test]
    fn illegal_marks_are_refused_each_for_its_reason() {
        let property = |mark: &str| format!(r#"{{"properties":{{"p":{mark}}}}}"#);
        assert!(matches!(
            read(&property(r#"{"type":"string","x-mcp-header":""}"#)),
            Err(IllegalMark::NotAToken(_))
        ));
        assert!(matches!(
            read(&property(r#"{"type":"string","x-mcp-header":"a b"}"#)),
            Err(IllegalMark::NotAToken(_))
        ));
        assert!(matches!(
            read(&property(r#"{"type":"number","x-mcp-header":"a"}"#)),
            Err(IllegalMark::WrongType(_))
        ));
        assert!(matches!(
            read(&property(r#"{"type":"array","items":{"type":"string","x-mcp-header":"a"}}"#)),
            Err(IllegalMark::OutOfReach(_))
        ));
        assert!(matches!(
            read(
                r#"{"properties":{"p":{"type":"string","x-mcp-header":"A"},"q":{"type":"string","x-mcp-header":"a"}}}"#
            ),
            Err(IllegalMark::Repeated(_))
        ));
        assert!(read(&property(r#"{"type":"string","x-mcp-header":"Ok"}"#)).is_ok());
    }

    #[test]
    fn a_property_of_the_keywords_name_is_no_mark() {
        let named = |schema: &str| format!(r#"{{"properties":{{"x-mcp-header":{schema}}}}}"#);
        for schema in ["true", "{}", r#"{"type":"string"}"#] {
            assert_eq!(read(&named(schema)).map(|marks| marks.0.len()), Ok(0), "{schema}");
        }
        assert_eq!(read(&named(r#"{"type":"string","x-mcp-header":"A"}"#)).map(|marks| marks.0.len()), Ok(1));
        let out_of_reach = r#"{"$defs":{"a":{"type":"string","x-mcp-header":"A"}}}"#;
        assert!(matches!(read(out_of_reach), Err(IllegalMark::OutOfReach(_))));
    }
}
