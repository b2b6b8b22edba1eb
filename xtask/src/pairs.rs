//! `xtask pairs`: the containment prover against plain validators. By default a million random pairs, where a proof with
//! a counterexample ends the run; with `--score` the labelled pairs of a folder, as a table beside the published peers.

use anyhow::Result;

use crate::shell::{built_binary, cargo, command, root, run as run_command};

/// Labelled pairs of our own, in every clone.
const OWN_PAIRS: &str = "crates/containment/tests/pairs";
/// Those of others, where they are at hand.
const SHARED_PAIRS: &str = "../shared/data/contract-pairs";

/// Of random pairs, in a test run.
const FUZZ_SECONDS: u64 = 60;

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

/// Prints the score on every labelled pair at hand, then draws pairs for a minute; an answer that is wrong fails.
pub(crate) fn judge() -> Result<()> {
    for folder in [OWN_PAIRS, SHARED_PAIRS] {
        let path = root().join(folder);
        if path.is_dir() {
            run_command(command(built_binary("toolcrib")?).args(["compat", "--score"]).arg(path))?;
        } else {
            println!("SKIPPED: {folder} is not beside this clone; the score above is on our own pairs alone");
        }
    }
    let fuzz = built_binary("examples/fuzz")?;
    run_command(command(fuzz).args(["--seconds", &FUZZ_SECONDS.to_string()]))
}
