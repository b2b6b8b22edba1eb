//! Fast path of validation: accepts valid values of plain schemas, and never refuses a value.
//!
//! Most schemas of tools are plain: types, properties, required, bounds, enums of strings. A [`Shortcut`] checks a
//! value against such a schema in one walk over the tape. Guarantees that an accepted value is valid in every dialect.
//! Everything else is left to the compiled validator, which alone can refuse: schemas with any other keyword, invalid
//! values, and values that need exact handling, such as numbers with many digits or strings with escapes.

use serde_json::{Map, Value};

use crate::json::{ALL_IN_HEAD, Node, Slot, Text, head, tag};

/// Maximum magnitude up to which every integer is exact as a double.
const EXACT_INTEGER_MAX: u64 = 1 << 53;

/// A plain schema, prepared for a walk over the tape.
#[derive(Debug)]
pub(super) struct Shortcut {
    /// Bit set of the tags that a value may have. A number written as 1.0 is an integer in some dialects only, so here
    /// it is not one.
    tags: u16,
    /// Subset of `tags` that needs no further check.
    free: u16,
    /// Byte lengths, quotes included, at which a string without an escape needs no further check: from the first
    /// number to the sum of both. One wrapping subtraction and one comparison test for it.
    sizes: (u64, u64),
    /// Integers that need no further check.
    integers: Integers,
    /// Strings of `enum` or `const`.
    texts: Option<Vec<Name>>,
    /// Length bounds in characters, for strings without an `enum`.
    length: Option<(u64, u64)>,
    bounds: Vec<Bound>,
    /// Bounds of an array's element count.
    entries: Option<(u64, u64)>,
    items: Option<Box<Shortcut>>,
    object: Option<Members>,
}

const fn bits(tags: &[u8]) -> u16 {
    let mut bits = 0;
    let mut rest = tags;
    while let [tag, tail @ ..] = rest {
        bits |= 1 << *tag;
        rest = tail;
    }
    bits
}

/// A string to compare with many others. Comparing shape and head rules out most of them.
#[derive(Debug)]
struct Name {
    /// Shape of a slot with this text; `head` is its word.
    shape: u64,
    head: u64,
    text: Box<str>,
}

/// Inclusive range of integers.
#[derive(Debug, Clone, Copy)]
struct Integers {
    least: i64,
    most: i64,
}

impl Integers {
    const ALL: Self = Self { least: i64::MIN, most: i64::MAX };
    /// Empty range; it stays empty when it is narrowed.
    const NONE: Self = Self { least: i64::MAX, most: i64::MIN };

    #[inline(always)]
    const fn has(self, integer: i64) -> bool {
        self.least <= integer && integer <= self.most
    }
}

#[derive(Debug, Clone, Copy)]
enum Bound {
    AtLeast(Limit),
    AtMost(Limit),
    Above(Limit),
    Below(Limit),
}

/// Value of a bound: an integer that is exact as a double too, or a double.
#[derive(Debug, Clone, Copy)]
enum Limit {
    Integer(i64),
    Double(f64),
}

#[derive(Debug)]
struct Members {
    properties: Vec<Property>,
    /// Bits of all required properties.
    required: u64,
    others: Others,
}

#[derive(Debug)]
struct Property {
    name: Name,
    /// A bit of its own if the property is required, else 0.
    required: u64,
    schema: Shortcut,
}

#[derive(Debug)]
enum Others {
    Any,
    None,
    Like(Box<Shortcut>),
}

impl Shortcut {
    /// Builds the shortcut of an admitted schema, if it is plain. `formats` is true if `format` asserts.
    pub(super) fn of(schema: &Value, formats: bool) -> Option<Self> {
        let schema = match schema {
            Value::Bool(true) => return Some(Self::any()),
            Value::Object(schema) => schema,
            _ => return None,
        };
        let mut plain = Self::any();
        for (keyword, value) in schema {
            match keyword.as_str() {
                "type" => plain.tags = tags_of(value)?,
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
        plain.settle();
        Some(plain)
    }

    /// Computes the sets and ranges that need no further check: `free`, `sizes` and `integers`.
    fn settle(&mut self) {
        let mut looked_at = 0;
        if let Some(texts) = &mut self.texts {
            self.tags &= bits(&[tag::TEXT]);
            looked_at = self.tags;
            if let Some((least, most)) = self.length.take() {
                texts.retain(|it| (least..=most).contains(&(it.text.chars().count() as u64)));
            }
        }
        if self.length.is_some() {
            looked_at |= bits(&[tag::TEXT, tag::ESCAPED, tag::ESCAPED_KEY]);
        }
        if !self.bounds.is_empty() {
            looked_at |= bits(&[tag::INTEGER, tag::DOUBLE, tag::LARGE]);
        }
        if self.entries.is_some() || self.items.is_some() {
            looked_at |= bits(&[tag::ARRAY]);
        }
        if self.object.is_some() {
            looked_at |= bits(&[tag::OBJECT]);
        }
        self.free = self.tags & !looked_at;
        if self.free & bits(&[tag::TEXT]) != 0 {
            self.sizes = (0, u64::MAX);
        }
        if let Some((least, most)) = self.length {
            // A UTF-8 character is 1 to 4 bytes, so a byte count from `enough` to `most` satisfies the length bounds
            // without counting characters.
            let enough = if least == 0 { 0 } else { (least - 1).saturating_mul(4).saturating_add(1) };
            if let (true, Some(more)) = (self.tags & bits(&[tag::TEXT]) != 0, most.checked_sub(enough)) {
                self.sizes = (enough.saturating_add(2), more);
            }
        }
        if self.texts.is_none() && self.tags & bits(&[tag::INTEGER]) != 0 {
            self.integers = self.bounds.iter().fold(Integers::ALL, |integers, bound| bound.narrow(integers));
        }
    }

    fn any() -> Self {
        Self {
            tags: u16::MAX,
            free: u16::MAX,
            // Empty range: no string is so long.
            sizes: (u64::MAX, 0),
            integers: Integers::NONE,
            texts: None,
            length: None,
            bounds: Vec::new(),
            entries: None,
            items: None,
            object: None,
        }
    }

    /// `true` if `value` is certainly valid; `false` if only the validator can decide.
    pub(super) fn accepts(&self, value: Node<'_>) -> bool {
        let (text, slots) = value.tape();
        slots.split_first().is_some_and(|(slot, rest)| self.accept(*slot, rest, text).is_some())
    }

    /// Returns the slots after the value at `slot` if the value is certainly valid. `rest` starts right after its own
    /// slot.
    #[inline(always)]
    fn accept<'a>(&self, slot: Slot, rest: &'a [Slot], text: &Text<'_>) -> Option<&'a [Slot]> {
        if self.free >> slot.tag() & 1 == 1 {
            return Some(slot.skip_inside(rest));
        }
        match slot.tag() {
            tag::TEXT if (slot.len() as u64).wrapping_sub(self.sizes.0) <= self.sizes.1 => Some(rest),
            tag::INTEGER if self.integers.has(slot.word().cast_signed()) => Some(rest),
            _ => self.accept_of_kind(slot, rest, text),
        }
    }

    #[inline(never)]
    fn accept_of_kind<'a>(&self, slot: Slot, rest: &'a [Slot], text: &Text<'_>) -> Option<&'a [Slot]> {
        if self.tags >> slot.tag() & 1 == 0 {
            return None;
        }
        match slot.tag() {
            tag::OBJECT => self.object.as_ref()?.accept(slot, rest, text),
            tag::ARRAY => self.accept_array(slot, rest, text),
            tag::TEXT => self.accept_text(slot, text).then_some(rest),
            _ => self.accept_scalar(slot, text).then_some(rest),
        }
    }

    #[inline(never)]
    fn accept_text(&self, slot: Slot, text: &Text<'_>) -> bool {
        let allowed = |texts: &Vec<Name>| texts.iter().any(|allowed| allowed.is(slot, text));
        self.texts.as_ref().is_none_or(allowed)
            && self.length.is_none_or(|range| has_length(range, slot, text))
    }

    /// Checks a value that is neither a container nor a string without an escape.
    #[inline(never)]
    fn accept_scalar(&self, slot: Slot, text: &Text<'_>) -> bool {
        match slot.tag() {
            tag::INTEGER | tag::DOUBLE | tag::LARGE => {
                self.bounds.iter().all(|bound| bound.holds(slot, text))
            }
            tag::NULL | tag::FALSE | tag::TRUE => true,
            tag::ESCAPED => self.length.is_none(),
            _ => false,
        }
    }

    #[inline(never)]
    fn accept_array<'a>(&self, slot: Slot, rest: &'a [Slot], text: &Text<'_>) -> Option<&'a [Slot]> {
        let count = slot.count();
        if self.entries.is_some_and(|(least, most)| !(least..=most).contains(&(count as u64))) {
            return None;
        }
        let Some(items) = &self.items else { return Some(slot.skip_inside(rest)) };
        if items.free == items.tags && items.tags & tag::CONTAINERS == 0 {
            let (all, rest) = rest.split_at_checked(count)?;
            return all.iter().all(|item| items.tags >> item.tag() & 1 == 1).then_some(rest);
        }
        let mut rest = rest;
        for _ in 0..count {
            let (item, inside) = rest.split_first()?;
            rest = items.accept(*item, inside, text)?;
        }
        Some(rest)
    }
}

/// `true` if the number of characters of a string without an escape is within the range.
#[inline]
fn has_length((least, most): (u64, u64), slot: Slot, text: &Text<'_>) -> bool {
    let bytes = slot.len().wrapping_sub(2) as u64;
    // A UTF-8 character is 1 to 4 bytes.
    if bytes <= most && bytes.div_ceil(4) >= least {
        return true;
    }
    (least..=most).contains(&(text.plain(slot).chars().count() as u64))
}

impl Members {
    fn of(schema: &Map<String, Value>, formats: bool) -> Option<Self> {
        let property = |(name, schema): (&String, &Value)| {
            let schema = Shortcut::of(schema, formats)?;
            Some(Property { name: Name::new(name), required: 0, schema })
        };
        let mut properties = match schema.get("properties") {
            None => Vec::new(),
            Some(properties) => properties.as_object()?.iter().map(property).collect::<Option<Vec<_>>>()?,
        };
        let mut required = 0u64;
        for name in schema.get("required").map_or(Some(&Vec::new()), Value::as_array)? {
            let property = properties.iter_mut().find(|it| name.as_str() == Some(&it.name.text))?;
            if property.required == 0 {
                property.required = 1u64.checked_shl(required.count_ones())?;
            }
            required |= property.required;
        }
        let others = match schema.get("additionalProperties") {
            None | Some(Value::Bool(true)) => Others::Any,
            Some(Value::Bool(false)) => Others::None,
            Some(schema) => Others::Like(Box::new(Shortcut::of(schema, formats)?)),
        };
        Some(Self { properties, required, others })
    }

    fn accept<'a>(&self, object: Slot, rest: &'a [Slot], text: &Text<'_>) -> Option<&'a [Slot]> {
        let mut rest = rest;
        let mut left = object.count();
        let mut missing = self.required;
        // Members are mostly written in the order of the schema's properties.
        for property in &self.properties {
            let (true, [key, value, inside @ ..]) = (left > 0, rest) else { break };
            if property.name.is(*key, text) {
                rest = property.schema.accept(*value, inside, text)?;
                missing &= !property.required;
                left -= 1;
            }
        }
        if left > 0 {
            return self.accept_others(left, missing, rest, text);
        }
        (missing == 0).then_some(rest)
    }

    /// Checks the `left` remaining members in any order. `missing` are the bits of required properties not seen yet.
    #[inline(never)]
    fn accept_others<'a>(
        &self,
        left: usize,
        mut missing: u64,
        mut rest: &'a [Slot],
        text: &Text<'_>,
    ) -> Option<&'a [Slot]> {
        for _ in 0..left {
            let [key, value, inside @ ..] = rest else { return None };
            rest = match (self.property(*key, text), &self.others) {
                (Some(property), _) => {
                    missing &= !property.required;
                    property.schema.accept(*value, inside, text)?
                }
                (None, Others::Any) => value.skip_inside(inside),
                (None, Others::None) => return None,
                (None, Others::Like(schema)) => schema.accept(*value, inside, text)?,
            };
        }
        (missing == 0).then_some(rest)
    }

    fn property(&self, key: Slot, text: &Text<'_>) -> Option<&Property> {
        if key.tag() == tag::TEXT {
            return self.properties.iter().find(|property| property.name.is(key, text));
        }
        let key = text.name(key);
        self.properties.iter().find(|property| *property.name.text == *key)
    }
}

impl Name {
    fn new(text: &str) -> Self {
        Self { shape: Slot::text_shape(text.len()), head: head(text), text: text.into() }
    }

    /// `true` if the string at `slot` has no escape and equals this text.
    #[inline(always)]
    fn is(&self, slot: Slot, text: &Text<'_>) -> bool {
        self.head == slot.word()
            && self.shape == slot.shape()
            && (self.text.len() <= ALL_IN_HEAD || *self.text == *text.plain(slot))
    }
}

impl Bound {
    /// Narrows a range to the integers within this bound. A bound that is no integer makes it empty.
    fn narrow(self, Integers { least, most }: Integers) -> Integers {
        match self {
            Self::AtLeast(Limit::Integer(n)) => Integers { least: least.max(n), most },
            Self::AtMost(Limit::Integer(n)) => Integers { least, most: most.min(n) },
            Self::Above(Limit::Integer(n)) => Integers { least: least.max(n.saturating_add(1)), most },
            Self::Below(Limit::Integer(n)) => Integers { least, most: most.min(n.saturating_sub(1)) },
            _ => Integers::NONE,
        }
    }

    #[inline]
    fn holds(self, number: Slot, text: &Text<'_>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let (Self::AtLeast(limit) | Self::AtMost(limit) | Self::Above(limit) | Self::Below(limit)) = self;
        let (integer, double) = (number.word().cast_signed(), || text.double(number));
        let order = match (number.tag(), limit) {
            (tag::INTEGER, Limit::Integer(limit)) => Some(integer.cmp(&limit)),
            (tag::INTEGER, Limit::Double(limit)) if integer.unsigned_abs() <= EXACT_INTEGER_MAX => {
                (integer as f64).partial_cmp(&limit)
            }
            (tag::DOUBLE, Limit::Integer(limit)) => double().partial_cmp(&(limit as f64)),
            (tag::DOUBLE, Limit::Double(limit)) => double().partial_cmp(&limit),
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

fn tags_of(value: &Value) -> Option<u16> {
    let one = |name: &Value| {
        Some(match name.as_str()? {
            "null" => bits(&[tag::NULL]),
            "boolean" => bits(&[tag::FALSE, tag::TRUE]),
            "number" => bits(&[tag::INTEGER, tag::DOUBLE, tag::LARGE]),
            "integer" => bits(&[tag::INTEGER]),
            "string" => bits(&[tag::TEXT, tag::ESCAPED]),
            "array" => bits(&[tag::ARRAY]),
            "object" => bits(&[tag::OBJECT]),
            _ => return None,
        })
    };
    match value {
        Value::Array(names) => names.iter().try_fold(0, |tags, name| Some(tags | one(name)?)),
        name => one(name),
    }
}

fn range(schema: &Map<String, Value>, least: &str, most: &str) -> Option<(u64, u64)> {
    let bound = |keyword: &str, absent: u64| schema.get(keyword).map_or(Some(absent), Value::as_u64);
    Some((bound(least, 0)?, bound(most, u64::MAX)?))
}

fn limit(value: &Value) -> Option<Limit> {
    match value.as_i64() {
        Some(n) if n.unsigned_abs() <= EXACT_INTEGER_MAX => Some(Limit::Integer(n)),
        Some(_) => None,
        None => value.as_f64().filter(|_| value.is_f64()).map(Limit::Double),
    }
}

#[cfg(test)]
mod tests;
