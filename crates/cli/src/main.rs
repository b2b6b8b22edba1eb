//! The binary `toolcrib`, one file per verb. Without a verb it serves.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]

mod check;
mod compat;
mod config;
mod demonstration;
mod diff;
mod exit;
mod explain;
mod gateway;
mod judge;
mod lint;
mod lock;
mod origin;
mod search;
mod serve;
mod show;
mod source;
mod toolsets;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::exit::{Exit, Failure};

/// The tool crib for MCP tools: catalogued, inspected, issued against a signature.
#[derive(Debug, Parser)]
#[command(name = "toolcrib", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Without a verb, toolcrib serves. Exit codes: 0 nothing found, 1 findings, 2 usage, \
                        3 a side could not be loaded or reached, 4 internal failure.")]
struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Serve other MCP servers, or the demonstration tools, at one endpoint.
    Serve(serve::Args),
    /// Judge or describe configuration files, without starting anything.
    Config(config::Args),
    /// Say what is wrong or unwise in tool definitions.
    Lint(lint::Args),
    /// Show tools with signatures a person can read.
    Show(show::Args),
    /// Say what broke between two lists of tools, each break with the call that used to work.
    Diff(diff::Args),
    /// Pin what servers offer, or approve a changed tool by its digest.
    Lock(lock::Args),
    /// Say what broke between the lock and what servers offer now.
    Check(check::Args),
    /// Find tools by what they do, or measure how well that works.
    Search(search::Args),
    /// Say why a client sees a tool and can call it, or why not.
    Explain(explain::Args),
    /// Judge pairs of schemas, one per line.
    Compat(compat::Args),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { Exit::Usage } else { Exit::Nothing };
            // A closed pipe is no failure of ours.
            let _ = error.print();
            return code.into();
        }
    };
    let outcome = std::panic::catch_unwind(|| match cli.verb {
        None => serve::run(&serve::Args::default()),
        Some(Verb::Serve(args)) => serve::run(&args),
        Some(Verb::Config(args)) => config::run(&args),
        Some(Verb::Lint(args)) => lint::run(&args),
        Some(Verb::Show(args)) => show::run(&args),
        Some(Verb::Diff(args)) => diff::run(&args),
        Some(Verb::Lock(args)) => lock::run(&args),
        Some(Verb::Check(args)) => check::run(&args),
        Some(Verb::Search(args)) => search::run(&args),
        Some(Verb::Explain(args)) => explain::run(&args),
        Some(Verb::Compat(args)) => compat::run(&args),
    });
    match outcome {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(failure)) => failure.report().into(),
        Err(_) => Exit::Internal.into(),
    }
}

/// What a verb comes to.
type Outcome = Result<Exit, Failure>;
