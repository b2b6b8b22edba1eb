//! `campaign`: campaigns against the real binary, each of which prints a table.
//!
//! Exit code 0 means that every limit held.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]

mod case;
mod cases;
mod client;
mod crash;
mod dice;
mod gateway;
mod hostile;
mod ledger;
mod metronome;
mod neighbour;
mod row;
mod table;
mod tamper;
mod trial;
mod upstream;
mod usage;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(about = "Campaigns against `toolcrib`")]
struct Cli {
    #[command(subcommand)]
    campaign: Campaign,
}

#[derive(Debug, Subcommand)]
enum Campaign {
    /// Attack the gateway and measure what each attack costs it and a neighbour.
    Hostile(hostile::Args),
    /// Kill the gateway and its servers during destructive calls and compare the audit with what was executed.
    Crash(crash::Args),
    /// Change the audit in every way and see whether each change is found.
    Tamper(tamper::Args),
    /// Serve a tool that writes down every execution; started by `crash`.
    #[command(hide = true)]
    Ledger(ledger::Args),
}

fn main() -> ExitCode {
    let outcome = match &Cli::parse().campaign {
        Campaign::Hostile(args) => hostile::run(args),
        Campaign::Crash(args) => crash::run(args),
        Campaign::Tamper(args) => tamper::run(args),
        Campaign::Ledger(args) => ledger::run(args).map(|()| true),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("campaign: {error:#}");
            ExitCode::FAILURE
        }
    }
}
