//! Two plain validators, with formats as annotations; nothing is fetched.

use serde_json::Value;
use toolcrib_containment::Dialect;

pub struct Validators {
    first: jsonschema::Validator,
    second: Option<Second>,
}

struct Second {
    schemas: boon::Schemas,
    index: boon::SchemaIndex,
}

struct Nothing;

impl boon::UrlLoader for Nothing {
    fn load(&self, url: &str) -> Result<Value, Box<dyn std::error::Error>> {
        Err(format!("not fetched: {url}").into())
    }
}

pub fn draft(dialect: Dialect) -> jsonschema::Draft {
    match dialect {
        Dialect::Draft4 => jsonschema::Draft::Draft4,
        Dialect::Draft6 => jsonschema::Draft::Draft6,
        Dialect::Draft7 => jsonschema::Draft::Draft7,
        Dialect::Draft201909 => jsonschema::Draft::Draft201909,
        Dialect::Draft202012 => jsonschema::Draft::Draft202012,
    }
}

impl Validators {
    pub fn new(schema: &Value, dialect: Dialect) -> Option<Validators> {
        let first = jsonschema::options()
            .with_draft(draft(dialect))
            .should_validate_formats(false)
            .offline()
            .build(schema)
            .ok()?;
        Some(Validators { first, second: second(schema, dialect) })
    }

    pub fn first(&self, value: &Value) -> bool {
        self.first.is_valid(value)
    }

    /// Verdict of the second validator; `None` if it cannot compile the schema.
    pub fn second(&self, value: &Value) -> Option<bool> {
        self.second.as_ref().map(|second| second.schemas.validate(value, second.index).is_ok())
    }
}

fn second(schema: &Value, dialect: Dialect) -> Option<Second> {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.use_loader(Box::new(Nothing));
    compiler.set_default_draft(match dialect {
        Dialect::Draft4 => boon::Draft::V4,
        Dialect::Draft6 => boon::Draft::V6,
        Dialect::Draft7 => boon::Draft::V7,
        Dialect::Draft201909 => boon::Draft::V2019_09,
        Dialect::Draft202012 => boon::Draft::V2020_12,
    });
    compiler.add_resource("http://schema.test/root.json", schema.clone()).ok()?;
    let index = compiler.compile("http://schema.test/root.json", &mut schemas).ok()?;
    Some(Second { schemas, index })
}
