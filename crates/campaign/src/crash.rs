//! `campaign crash`: destructive calls through a gateway while it and its servers are killed with `kill -9`.
//!
//! Every server appends its executions to a ledger. At the end the gateway's audit is compared with the ledgers and
//! with the answers that the clients got: no call was executed twice, none without an intent, none was reported or
//! recorded *done* or *failed* contrary to the facts, and every intent has an ending. A client whose connection breaks
//! sends the same call with the same token again, like an impatient client.

mod bed;
mod caller;
mod verdict;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::dice::Dice;
use bed::Bed;
use caller::{Call, Caller};

/// Number of concurrent clients.
const CALLERS: usize = 8;
/// Maximum pause before a kill in milliseconds, so that kills hit any moment of a call.
const KILL_JITTER_MS: u64 = 40;
/// Timeout of the whole campaign.
const WITHIN: Duration = Duration::from_secs(1_800);
/// Poll interval of the killer for the number of calls.
const LOOK_EVERY: Duration = Duration::from_millis(2);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The binary under test.
    #[arg(long)]
    binary: PathBuf,
    /// Destructive calls in all.
    #[arg(long, default_value_t = 10_000)]
    calls: usize,
    /// Kills in all: the gateway, its stdio servers and its HTTP servers in turn.
    #[arg(long, default_value_t = 450)]
    kills: usize,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs the campaign; returns `true` if the audit agrees with the facts.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let folder = std::env::temp_dir().join(format!("toolcrib-crash-{}", std::process::id()));
    let bed = Bed::start(&args.binary.canonicalize().context("--binary")?, &folder)?;
    let (next, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let end = Instant::now() + WITHIN;
    let (calls, killed) = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                let (bed, next) = (&bed, &next);
                scope.spawn(move || {
                    let mut caller = Caller::new(bed, end);
                    let mut calls = Vec::new();
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= args.calls {
                            return Ok(calls);
                        }
                        calls.push(caller.spend(number)?);
                    }
                })
            })
            .collect();
        let killer = scope.spawn(|| kill(args, &bed, &next, &ended));
        let calls: Vec<Result<Vec<Call>>> = callers
            .into_iter()
            .map(|caller| caller.join().unwrap_or_else(|_| bail!("a caller panicked")))
            .collect();
        ended.store(true, Ordering::Relaxed);
        (calls, killer.join().unwrap_or_else(|_| bail!("the killer panicked")))
    });
    let calls: Vec<Call> = calls.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    let killed = killed?;
    let record = bed.finish()?;
    let verdict = verdict::judge(&calls, &record);
    verdict.print(&killed);
    let _ = std::fs::remove_dir_all(&folder);
    if killed.iter().sum::<usize>() < args.kills {
        println!("missed: the calls ended before all kills");
        return Ok(false);
    }
    Ok(verdict.holds())
}

/// Kills the gateway, a stdio server and an HTTP server in turn, evenly over the calls. Returns the number of kills of
/// each kind.
fn kill(args: &Args, bed: &Bed, next: &AtomicUsize, ended: &AtomicBool) -> Result<[usize; 3]> {
    let mut dice = Dice::new(args.seed);
    let mut killed = [0; 3];
    for number in 0..args.kills {
        // Kills stop before the calls do, so that the last kills hit calls too.
        let due = (number + 1) * args.calls / (args.kills + 2);
        while next.load(Ordering::Relaxed) < due {
            if ended.load(Ordering::Relaxed) {
                return Ok(killed);
            }
            std::thread::park_timeout(LOOK_EVERY);
        }
        std::thread::park_timeout(Duration::from_millis(dice.between(0, KILL_JITTER_MS)));
        let (kind, which) = (number % 3, number / 3);
        match kind {
            0 => bed.kill_gateway()?,
            1 => bed.kill_stdio(which)?,
            _ => bed.kill_http(which)?,
        }
        if let Some(count) = killed.get_mut(kind) {
            *count += 1;
        }
    }
    Ok(killed)
}
