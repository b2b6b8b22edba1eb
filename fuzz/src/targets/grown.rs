//! Generates schemas from bytes: every input becomes valid JSON of the right kind, so that mutation gets past the
//! parser. Each byte is one choice; generation ends when they run out.

use serde_json::{Map, Value, json};

const WORDS: [&str; 8] = ["a", "b", "", "é", "a\"b", "\n", "😀", "$ref"];
const NUMBERS: [&str; 12] = [
    "0",
    "-0.0",
    "1",
    "1.0",
    "2.5",
    "0.1",
    "100",
    "9007199254740993",
    "18446744073709551615",
    "1e300",
    "-3",
    "9007199254740992",
];
const REFERENCES: [&str; 12] = [
    "#",
    "#/$defs/a",
    "#/$defs/b",
    "#x",
    "r",
    "r#x",
    "#/properties/a",
    "https://e.example/r",
    "other.json",
    "#/$defs/a/not",
    "urn:x",
    "#/definitions/a",
];
const PATTERNS: [&str; 8] = ["^a", "b$", "(a|b)*c", "[0-9]{2,}", "(?=a)", "\\1", "\\p{L}", "^.$"];
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
const DIALECTS: [&str; 4] = [
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
    "http://json-schema.org/draft-04/schema#",
];
const DEPTH_MAX: usize = 12;

/// Remaining choices.
#[derive(Debug)]
pub(super) struct Growth<'a>(std::slice::Iter<'a, u8>);

impl<'a> Growth<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.iter())
    }

    /// Returns a number below `end`; 0 once the bytes have run out.
    fn below(&mut self, end: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % end.max(1)
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        let at = self.below(from.len());
        from.get(at).copied().unwrap_or_default()
    }

    fn is_over(&self) -> bool {
        self.0.len() == 0
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth < DEPTH_MAX && !self.is_over() { 8 } else { 4 }) {
            0 => Value::Null,
            1 => Value::Bool(self.below(2) == 1),
            2 => serde_json::from_str(self.pick(&NUMBERS)).unwrap_or_default(),
            3 => self.pick(&WORDS).into(),
            4 | 5 => (0..self.below(4)).map(|_| self.value(depth + 1)).collect(),
            _ => Value::Object(
                (0..self.below(4)).map(|_| (self.pick(&WORDS).to_owned(), self.value(depth + 1))).collect(),
            ),
        }
    }

    /// Generates a schema with definitions, identifiers, anchors and references that may or may not resolve.
    pub(super) fn schema(&mut self) -> Value {
        let mut members = Map::new();
        if self.below(3) == 0 {
            members.insert("$schema".to_owned(), self.pick(&DIALECTS).into());
        }
        if self.below(2) == 0 {
            let definitions = json!({"a": self.subschema(1), "b": self.subschema(1)});
            members.insert(self.pick(&["$defs", "definitions"]).to_owned(), definitions);
        }
        self.keywords(&mut members, 0);
        Value::Object(members)
    }

    fn subschema(&mut self, depth: usize) -> Value {
        if depth > DEPTH_MAX || self.is_over() {
            return true.into();
        }
        let mut members = Map::new();
        self.keywords(&mut members, depth);
        Value::Object(members)
    }

    fn keywords(&mut self, members: &mut Map<String, Value>, depth: usize) {
        for _ in 0..=self.below(3) {
            let (keyword, value) = self.keyword(depth + 1);
            members.insert(keyword.to_owned(), value);
        }
    }

    fn keyword(&mut self, depth: usize) -> (&'static str, Value) {
        const NUMERIC: [&str; 4] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
        const COUNTS: [&str; 8] = [
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "minProperties",
            "maxProperties",
            "minContains",
            "maxContains",
        ];
        const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
        const ONES: [&str; 12] = [
            "not",
            "if",
            "then",
            "else",
            "items",
            "contains",
            "additionalProperties",
            "unevaluatedProperties",
            "unevaluatedItems",
            "propertyNames",
            "additionalItems",
            "contentSchema",
        ];
        const MAPS: [&str; 4] = ["properties", "properties", "dependentSchemas", "dependencies"];
        match self.below(16) {
            0 | 1 => ("$ref", self.pick(&REFERENCES).into()),
            2 => (
                self.pick(&["$id", "$id", "$anchor", "$dynamicAnchor"]),
                self.pick(&["r", "x", "https://e.example/r", "#x"]).into(),
            ),
            3 => (
                self.pick(&["$dynamicRef", "$recursiveRef"]),
                self.pick(&["#x", "#", "r#x", "#/$defs/a"]).into(),
            ),
            4 => ("type", self.pick(&TYPES).into()),
            5 => ("const", self.value(depth + 8)),
            6 => ("enum", vec![self.value(depth + 8), self.value(depth + 8)].into()),
            7 => (self.pick(&NUMERIC), serde_json::from_str(self.pick(&NUMBERS)).unwrap_or_default()),
            8 => (self.pick(&COUNTS), self.below(4).into()),
            9 => ("pattern", self.pick(&PATTERNS).into()),
            10 => (self.pick(&LISTS), (0..=self.below(3)).map(|_| self.subschema(depth)).collect()),
            11 | 12 => (self.pick(&ONES), self.subschema(depth)),
            13 => ("patternProperties", json!({self.pick(&PATTERNS): self.subschema(depth)})),
            14 => {
                (self.pick(&["required", "uniqueItems", "multipleOf", "x-mine"]), json!([self.pick(&WORDS)]))
            }
            _ => (
                self.pick(&MAPS),
                Value::Object(
                    (0..=self.below(3))
                        .map(|_| (self.pick(&WORDS).to_owned(), self.subschema(depth)))
                        .collect(),
                ),
            ),
        }
    }
}
