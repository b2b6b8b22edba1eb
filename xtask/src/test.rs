//! `xtask test`: everything that must hold before a change lands, in one command, from a fresh clone.
//!
//! The steps run in the order below, and the first failure ends the run with the step's name. All steps use the
//! development profile and the same selection of packages, so that nothing is built twice. The test runner's last line
//! is printed again at the end, where people and machines look for it.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use toolcrib_testkit::deps::Deps;

use crate::shell::{self, answers, cargo, run as run_command};
use crate::{campaign, conformance, deny, fuzz, limits, pairs, provision, requirements};

/// Seconds for all fuzz targets together; their seeds alone take about a quarter of it.
const FUZZ_SECONDS: u64 = 60;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these steps, in their usual order; may be given several times.
    #[arg(long, value_enum)]
    only: Vec<Step>,
    /// Not these steps.
    #[arg(long, value_enum)]
    skip: Vec<Step>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Step {
    Provision,
    Format,
    Requirements,
    Limits,
    Deny,
    Clippy,
    Doc,
    Tests,
    DocTests,
    Score,
    Campaign,
    Fuzz,
    Conformance,
}

/// Steps in order, cheap checks first, so that a failing run fails early.
const STEPS: [Step; 13] = [
    Step::Provision,
    Step::Format,
    Step::Requirements,
    Step::Limits,
    Step::Deny,
    Step::Clippy,
    Step::Doc,
    Step::Tests,
    Step::DocTests,
    Step::Score,
    Step::Campaign,
    Step::Fuzz,
    Step::Conformance,
];

pub(crate) fn run(args: &Args) -> Result<()> {
    let start = Instant::now();
    let mut summary = None;
    let mut times: Vec<(Step, Duration)> = Vec::new();
    if !shell::root().join("../shared/data").is_dir() {
        println!(
            "==> SKIPPED: no ../shared/data beside this clone; tests over real catalogues use own fixtures only"
        );
    }
    for step in STEPS {
        if !(args.only.is_empty() || args.only.contains(&step)) || args.skip.contains(&step) {
            println!("==> {step:?}: left out by request");
            continue;
        }
        println!("==> {step:?}");
        let begun = Instant::now();
        take(step, &mut summary).with_context(|| format!("test run failed at step {step:?}"))?;
        times.push((step, begun.elapsed()));
    }
    println!("==> all steps passed in {:.0?}", start.elapsed());
    for (step, time) in times {
        println!("    {:<14}{:>8.1} s", format!("{step:?}"), time.as_secs_f64());
    }
    if let Some(line) = summary {
        println!("{line}");
    }
    Ok(())
}

fn take(step: Step, summary: &mut Option<String>) -> Result<()> {
    match step {
        Step::Provision => provision::provision(false),
        Step::Format => run_command(&mut cargo(["fmt", "--all", "--check"])),
        Step::Requirements => requirements::check(),
        Step::Limits => limits::check(),
        Step::Deny => deny::run(),
        Step::Clippy => run_command(&mut cargo([
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ])),
        Step::Doc => run_command(
            cargo(["doc", "--workspace", "--no-deps", "--locked", "--quiet"])
                .env("RUSTDOCFLAGS", "-D warnings"),
        ),
        Step::Tests => {
            *summary = Some(tests()?);
            Ok(())
        }
        Step::DocTests => run_command(&mut cargo(["test", "--workspace", "--doc", "--locked", "--quiet"])),
        Step::Score => pairs::judge(),
        Step::Campaign => campaign::small(),
        Step::Fuzz => fuzz::plain(None, FUZZ_SECONDS),
        Step::Conformance => conformance::everything(),
    }
}

/// Runs the tests and returns the runner's last line.
fn tests() -> Result<String> {
    let path = Deps::under(&shell::root()).path_variable();
    if !answers(cargo(["nextest", "--version"]).env("PATH", &path)) {
        println!("    cargo-nextest is missing: `cargo test` runs the tests");
        run_command(&mut cargo(["test", "--workspace", "--all-targets", "--locked"]))?;
        return Ok("the closing lines of `cargo test` are above".to_owned());
    }
    let mut command = cargo(["nextest", "run", "--workspace", "--locked", "--no-fail-fast"]);
    command.args(["--cargo-quiet", "--status-level=fail", "--final-status-level=fail"]).env("PATH", path);
    let (passed, lines) = shell::run_keeping(&mut command, |line| {
        line.trim_start().starts_with("Summary [") || line.contains("tests run:")
    })?;
    let summary = lines.last().map(|line| line.trim().to_owned());
    match summary {
        Some(line) if passed => Ok(line),
        Some(line) => bail!("tests failed: {line}"),
        None => bail!("the test runner printed no summary"),
    }
}
