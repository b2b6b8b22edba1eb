//! `cargo run -p xtask -- <verb>`: tasks of this workspace that cargo cannot do, one file per verb.
//!
//! A verb exits with 0 only if it succeeded. Otherwise the reason is the last line on standard error.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]

mod advisories;
mod bench;
mod campaign;
mod conformance;
mod deny;
mod fuzz;
mod limits;
mod new_rule;
mod pairs;
mod provision;
mod requirements;
mod safety;
mod shell;
mod sources;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(about = "Tasks of the Toolcrib workspace", version, propagate_version = false)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Everything that must hold before a change lands, from a fresh clone, in one command.
    Test(test::Args),
    /// Install what the tests need besides cargo's own dependencies, under .deps.
    Provision(provision::Args),
    /// Run a benchmark and print its ratios.
    Bench(bench::Args),
    /// Attack the real binary and print what each attack costs.
    Campaign(campaign::Args),
    /// Compare docs/requirements.md with the tests that exist.
    Requirements(requirements::Args),
    /// Compare LIMITS.md with the limits in the code.
    Limits(limits::Args),
    /// Feed mutated inputs to the fuzz targets.
    Fuzz(fuzz::Args),
    /// Judge random pairs of schemas against two plain validators, or score labelled ones.
    Pairs(pairs::Args),
    /// Run the hard tests of safety in full size.
    Safety(safety::Args),
    /// Scaffold a rule of contract change.
    NewRule(new_rule::Args),
    /// Run the official MCP conformance suite against a server.
    Conformance(conformance::Args),
    /// Check advisories, licences, sources and banned crates and features of the dependencies.
    Deny,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().verb {
        Verb::Test(args) => test::run(&args),
        Verb::Provision(args) => provision::run(&args),
        Verb::Bench(args) => bench::run(&args),
        Verb::Campaign(args) => campaign::run(&args),
        Verb::Requirements(args) => requirements::run(&args),
        Verb::Limits(args) => limits::run(&args),
        Verb::Fuzz(args) => fuzz::run(&args),
        Verb::Pairs(args) => pairs::run(&args),
        Verb::Safety(args) => safety::run(&args),
        Verb::NewRule(args) => new_rule::run(&args),
        Verb::Conformance(args) => conformance::run(&args),
        Verb::Deny => deny::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
