//! Typed stubs of a tool's arguments and result (R8.3), in TypeScript, Python or Rust.
//!
//! Guarantees: the output compiles for every schema; every object gets its own named type, including references and
//! recursion; names that a language does not allow are renamed and keep their JSON spelling. A stub is a summary:
//! everything in a schema except types, names and literals is left to [`crate::Contract`], and a schema without a
//! type becomes *any*.

mod build;
mod name;
mod python;
mod rust;
mod typescript;

use crate::definition::Definition;
use build::{Model, Named};

/// Output language of stubs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// TypeScript.
    TypeScript,
    /// Python 3.11 or later, using only `typing`.
    Python,
    /// Rust without dependencies; serde derives are behind the feature `serde`.
    Rust,
}

/// Names of one tool's types.
#[derive(Debug)]
struct ToolTypes {
    name: String,
    description: Option<String>,
    arguments: String,
    result: Option<String>,
}

/// Returns the stubs of all `definitions` as one file.
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
