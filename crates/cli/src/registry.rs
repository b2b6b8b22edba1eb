//! `toolcrib registry …`: imports, exports and serves the catalogue (R6).

mod budget;
mod import;
mod serve;

pub(crate) use budget::target;

use crate::Outcome;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Take catalogue files of any format in.
    Import(import::ImportArgs),
    /// Write the latest versions as one file.
    Export(import::ExportArgs),
    /// Take a server out.
    Remove(import::RemoveArgs),
    /// Serve the catalogue over HTTP: the official registry's API, publishing, search down to tools.
    Serve(serve::Args),
    /// Make an entry fit a registry's budget, saying what was left out.
    Compact(budget::CompactArgs),
    /// Make a compact entry whole again from the catalogue.
    Expand(budget::ExpandArgs),
}

pub(crate) fn run(args: &Args) -> Outcome {
    match &args.verb {
        Verb::Import(args) => import::import_files(args),
        Verb::Export(args) => import::export(args),
        Verb::Remove(args) => import::remove(args),
        Verb::Serve(args) => serve::run(args),
        Verb::Compact(args) => budget::compact(args),
        Verb::Expand(args) => budget::expand(args),
    }
}
