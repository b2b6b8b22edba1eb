//! `xtask pairs`: compares the containment prover with plain validators. By default it draws a million random pairs and
//! stops at a proof that a validator disproves. With `--score` it scores a folder of labelled pairs beside published
//! peers.

use anyhow::Result;

use crate::shell::{built_binary, cargo, command, root, run as run_command};

/// Folder of the project's own labelled pairs, relative to the root of the workspace.
const OWN_PAIRS: &str = "crates/containment/tests/pairs";
/// Folder of labelled pairs of other projects, if it is beside the clone.
const SHARED_PAIRS: &str = "../shared/data/contract-pairs";

/// Seconds of random pairs in a test run.
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

/// Prints the score on all labelled pairs, then draws random pairs for [`FUZZ_SECONDS`]. A wrong verdict fails.
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
