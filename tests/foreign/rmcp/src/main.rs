//! The client as a program, with the arguments of its siblings: `--era ERA --plan JSON (--url URL | -- COMMAND…)`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]

use std::process::ExitCode;

use serde_json::Value;
use toolcrib_testkit::foreign::{Era, Server, missed};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some((era, server, plan)) = arguments() else {
        eprintln!("usage: --era legacy|modern --plan JSON (--url URL | -- COMMAND…)");
        return ExitCode::FAILURE;
    };
    let report = toolcrib_foreign_rmcp::run(era, &server, &plan).await;
    println!("{report}");
    if missed(&report).is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn arguments() -> Option<(Era, Server, Value)> {
    let (mut era, mut plan, mut server) = (None, None, None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--era" => {
                let name = words.next()?;
                era = [Era::Legacy, Era::Modern].into_iter().find(|one| one.name() == name);
            }
            "--plan" => plan = serde_json::from_str(&words.next()?).ok(),
            "--url" => server = Some(Server::Http { url: words.next()? }),
            "--" => server = Some(Server::Stdio { command: words.by_ref().collect() }),
            _ => return None,
        }
    }
    Some((era?, server?, plan?))
}
