//! The three validators that are compared.

use serde_json::Value;
use toolcrib_contract::json::{Document, Limits, OwnedDocument};
use toolcrib_contract::{Dialect, Schema, SchemaError, SchemaOptions};

/// The check of this crate, over the tape.
pub(super) struct Taped {
    source: OwnedDocument,
    schema: Schema,
}

impl Taped {
    pub(super) fn new(dialect: Dialect, schema: &str) -> Result<Self, SchemaError> {
        let source =
            OwnedDocument::parse(schema, &Limits::definition()).expect("a text that was made is JSON");
        let options = SchemaOptions::default().with_default_dialect(dialect);
        Ok(Self { schema: Schema::compile(source.root(), &options)?, source })
    }

    /// Verdict of the explaining walk; `None` if its budget ended or it cannot know.
    pub(super) fn accepts_by_explanation(&self, instance: &str) -> Option<bool> {
        let instance = Document::parse(instance.as_bytes(), &Limits::message()).expect("JSON");
        self.schema.accepts_by_explanation(self.source.root(), instance.root())
    }

    pub(super) fn accepts(&self, instance: &str) -> bool {
        let instance = Document::parse(instance.as_bytes(), &Limits::message()).expect("JSON");
        self.schema.accepts(instance.root())
    }

    /// Explanation of a refused instance.
    pub(super) fn explains(&self, instance: &str) -> Option<String> {
        let instance = Document::parse(instance.as_bytes(), &Limits::message()).expect("JSON");
        self.schema.check(self.source.root(), instance.root()).err().map(|told| told.one_line())
    }
}

/// The `jsonschema` validator over a tree of values.
pub(super) struct Plain(jsonschema::Validator);

impl Plain {
    pub(super) fn new(dialect: Dialect, schema: &str) -> Self {
        let draft = match dialect {
            Dialect::Draft7 => jsonschema::Draft::Draft7,
            _ => jsonschema::Draft::Draft202012,
        };
        let built = jsonschema::options()
            .with_draft(draft)
            .offline()
            .with_pattern_options(jsonschema::PatternOptions::regex())
            .should_validate_formats(false)
            .build(&value(schema));
        Self(built.unwrap_or_else(|error| panic!("admitted, but no schema: {error}: {schema}")))
    }

    pub(super) fn accepts(&self, instance: &str) -> bool {
        self.0.is_valid(&value(instance))
    }
}

/// The `boon` validator, which shares no code with the other two.
pub(super) struct Boon {
    schemas: boon::Schemas,
    index: boon::SchemaIndex,
}

impl Boon {
    pub(super) fn new(dialect: Dialect, schema: &str) -> Self {
        const HERE: &str = "https://differential.example/schema.json";
        let mut compiler = boon::Compiler::new();
        compiler.set_default_draft(match dialect {
            Dialect::Draft7 => boon::Draft::V7,
            _ => boon::Draft::V2020_12,
        });
        compiler.add_resource(HERE, value(schema)).expect("a resource");
        let mut schemas = boon::Schemas::new();
        let index = compiler
            .compile(HERE, &mut schemas)
            .unwrap_or_else(|error| panic!("admitted, but no schema for boon: {error:#}: {schema}"));
        Self { schemas, index }
    }

    pub(super) fn accepts(&self, instance: &str) -> bool {
        self.schemas.validate(&value(instance), self.index).is_ok()
    }
}

/// `false` if boon's verdict is not evidence: boon compares numbers as doubles and divides doubles for `multipleOf`,
/// and takes exponential time on recursive schemas because it does not memoize.
pub(super) fn boon_can_tell(schema: &str, instance: &str) -> bool {
    let depth = instance.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
    if ["$ref", "$dynamicRef"].iter().any(|keyword| schema.contains(keyword)) && depth > 8 {
        return false;
    }
    let (schema, instance) = (value(schema), value(instance));
    let exact = |x: f64| x.abs() < 9_007_199_254_740_992.0;
    let divides = |x: f64| exact(x) && (x * 4.0).fract() == 0.0;
    let each = |test: &dyn Fn(f64) -> bool| numbers(&schema).chain(numbers(&instance)).all(test);
    if mentions(&schema, "multipleOf") { each(&divides) } else { each(&exact) }
}

fn parts(value: &Value) -> impl Iterator<Item = &Value> {
    let mut open = vec![value];
    std::iter::from_fn(move || {
        let next = open.pop()?;
        match next {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
        Some(next)
    })
}

fn numbers(value: &Value) -> impl Iterator<Item = f64> {
    parts(value).filter_map(Value::as_f64)
}

fn mentions(value: &Value, keyword: &str) -> bool {
    parts(value).any(|part| part.get(keyword).is_some())
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
