//! `xtask pairs`: the containment prover against plain validators. By default a million random pairs, where a proof with
//! a counterexample ends the run; with `--score` the labelled pairs of a folder, as a table beside the published peers.

use anyhow::Result;

use crate::shell::{cargo, run as run_command};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many random pairs.
    #[arg(long, default_value_t = 1_000_000)]
    count: u64,
    /// Where to start; the same seed draws the same pairs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Score the labelled pairs in this folder instead.
    #[arg(long)]
    score: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let example =
        |name: &'static str| ["run", "--release", "-p", "toolcrib-containment", "--example", name, "--"];
    match &args.score {
        Some(folder) => run_command(cargo(example("score")).args([folder.as_str(), "-v"])),
        None => run_command(cargo(example("fuzz")).args([args.count.to_string(), args.seed.to_string()])),
    }
}
