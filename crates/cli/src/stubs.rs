//! `toolcrib types WHAT [TOOL] --lang ts|python|rust`: writes typed stubs from the schemas (R8.3).

use std::path::PathBuf;

use clap::ValueEnum;
use toolcrib_contract::stubs::{Language, stubs};

use crate::catalogue::Place;
use crate::exit::{Exit, print};
use crate::show::tools;
use crate::{Outcome, written};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A file that holds definitions, or SERVER or SERVER/TOOL of the catalogue.
    what: String,
    /// Only this tool.
    tool: Option<String>,
    /// The language.
    #[arg(long, value_enum)]
    lang: Lang,
    /// Where to write; standard output unless given.
    #[arg(short, long)]
    output: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Lang {
    Ts,
    Python,
    Rust,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let (definitions, named) = tools(&args.what, args.tool.as_deref(), &args.place)?;
    let definitions = named.map_or(definitions, |tool| vec![tool]);
    let language = match args.lang {
        Lang::Ts => Language::TypeScript,
        Lang::Python => Language::Python,
        Lang::Rust => Language::Rust,
    };
    let text = stubs(&definitions, language);
    match &args.output {
        Some(path) => written::replace(path, &text)?,
        None => print(&text)?,
    }
    Ok(Exit::Nothing)
}
