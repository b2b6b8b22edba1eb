//! [`ToolSpec`]: builder of a tool's definition.
//!
//! Only the name and description are required; other members may be set in any order. Unknown members are kept: the
//! tool is advertised exactly as it was specified.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};
use toolcrib_contract::{Audience, Definition, DefinitionError};

/// Definition of a tool for registration, with all optional members (R2.1, the full form).
#[derive(Debug, Clone)]
pub struct ToolSpec {
    members: Map<String, Value>,
    annotations: Map<String, Value>,
    meta: Map<String, Value>,
    icons: Vec<Value>,
    toolset: Option<String>,
}

impl ToolSpec {
    #[must_use]
    pub fn new(name: &str, description: &str) -> Self {
        let mut members = Map::new();
        members.insert("name".into(), name.into());
        members.insert("description".into(), description.into());
        Self { members, annotations: Map::new(), meta: Map::new(), icons: Vec::new(), toolset: None }
    }

    #[must_use]
    pub fn title(self, title: &str) -> Self {
        self.member("title", title.into())
    }

    /// Sets the input schema as JSON; without one the tool takes no arguments.
    #[must_use]
    pub fn input_schema(self, schema: Value) -> Self {
        self.member("inputSchema", schema)
    }

    /// Derives the input schema from a Rust type.
    #[must_use]
    pub fn input<T: JsonSchema>(self) -> Self {
        self.input_schema(schema_of::<T>())
    }

    #[must_use]
    pub fn output_schema(self, schema: Value) -> Self {
        self.member("outputSchema", schema)
    }

    /// Derives the output schema from a Rust type.
    #[must_use]
    pub fn output<T: JsonSchema>(self) -> Self {
        self.output_schema(schema_of::<T>())
    }

    #[must_use]
    pub fn read_only(self, hint: bool) -> Self {
        self.annotation("readOnlyHint", hint.into())
    }

    #[must_use]
    pub fn destructive(self, hint: bool) -> Self {
        self.annotation("destructiveHint", hint.into())
    }

    #[must_use]
    pub fn idempotent(self, hint: bool) -> Self {
        self.annotation("idempotentHint", hint.into())
    }

    #[must_use]
    pub fn open_world(self, hint: bool) -> Self {
        self.annotation("openWorldHint", hint.into())
    }

    #[must_use]
    pub fn audience(self, audience: Audience) -> Self {
        self.annotation("audience", audience.name().into())
    }

    /// Sets the position in lists: lower comes first.
    #[must_use]
    pub fn priority(self, priority: i64) -> Self {
        self.annotation("priority", priority.into())
    }

    /// Sets any annotation.
    #[must_use]
    pub fn annotation(mut self, name: &str, value: Value) -> Self {
        self.annotations.insert(name.into(), value);
        self
    }

    #[must_use]
    pub fn icon(mut self, src: &str, mime_type: &str) -> Self {
        self.icons.push(json!({ "src": src, "mimeType": mime_type }));
        self
    }

    #[must_use]
    pub fn toolset(mut self, toolset: &str) -> Self {
        self.toolset = Some(toolset.into());
        self
    }

    #[must_use]
    pub fn meta(mut self, name: &str, value: Value) -> Self {
        self.meta.insert(name.into(), value);
        self
    }

    /// Sets any member of the definition.
    #[must_use]
    pub fn member(mut self, name: &str, value: Value) -> Self {
        self.members.insert(name.into(), value);
        self
    }

    pub(crate) fn has_input(&self) -> bool {
        self.members.contains_key("inputSchema")
    }

    pub(crate) fn has_output(&self) -> bool {
        self.members.contains_key("outputSchema")
    }

    pub(crate) fn finish(mut self) -> Result<(Definition, Option<String>), DefinitionError> {
        if !self.has_input() {
            self = self.input_schema(json!({ "type": "object", "additionalProperties": false }));
        }
        let Self { mut members, annotations, meta, icons, toolset } = self;
        let whole = [("annotations", annotations), ("_meta", meta)];
        for (name, object) in whole.into_iter().filter(|(_, object)| !object.is_empty()) {
            members.insert(name.into(), Value::Object(object));
        }
        if !icons.is_empty() {
            members.insert("icons".into(), Value::Array(icons));
        }
        Ok((Definition::from_value(&Value::Object(members))?, toolset))
    }
}

/// Returns the 2020-12 schema of a Rust type.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(without_width));
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Removes number formats such as `uint32`: clients do not know them, and some warn about each one.
fn without_width(schema: &mut Schema) {
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    let width = format.trim_start_matches('u').strip_prefix("int");
    if width.is_some_and(|width| width.chars().all(|digit| digit.is_ascii_digit())) {
        schema.remove("format");
    }
}
