//! `campaign hostile`: attacks the gateway, one case after another, each against a process of its own beside a
//! measured neighbour, and prints a table. A case that cannot be run counts as failed.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::case::{Case, Setting};
use crate::metronome::Metronome;
use crate::row::Row;
use crate::trial::{Effort, Trial};
use crate::{cases, table};

/// Number of concurrent cases in the short version.
const SMALL_AT_ONCE: usize = 8;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The binary to attack.
    #[arg(long)]
    binary: PathBuf,
    /// The program of hostile servers (an example of crates/gateway).
    #[arg(long)]
    hostile: PathBuf,
    /// Only cases whose `family/name` contains this; may be given several times.
    #[arg(long)]
    only: Vec<String>,
    /// Every case once, in small sizes: checks that everything has an end, and no ratios.
    #[arg(long)]
    small: bool,
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

/// Runs the chosen cases; returns `true` if all stayed within their limits.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let chosen = |name: &str| args.only.is_empty() || args.only.iter().any(|part| name.contains(part));
    let cases: Vec<_> =
        cases::all().into_iter().filter(|case| chosen(&format!("{}/{}", case.family, case.name))).collect();
    if args.list {
        for case in &cases {
            println!("{}/{}", case.family, case.name);
        }
        return Ok(true);
    }
    let effort = match args.small {
        true => Effort {
            turns: args.turns.unwrap_or(1),
            phase: Duration::from_millis(200),
            singles: 1,
            call_ms_max: 300,
        },
        false => Effort {
            turns: args.turns.unwrap_or(3),
            phase: Duration::from_millis(1_500),
            singles: 3,
            call_ms_max: 2_000,
        },
    };
    let trial = Trial {
        binary: args.binary.canonicalize().context("--binary")?,
        folder: std::env::temp_dir().join(format!("toolcrib-campaign-{}", std::process::id())),
        setting: Setting { hostile: args.hostile.canonicalize().context("--hostile")?, is_small: args.small },
        effort,
        metronome: if args.small { Metronome::default() } else { Metronome::start() },
    };
    println!("{}", table::HEAD);
    let outcome = Mutex::new(Outcome::default());
    let next = AtomicUsize::new(0);
    // The short version measures no ratios, so several cases can run at once.
    let at_once = if args.small { SMALL_AT_ONCE } else { 1 };
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = trial.run(case);
                    outcome.lock().unwrap_or_else(PoisonError::into_inner).add(case, result, args.small);
                }
            });
        }
    });
    let _ = std::fs::remove_dir_all(&trial.folder);
    let Outcome { rows, misses } = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(file) = &args.json {
        std::fs::write(file, serde_json::to_string_pretty(&rows)?).context("--json")?;
    }
    println!();
    for miss in &misses {
        println!("missed: {miss}");
    }
    println!("{} of {} cases held", cases.len() - misses.len(), cases.len());
    Ok(misses.is_empty())
}

/// Rows so far, and the cases that missed a limit.
#[derive(Debug, Default)]
struct Outcome {
    rows: Vec<Value>,
    misses: Vec<String>,
}

impl Outcome {
    fn add(&mut self, case: &Case, result: Result<Row>, is_small: bool) {
        let name = format!("{}/{}", case.family, case.name);
        match result {
            Ok(row) => {
                println!("{}", table::line(&row, is_small));
                let missed = row.misses(is_small);
                if !missed.is_empty() {
                    self.misses.push(format!("{name}: {}; {}", missed.join(", "), row.notes.join("; ")));
                }
                self.rows.push(row.to_json(is_small));
            }
            Err(error) => {
                println!("| {name} | – | – | – | – | – | – | NOT RUN: {error:#} |");
                self.misses.push(format!("{name}: not run: {error:#}"));
            }
        }
    }
}
