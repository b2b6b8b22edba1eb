//! `campaign tamper`: modifies the audit of a real data folder over a thousand times and runs `toolcrib audit verify`
//! each time.
//!
//! The attacker can write every file of the data folder but does not have the key. Two attacks cannot be detected by
//! anything inside the folder; they are documented and not part of the campaign: replacing the key together with the
//! database, and restoring an older copy of database and anchor together.

mod change;
mod export;
mod folder;

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::dice::Dice;
use folder::{Original, Work};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The binary under test.
    #[arg(long)]
    binary: PathBuf,
    /// Tries of each kind of change, at most as many as the kind has places.
    #[arg(long, default_value_t = 40)]
    tries: u64,
    /// Records of the log.
    #[arg(long, default_value_t = 2_400)]
    records: usize,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs the campaign; returns `true` if every change was detected.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let place = std::env::temp_dir().join(format!("toolcrib-tamper-{}", std::process::id()));
    let original = Original::make(&args.binary.canonicalize().context("--binary")?, &place, args.records)?;
    let mut dice = Dice::new(args.seed);
    let work = Work::new(&original)?;
    work.restore()?;
    let (is_found, said) = work.verify()?;
    anyhow::ensure!(!is_found, "the untouched log is called broken: {said}");
    println!("log of {} records, {} checkpoints\n", original.count, original.checkpoints.len());
    println!("| change | tried | found |\n| --- | ---: | ---: |");
    let (mut tried, mut found, mut missed) = (0, 0, Vec::new());
    let mut count = |name: &str, results: Vec<(String, bool, String)>| {
        let own = results.iter().filter(|(_, is_found, _)| *is_found).count();
        println!("| {name} | {} | {own} |", results.len());
        tried += results.len();
        found += own;
        missed.extend(
            results
                .into_iter()
                .filter(|(_, is_found, _)| !is_found)
                .map(|(how, _, said)| format!("{name}: {how}: {said}")),
        );
    };
    for kind in change::KINDS {
        let mut results = Vec::new();
        for attempt in 0..args.tries.min(kind.tries_max) {
            work.restore()?;
            let how = (kind.apply)(&work, &mut dice, attempt).with_context(|| kind.name.to_owned())?;
            let (is_found, said) = work.verify()?;
            results.push((how, is_found, said));
        }
        count(kind.name, results);
    }
    work.restore()?;
    let lines = work.export()?;
    for kind in export::KINDS {
        let mut results = Vec::new();
        for _ in 0..args.tries {
            let (changed, how) = (kind.apply)(&lines, &mut dice);
            let (is_found, said) = work.verify_file(&changed)?;
            results.push((how, is_found, said));
        }
        count(kind.name, results);
    }
    println!("| **all** | {tried} | {found} |\n");
    for line in &missed {
        println!("missed: {line}");
    }
    let _ = std::fs::remove_dir_all(&place);
    Ok(missed.is_empty())
}
