//! `xtask bench NAME`: builds and runs a benchmark of crates/bench in release mode, with its options.
//!
//! The benchmarks depend on the whole product; they are a separate crate so that this program stays quick to build.

use anyhow::Result;

use crate::provision;
use crate::shell::{cargo, run as run_command};

#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// The benchmark's name and options; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    words: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.words.iter().any(|word| word == "cli" || word == "gateway") {
        // They measure the program itself.
        run_command(&mut cargo(["build", "--release", "--locked", "--quiet", "-p", "toolcrib-cli"]))?;
    }
    if args.words.iter().any(|word| word == "gateway") {
        provision::rivals()?;
    }
    run_command(
        cargo(["run", "--release", "--locked", "--quiet", "-p", "toolcrib-bench", "--"]).args(&args.words),
    )
}
