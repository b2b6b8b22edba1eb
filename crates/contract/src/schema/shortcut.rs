//! A first look at a value that can only say yes.
//!
//! Most schemas of tools are plain: types, properties, required, bounds, enums of text. For those a value that keeps the
//! schema is recognised in one walk over the tape. Guarantee: what is accepted here keeps the schema in every dialect.
//! Everything else (a schema with any other keyword, a value that fails or whose reading takes care, such as a number of
//! many digits or a text with escapes) is left to the compiled validator, which alone can refuse.

use serde_json::{Map, Value};

use crate::json::{Kind, Node, Number};

/// Doubles and integers up to this size are told apart exactly.
const EXACT_INTEGER_MAX: i64 = 1 << 53;
/// Properties of one object that a look keeps count of.
const PROPERTIES_MAX: usize = 64;

/// A plain schema.
#[derive(Debug)]
pub(super) struct Shortcut {
    kinds: u8,
    /// Nothing but the kinds is asked for.
    kinds_only: bool,
    texts: Option<Vec<Name>>,
    length: Option<(u64, u64)>,
    bounds: Vec<Bound>,
    entries: Option<(u64, u64)>,
    items: Option<Box<Shortcut>>,
    object: Option<Members>,
}

/// Kinds of values, one bit each. A number written as an integer is both; 1.0 is an integer in some dialects only.
mod kinds {
    pub(super) const NULL: u8 = 1;
    pub(super) const BOOLEAN: u8 = 1 << 1;
    pub(super) const NUMBER: u8 = 1 << 2;
    pub(super) const INTEGER: u8 = 1 << 3;
    pub(super) const STRING: u8 = 1 << 4;
    pub(super) const ARRAY: u8 = 1 << 5;
    pub(super) const OBJECT: u8 = 1 << 6;
    pub(super) const ALL: u8 = u8::MAX;
}

/// A name to compare with many others: most differ in their length or in their first or last bytes.
#[derive(Debug)]
struct Name {
    head: Head,
    text: Box<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    len: usize,
    first: u64,
    last: u64,
}

#[derive(Debug, Clone, Copy)]
enum Bound {
    AtLeast(Limit),
    AtMost(Limit),
    Above(Limit),
    Below(Limit),
}

/// A bound that is exact both as an integer and as a double, or is no integer.
#[derive(Debug, Clone, Copy)]
enum Limit {
    Integer(i64),
    Double(f64),
}

#[derive(Debug)]
struct Members {
    properties: Vec<(Name, Shortcut)>,
    /// One bit for each of the properties that must be there.
    required: u64,
    others: Others,
}

#[derive(Debug)]
enum Others {
    Any,
    None,
    Like(Box<Shortcut>),
}

impl Shortcut {
    /// The shortcut of an admitted schema, if it is plain. `formats` are asserted, or mere annotations.
    pub(super) fn of(schema: &Value, formats: bool) -> Option<Self> {
        let schema = match schema {
            Value::Bool(true) => return Some(Self::any()),
            Value::Object(schema) => schema,
            _ => return None,
        };
        let mut plain = Self::any();
        for (keyword, value) in schema {
            match keyword.as_str() {
                "type" => plain.kinds = kinds_of(value)?,
                "enum" => plain.texts = Some(value.as_array()?.iter().map(text).collect::<Option<_>>()?),
                "const" if schema.contains_key("enum") => return None,
                "const" => plain.texts = Some(vec![text(value)?]),
                "minLength" | "maxLength" => plain.length = Some(range(schema, "minLength", "maxLength")?),
                "minItems" | "maxItems" => plain.entries = Some(range(schema, "minItems", "maxItems")?),
                "minimum" => plain.bounds.push(Bound::AtLeast(limit(value)?)),
                "maximum" => plain.bounds.push(Bound::AtMost(limit(value)?)),
                "exclusiveMinimum" => plain.bounds.push(Bound::Above(limit(value)?)),
                "exclusiveMaximum" => plain.bounds.push(Bound::Below(limit(value)?)),
                "items" => plain.items = Some(Box::new(Self::of(value, formats)?)),
                "properties" | "required" | "additionalProperties" => {
                    if plain.object.is_none() {
                        plain.object = Some(Members::of(schema, formats)?);
                    }
                }
                "format" if !formats => {}
                "$schema" | "$comment" | "title" | "description" | "default" | "examples" | "deprecated"
                | "readOnly" | "writeOnly" => {}
                other if other.starts_with("x-") => {}
                _ => return None,
            }
        }
        plain.kinds_only = plain.texts.is_none()
            && plain.length.is_none()
            && plain.bounds.is_empty()
            && plain.entries.is_none()
            && plain.items.is_none()
            && plain.object.is_none();
        Some(plain)
    }

    fn any() -> Self {
        Self {
            kinds: kinds::ALL,
            kinds_only: true,
            texts: None,
            length: None,
            bounds: Vec::new(),
            entries: None,
            items: None,
            object: None,
        }
    }

    /// `true` if `value` certainly keeps the schema.
    pub(super) fn accepts(&self, value: Node<'_>) -> bool {
        let kind = value.kind();
        let kinds = match kind {
            Kind::Null => kinds::NULL,
            Kind::Boolean => kinds::BOOLEAN,
            Kind::Number if matches!(value.as_number(), Some(Number::Integer(..))) => {
                kinds::NUMBER | kinds::INTEGER
            }
            Kind::Number => kinds::NUMBER,
            Kind::String => kinds::STRING,
            Kind::Array => kinds::ARRAY,
            Kind::Object => kinds::OBJECT,
        };
        if self.kinds & kinds == 0 {
            return false;
        }
        if self.kinds_only {
            return true;
        }
        if let Some(texts) = &self.texts {
            let Some(text) = value.plain_str() else { return false };
            let head = Head::of(text);
            if !texts.iter().any(|allowed| allowed.is(head, text)) {
                return false;
            }
        }
        match kind {
            Kind::String => self.length.is_none_or(|(least, most)| {
                value.plain_str().is_some_and(|text| {
                    let length = if text.is_ascii() { text.len() } else { text.chars().count() } as u64;
                    (least..=most).contains(&length)
                })
            }),
            Kind::Number => {
                self.bounds.is_empty()
                    || value.as_number().is_some_and(|number| self.bounds.iter().all(|b| b.holds(number)))
            }
            Kind::Array => {
                self.entries.is_none_or(|(least, most)| (least..=most).contains(&(value.len() as u64)))
                    && self
                        .items
                        .as_ref()
                        .is_none_or(|items| value.elements().all(|item| items.accepts(item)))
            }
            Kind::Object => self.object.as_ref().is_none_or(|members| members.accept(value)),
            Kind::Null | Kind::Boolean => true,
        }
    }
}

impl Members {
    fn of(schema: &Map<String, Value>, formats: bool) -> Option<Self> {
        let properties = match schema.get("properties") {
            None => Vec::new(),
            Some(properties) => properties
                .as_object()?
                .iter()
                .map(|(name, schema)| Some((Name::new(name), Shortcut::of(schema, formats)?)))
                .collect::<Option<Vec<_>>>()?,
        };
        if properties.len() > PROPERTIES_MAX {
            return None;
        }
        let mut required = 0;
        for name in schema.get("required").map_or(Some(&Vec::new()), Value::as_array)? {
            let at = properties.iter().position(|(property, _)| name.as_str() == Some(&property.text))?;
            required |= 1 << at;
        }
        let others = match schema.get("additionalProperties") {
            None | Some(Value::Bool(true)) => Others::Any,
            Some(Value::Bool(false)) => Others::None,
            Some(schema) => Others::Like(Box::new(Shortcut::of(schema, formats)?)),
        };
        Some(Self { properties, required, others })
    }

    fn accept(&self, object: Node<'_>) -> bool {
        let mut found = 0u64;
        // Values are mostly written in the order of their schema.
        let mut expected = 0;
        for (name, value) in object.named_members() {
            match self.position(name, expected) {
                Some((at, property)) => {
                    if !property.accepts(value) {
                        return false;
                    }
                    found |= 1 << at;
                    expected = at + 1;
                }
                None => match &self.others {
                    Others::Any => {}
                    Others::None => return false,
                    Others::Like(schema) if schema.accepts(value) => {}
                    Others::Like(_) => return false,
                },
            }
        }
        found & self.required == self.required
    }

    #[inline]
    fn position(&self, name: &str, expected: usize) -> Option<(usize, &Shortcut)> {
        let head = Head::of(name);
        if let Some((property, schema)) = self.properties.get(expected)
            && property.is(head, name)
        {
            return Some((expected, schema));
        }
        let mut all = self.properties.iter().enumerate();
        all.find_map(|(at, (property, schema))| property.is(head, name).then_some((at, schema)))
    }
}

impl Name {
    fn new(text: &str) -> Self {
        Self { head: Head::of(text), text: text.into() }
    }

    /// `true` if this is `text`, whose head is `head`.
    #[inline]
    fn is(&self, head: Head, text: &str) -> bool {
        self.head == head && (head.len <= Head::BYTES || *self.text == *text)
    }
}

impl Head {
    /// Texts up to this length are equal if their heads are.
    const BYTES: usize = 16;

    #[inline]
    fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let (first, last) = if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
        } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into())
        } else {
            (bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)), 0)
        };
        Self { len: bytes.len(), first, last }
    }
}

impl Bound {
    #[inline]
    fn holds(self, number: Number<'_>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let (Self::AtLeast(limit) | Self::AtMost(limit) | Self::Above(limit) | Self::Below(limit)) = self;
        let order = match (number, limit) {
            (Number::Integer(_, n), Limit::Integer(limit)) => Some(n.cmp(&limit)),
            (Number::Integer(_, n), Limit::Double(limit)) if n.abs() <= EXACT_INTEGER_MAX => {
                (n as f64).partial_cmp(&limit)
            }
            (Number::Double(_, x), Limit::Integer(limit)) => x.partial_cmp(&(limit as f64)),
            (Number::Double(_, x), Limit::Double(limit)) => x.partial_cmp(&limit),
            _ => None,
        };
        match self {
            Self::AtLeast(_) => matches!(order, Some(Greater | Equal)),
            Self::AtMost(_) => matches!(order, Some(Less | Equal)),
            Self::Above(_) => order == Some(Greater),
            Self::Below(_) => order == Some(Less),
        }
    }
}

fn text(value: &Value) -> Option<Name> {
    value.as_str().map(Name::new)
}

fn kinds_of(value: &Value) -> Option<u8> {
    let one = |name: &Value| {
        Some(match name.as_str()? {
            "null" => kinds::NULL,
            "boolean" => kinds::BOOLEAN,
            "number" => kinds::NUMBER,
            "integer" => kinds::INTEGER,
            "string" => kinds::STRING,
            "array" => kinds::ARRAY,
            "object" => kinds::OBJECT,
            _ => return None,
        })
    };
    match value {
        Value::Array(names) => names.iter().try_fold(0, |kinds, name| Some(kinds | one(name)?)),
        name => one(name),
    }
}

fn range(schema: &Map<String, Value>, least: &str, most: &str) -> Option<(u64, u64)> {
    let bound = |keyword: &str, absent: u64| schema.get(keyword).map_or(Some(absent), Value::as_u64);
    Some((bound(least, 0)?, bound(most, u64::MAX)?))
}

fn limit(value: &Value) -> Option<Limit> {
    match value.as_i64() {
        Some(n) if n.abs() <= EXACT_INTEGER_MAX => Some(Limit::Integer(n)),
        Some(_) => None,
        None => value.as_f64().filter(|_| value.is_f64()).map(Limit::Double),
    }
}

#[cfg(test)]
mod tests;
