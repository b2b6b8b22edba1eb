//! `xtask safety`: the safety tests of R4 in full size against the real binary: a thousand tokens with a hundred
//! parallel redemptions each, forty kills during calls, every position in a log of ten thousand records. Takes some
//! minutes.

use anyhow::Result;

use crate::shell::{cargo, run as run_command};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only tests whose name contains this.
    filter: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    run_command(
        cargo(["test", "--locked", "-p", "toolcrib-cli", "--test", "safety", "--"])
            .args(&args.filter)
            .env("TOOLCRIB_SAFETY_FULL", "1"),
    )
}
