//! `cargo run --release -p xtask -- bench NAME`: benchmarks that print ratios, one file each.
//!
//! Contenders are measured in turns, so that a busy machine slows all of them alike. A claim is judged by the median.
//! The exit code is 0 only if every claim holds. With `--quick`, which only shows that a benchmark works, no claim is
//! judged.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]

mod change;
mod cli;
mod contract;
mod gateway;
mod race;
mod registry;
mod safety;
mod serving;
mod toolsets;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::race::Effort;

/// The allocator that the binary `toolcrib` uses.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Debug, Parser)]
#[command(name = "bench", about = "Benchmarks that print ratios")]
struct Cli {
    #[command(subcommand)]
    bench: Bench,
    /// A few short repeats, no verdicts: for seeing that it works.
    #[arg(long, global = true)]
    quick: bool,
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// Validation, admission, refusal and digest, against the bare parts they are made of.
    Contract,
    /// The author's server with checks on, against the official SDK's server without any.
    Serving,
    /// Import, search, pages, memory and conversion of the registry.
    Registry,
    /// The process that `registry` measures; started by it.
    #[command(hide = true)]
    RegistryPart { file: std::path::PathBuf, database: std::path::PathBuf },
    /// Two versions of a server against each other.
    Change,
    /// The first seconds: start to first call, help, size.
    Cli,
    /// Cost of gate, journal and audit per call.
    Safety,
    /// Views, lists and search over 10,000 tools.
    Toolsets,
    /// The gateway, checks on, against nginx as a plain HTTP proxy, and against other MCP proxies.
    Gateway {
        /// Only this part; may be given several times.
        #[arg(long, value_enum)]
        only: Vec<gateway::Part>,
    },
    /// One of the servers that are compared; started by the benchmarks.
    #[command(hide = true)]
    Serve {
        which: serving::Which,
        url: Option<String>,
        #[arg(last = true)]
        command: Vec<String>,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if cfg!(debug_assertions) {
        eprintln!("bench: this is an unoptimised build; its figures mean nothing");
    }
    let effort = if cli.quick { Effort::quick() } else { Effort::full() };
    let outcome = match cli.bench {
        Bench::Contract => contract::run(effort),
        Bench::Serving => serving::run(effort),
        Bench::Registry => registry::run(effort, cli.quick),
        Bench::RegistryPart { file, database } => registry::part(&file, &database).map(|()| true),
        Bench::Change => change::run(effort),
        Bench::Cli => cli::run(effort),
        Bench::Safety => safety::run(effort),
        Bench::Toolsets => toolsets::run(effort),
        Bench::Gateway { only } => gateway::run(effort, &only),
        Bench::Serve { which, url, command } => {
            serving::serve(which, url.as_deref(), &command).map(|()| true)
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("bench: a claim does not hold");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
