//! `toolcrib validate WHAT [TOOL] --args JSON`: checks arguments and answers against the contract, offline (R8.3).

use std::path::Path;

use anyhow::{Context as _, anyhow};
use serde_json::json;
use toolcrib_contract::json::{Document, Limits, Node};
use toolcrib_contract::{Definition, Schema, SchemaOptions, Violations};

use crate::Outcome;
use crate::catalogue::Place;
use crate::convert::read;
use crate::exit::{Exit, Failure, print};
use crate::form::{Form, Format};
use crate::show::tools;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// SERVER/TOOL of the catalogue, or a file that holds definitions.
    what: String,
    /// The tool, where WHAT does not name it.
    tool: Option<String>,
    /// The arguments to check: JSON, or @FILE.
    #[arg(long, value_name = "JSON|@FILE", required_unless_present = "output")]
    args: Option<String>,
    /// The structured answer to check: JSON, or @FILE.
    #[arg(long, value_name = "JSON|@FILE")]
    output: Option<String>,
    /// `format` asserts.
    #[arg(long)]
    assert_formats: bool,
    #[command(flatten)]
    form: Form,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let (mut definitions, named) = tools(&args.what, args.tool.as_deref(), &args.place)?;
    let only = if definitions.len() == 1 { definitions.pop() } else { None };
    let definition =
        named.or(only).ok_or_else(|| Failure::new(Exit::Usage, anyhow!("{}: which tool?", args.what)))?;
    let options = SchemaOptions::default().asserting_formats(args.assert_formats);
    let mut broken: Vec<(&'static str, Violations)> = Vec::new();
    if let Some(given) = &args.args {
        let schema = definition.input_schema();
        broken
            .extend(check(&definition, "input", schema, given, &options)?.map(|found| ("arguments", found)));
    }
    if let Some(given) = &args.output {
        let schema = definition.output_schema();
        broken.extend(check(&definition, "output", schema, given, &options)?.map(|found| ("output", found)));
    }
    let text = match args.form.format() {
        Format::Terminal if broken.is_empty() => format!("{}: valid\n", definition.name()),
        Format::Terminal => broken
            .iter()
            .map(|(side, found)| format!("{} {side}:\n{}\n", definition.name(), found.full()))
            .collect(),
        Format::Json => {
            let list = |found: &Violations| -> Vec<serde_json::Value> {
                let one = |v: &toolcrib_contract::Violation| {
                    json!({"path": v.instance_path.as_str(), "schema_path": v.schema_path.as_str(),
                    "keyword": v.keyword, "expected": v.expected, "message": v.one_line()})
                };
                found.as_slice().iter().map(one).collect()
            };
            let sides: serde_json::Map<_, _> =
                broken.iter().map(|(side, found)| ((*side).to_owned(), json!(list(found)))).collect();
            json!({"tool": definition.name(), "valid": broken.is_empty(), "violations": sides}).to_string()
        }
    };
    print(&text)?;
    Ok(if broken.is_empty() { Exit::Nothing } else { Exit::Findings })
}

fn check(
    definition: &Definition,
    side: &'static str,
    schema: Option<Node<'_>>,
    given: &str,
    options: &SchemaOptions,
) -> Result<Option<Violations>, Failure> {
    let schema = schema.ok_or_else(|| {
        let error =
            anyhow!("{} has no {side} schema in the catalogue, so nothing can be said", definition.name());
        Failure::new(Exit::Usage, error).hint("`toolcrib capture` fills it from a running server")
    })?;
    let compiled = Schema::compile(schema, options)
        .with_context(|| format!("{} has no usable {side} schema", definition.name()))
        .map_err(|error| Failure::new(Exit::Usage, error))?;
    let bytes = match given.strip_prefix('@') {
        Some(file) => read(Path::new(file))?,
        None => given.as_bytes().to_vec(),
    };
    let document = Document::parse(&bytes, &Limits::message())
        .with_context(|| format!("the {side} is no JSON"))
        .map_err(|error| Failure::new(Exit::Usage, error))?;
    Ok(compiled.check(schema, document.root()).err())
}
