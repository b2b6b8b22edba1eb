//! Typed stubs from schemas (R8.3): what a tool takes and returns, as TypeScript, Python or Rust.
//!
//! Guarantees: the text compiles whatever the schemas say; every object gets a name of its own, references and
//! recursion included; names that a language cannot say are renamed there and keep their JSON spelling. A stub is a
//! summary: what a schema says beyond types, names and literals is left to [`crate::Contract`], and where a schema
//! says nothing the type is *any*.

mod build;
mod name;
mod python;
mod rust;
mod typescript;

use crate::definition::Definition;
use build::{Model, Named};

/// A language that stubs are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// TypeScript.
    TypeScript,
    /// Python 3.11 and later: `typing` alone.
    Python,
    /// Rust: no dependency; derives of serde behind the feature `serde`.
    Rust,
}

/// One tool's types.
#[derive(Debug)]
struct ToolTypes {
    name: String,
    description: Option<String>,
    arguments: String,
    result: Option<String>,
}

/// Stubs of all `definitions` as one file.
#[must_use]
pub fn stubs(definitions: &[Definition], language: Language) -> String {
    let mut model = Model::default();
    let mut tools = Vec::new();
    for definition in definitions {
        let base = name::pascal(definition.name());
        let arguments = model.root(definition.input_schema(), &format!("{base}Arguments"));
        let result =
            definition.output_schema().map(|schema| model.root(Some(schema), &format!("{base}Result")));
        tools.push(ToolTypes {
            name: definition.name().to_owned(),
            description: definition.description().map(std::borrow::Cow::into_owned),
            arguments,
            result,
        });
    }
    let types: Vec<Named> = model.finish();
    match language {
        Language::TypeScript => typescript::write(&types, &tools),
        Language::Python => python::write(&types, &tools),
        Language::Rust => rust::write(&types, &tools),
    }
}

#[cfg(test)]
mod tests;
