//! `xtask campaign hostile|crash|tamper`: builds the release binary and the campaign program, and runs a campaign.
//!
//! `--small` uses the development build and small sizes, as `xtask test` does.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::shell::{self, cargo, command, run as run_command};

/// Sizes of the short campaigns that `xtask test` runs.
const SMALL_CRASH: [&str; 4] = ["--calls", "320", "--kills", "18"];
const SMALL_TAMPER: [&str; 4] = ["--tries", "3", "--records", "1100"];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    which: Which,
}

#[derive(Debug, clap::Subcommand)]
enum Which {
    /// Attack the gateway and measure what each attack costs it and a neighbour.
    Hostile(Hostile),
    /// Kill the gateway and its servers during destructive calls and compare the audit with what was executed.
    Crash(Sized),
    /// Change the audit in every way and see whether each change is found.
    Tamper(Sized),
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

#[derive(Debug, Default, clap::Args)]
struct Sized {
    /// A short version against the development build.
    #[arg(long)]
    small: bool,
    /// Use this binary in place of the one of this workspace.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Seed of the random choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.which {
        Which::Hostile(hostile) => attack(hostile),
        Which::Crash(sized) => measure("crash", sized, &SMALL_CRASH),
        Which::Tamper(sized) => measure("tamper", sized, &SMALL_TAMPER),
    }
}

/// Runs the short campaigns, as a step of the test run.
pub(crate) fn small() -> Result<()> {
    let sized = Sized { small: true, seed: 1, ..Sized::default() };
    measure("crash", &sized, &SMALL_CRASH)?;
    measure("tamper", &sized, &SMALL_TAMPER)?;
    attack(&Hostile { small: true, ..Hostile::default() })
}

fn attack(args: &Hostile) -> Result<()> {
    let folder = if args.small { development()? } else { release(args.binary.is_none())? };
    let mut campaign = command(folder.join("campaign"));
    campaign.arg("hostile").arg("--binary").arg(binary(args.binary.as_ref(), &folder));
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

fn measure(which: &str, args: &Sized, small: &[&str]) -> Result<()> {
    let folder = if args.small { development()? } else { release(args.binary.is_none())? };
    let mut campaign = command(folder.join("campaign"));
    campaign.arg(which).arg("--binary").arg(binary(args.binary.as_ref(), &folder));
    campaign.args(["--seed", &args.seed.to_string()]);
    if args.small {
        campaign.args(small);
    }
    run_command(&mut campaign)
}

fn binary(given: Option<&PathBuf>, folder: &Path) -> PathBuf {
    given.cloned().unwrap_or_else(|| folder.join("toolcrib"))
}

/// Builds the workspace in the development profile and returns the folder of its binaries.
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
