//! `xtask fuzz`: runs the fuzz targets with the plain driver, or one of them under libFuzzer.
//!
//! The plain driver needs only the workspace. It mutates generated inputs in the development profile, where overflows
//! and debug assertions panic. `--libfuzzer` is for campaigns: it is coverage-guided and needs a nightly toolchain and
//! cargo-fuzz.

use anyhow::{Context as _, Result};

use crate::shell::{built_binary, command, run as run_command};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this target; all of them share the time otherwise.
    target: Option<String>,
    /// How long, over all targets.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Coverage-guided, with cargo-fuzz and a nightly toolchain; needs a target.
    #[arg(long, requires = "target")]
    libfuzzer: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.libfuzzer {
        let target = args.target.as_deref().context("which target?")?;
        let corpus = format!("fuzz/libfuzzer/corpus/{target}");
        let driver = built_binary("toolcrib-fuzz")?;
        run_command(command(driver).args([target, "--export", &corpus]))?;
        let dictionary = format!("-dict={corpus}.dict");
        return run_command(
            command("cargo")
                .args(["+nightly", "fuzz", "run", "--fuzz-dir", "fuzz/libfuzzer", "any", &corpus, "--"])
                .arg(format!("-max_total_time={}", args.seconds))
                .arg(dictionary)
                .env("TOOLCRIB_FUZZ_TARGET", target),
        );
    }
    plain(args.target.as_deref(), args.seconds)
}

pub(crate) fn plain(target: Option<&str>, seconds: u64) -> Result<()> {
    let driver = built_binary("toolcrib-fuzz")?;
    run_command(command(driver).args(["--seconds", &seconds.to_string()]).args(target))
}
