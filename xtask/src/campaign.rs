//! `xtask campaign hostile`: builds the release binary, the hostile servers and the attacker, and runs every attack.
//!
//! With `--small` the development build is attacked once with small sizes, which is what `xtask test` does.

use std::path::PathBuf;

use anyhow::Result;

use crate::shell::{self, cargo, command, run as run_command};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    which: Which,
}

#[derive(Debug, clap::Subcommand)]
enum Which {
    /// Attack the gateway and measure what each attack costs it and a neighbour.
    Hostile(Hostile),
}

#[derive(Debug, Default, clap::Args)]
struct Hostile {
    /// Every case once, in small sizes, against the development build.
    #[arg(long)]
    small: bool,
    /// Attack this binary in place of the one of this workspace.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Only cases whose `family/name` contains this; may be given several times.
    #[arg(long)]
    only: Vec<String>,
    /// Write every measured value to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Turns of quiet and attack; all calls of the neighbour count together.
    #[arg(long)]
    turns: Option<usize>,
    /// Print the names of the cases and run none.
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let Which::Hostile(hostile) = &args.which;
    attack(hostile)
}

/// Runs the short version, as a step of the test run.
pub(crate) fn small() -> Result<()> {
    attack(&Hostile { small: true, ..Hostile::default() })
}

fn attack(args: &Hostile) -> Result<()> {
    let folder = if args.small { development()? } else { release(args.binary.is_none())? };
    let mut campaign = command(folder.join("campaign"));
    campaign.arg("--binary").arg(args.binary.clone().unwrap_or_else(|| folder.join("toolcrib")));
    campaign.arg("--hostile").arg(folder.join("examples/hostile"));
    campaign.args(args.small.then_some("--small")).args(args.list.then_some("--list"));
    for part in &args.only {
        campaign.args(["--only", part]);
    }
    if let Some(turns) = args.turns {
        campaign.args(["--turns", &turns.to_string()]);
    }
    if let Some(file) = &args.json {
        campaign.arg("--json").arg(std::path::absolute(file)?);
    }
    run_command(&mut campaign)
}

/// Builds what the tests build and returns its folder.
fn development() -> Result<PathBuf> {
    shell::built_binary("toolcrib")?;
    Ok(shell::target_directory()?.join("debug"))
}

fn release(with_binary: bool) -> Result<PathBuf> {
    let build =
        |words: &[&str]| run_command(cargo(["build", "--release", "--locked", "--quiet"]).args(words));
    build(&["-p", "toolcrib-campaign"])?;
    build(&["-p", "toolcrib-gateway", "--example", "hostile"])?;
    if with_binary {
        build(&["-p", "toolcrib-cli"])?;
    }
    Ok(shell::target_directory()?.join("release"))
}
