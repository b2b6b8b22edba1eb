//! Runs one case against a process of its own and measures it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::case::{Action, Attack, Case, ELSEWHERE, Phase, Setting, Target};
use crate::client::Post;
use crate::gateway::Gateway;
use crate::metronome::Metronome;
use crate::neighbour::{Latencies, Neighbour, excerpt};
use crate::row::{Row, Turn};
use crate::upstream::{Upstream, lower_priority};
use crate::usage::{Cpu, PeakMemory, memory_kib, reset_peak};

/// Number of attackers that repeat a single request concurrently: one per worker thread of the gateway on two cores.
const STRIKERS: usize = 2;
/// Number of concurrent callers of a hostile server.
const POKERS: usize = 8;
/// Pause of an attacker between two requests: both together send up to 20 MiB per second.
const STRIKE_PAUSE: Duration = Duration::from_millis(100);
/// Timeout of the answer to a single request; CPU time is measured until then.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);
/// Timeout of an attacker's answer; shorter, because it is one of many.
const STRIKE_ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Timeout for a hostile server to be served or refused.
const ADMITTED_WITHIN: Duration = Duration::from_secs(30);
/// Factor on the number of turns if the neighbour seems slow.
const AGAIN: usize = 2;
/// Timeout of a whole case; the values measured by then count.
const CASE_WITHIN: Duration = Duration::from_secs(90);
/// Timeout of `/livez` after the attack.
const LIVE_WITHIN: Duration = Duration::from_secs(3);

/// Number and length of measurements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) turns: usize,
    pub(crate) phase: Duration,
    /// Number of single requests, of which the worst counts.
    pub(crate) singles: usize,
    /// Timeout of a call of a hostile server, in milliseconds.
    pub(crate) call_ms_max: u64,
}

/// Settings with which cases are run.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) binary: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) setting: Setting,
    pub(crate) effort: Effort,
    pub(crate) metronome: Metronome,
}

impl Trial {
    pub(crate) fn run(&self, case: &Case) -> Result<Row> {
        let good = Upstream::good()?;
        let attack = (case.prepare)(&self.setting).context("preparing the attack")?;
        let folder = self.folder.join(format!("{}-{}", case.family, case.name));
        let gateway =
            Gateway::start(&self.binary, &folder, &attack.policy, good.address, self.effort.call_ms_max)?;
        let mut neighbour = match attack.has_session {
            true => Neighbour::with_session(gateway.address, self.metronome.clone())?,
            false => Neighbour::new(gateway.address, self.metronome.clone()),
        };
        neighbour.run(self.effort.phase / 2);
        let baseline = neighbour.run(self.effort.phase);
        anyhow::ensure!(baseline.failed == 0, "the neighbour is not served: {:?}", baseline.failure);
        let idle_kib = memory_kib(gateway.pid, "VmRSS:").context("memory of the idle gateway")?;
        reset_peak(gateway.pid);
        let peak = PeakMemory::watch(gateway.pid);
        let mut row = Row::new(case);
        self.attack(&attack, &gateway, &mut neighbour, &baseline, &mut row);
        row.death = gateway.death().map(|status| status.to_string());
        row.is_alive = gateway.answers(LIVE_WITHIN);
        row.memory_mib = peak.kib().saturating_sub(idle_kib) as f64 / 1024.0;
        if row.death.is_some() {
            row.notes.push(last_words(&gateway.said()));
        }
        Ok(row)
    }

    fn attack(
        &self,
        attack: &Attack,
        gateway: &Gateway,
        neighbour: &mut Neighbour,
        baseline: &Latencies,
        row: &mut Row,
    ) {
        let end = Instant::now() + CASE_WITHIN;
        let is_over = || gateway.death().is_some() || Instant::now() > end;
        let target = Target { gateway, address: gateway.address, source: ELSEWHERE };
        if !attack.servers.is_empty() {
            let admitted = gateway.configure(&attack.servers).and_then(|()| {
                attack
                    .servers
                    .iter()
                    .try_for_each(|server| gateway.settled(server.name, ADMITTED_WITHIN).map(drop))
            });
            if let Err(error) = admitted {
                row.notes.push(error.to_string());
            }
        }
        let (singles, post) = match &attack.action {
            Action::Request(post) => (self.effort.singles, Some(post)),
            Action::Poke(post) => (1, Some(post)),
            Action::Storm(_) => (0, None),
        };
        for post in post.iter().cycle().take(singles) {
            if is_over() {
                return;
            }
            self.single(&target, post, row);
        }
        row.is_poke = matches!(attack.action, Action::Poke(_));
        // A neighbour that seems slow is measured for more turns before it is reported; all turns count.
        let turns = |row: &Row| match row.slowed_neighbour() {
            Some(_) if self.effort.turns > 1 => AGAIN * self.effort.turns,
            _ => self.effort.turns,
        };
        while row.turns.len() < turns(row) {
            if is_over() {
                return;
            }
            let (before, begun) = (Cpu::of(gateway.pid), Instant::now());
            let mut quiet = neighbour.run(self.effort.phase);
            let quiet_cpu = Cpu::of(gateway.pid).since(before) / begun.elapsed().as_secs_f64();
            let begun = Instant::now();
            if quiet.failed > 0 {
                // The previous attack still has an effect, so the baseline from before all attacks counts.
                quiet = baseline.clone();
            }
            let (during, requests, spent) = self.beside(attack, &target, neighbour, row);
            // Without the cost of the neighbour's own calls.
            let cpu_ms = (spent - quiet_cpu * begun.elapsed().as_secs_f64()).max(0.0);
            row.turns.push(Turn { quiet, during, requests, cpu_ms });
        }
    }

    /// Measures the CPU time of exactly one request, with nothing else in flight.
    fn single(&self, target: &Target<'_>, post: &Post, row: &mut Row) {
        settle(target.gateway.pid);
        let before = Cpu::of(target.gateway.pid);
        let answer = target.wire(ANSWER_WITHIN).and_then(|mut wire| wire.ask(post));
        settle(target.gateway.pid);
        let spent = Cpu::of(target.gateway.pid).since(before);
        row.single_cpu_ms = Some(row.single_cpu_ms.unwrap_or(0.0).max(spent));
        match answer {
            Ok(answer) => row.answer = excerpt(&answer.text()),
            Err(error) => row.notes.push(format!("single request: {error}")),
        }
    }

    /// Runs one attack phase; returns the neighbour's latencies, the number of requests and the CPU time.
    fn beside(
        &self,
        attack: &Attack,
        target: &Target<'_>,
        neighbour: &mut Neighbour,
        row: &mut Row,
    ) -> (Latencies, u64, f64) {
        let time = self.effort.phase * attack.phases;
        let phase = Phase::of(time);
        let before = Cpu::of(target.gateway.pid);
        let requests = AtomicU64::new(0);
        let (during, notes) = std::thread::scope(|scope| {
            let strikers = match &attack.action {
                Action::Request(_) => STRIKERS,
                Action::Poke(_) => POKERS,
                Action::Storm(_) => 1,
            };
            let strikes: Vec<_> = (0..strikers)
                .map(|_| {
                    scope.spawn(|| {
                        lower_priority();
                        let struck = match &attack.action {
                            Action::Request(post) | Action::Poke(post) => repeat(target, post, &phase),
                            Action::Storm(storm) => storm(target, &phase),
                        };
                        struck.map(|count| requests.fetch_add(count, Ordering::Relaxed))
                    })
                })
                .collect();
            let honest = scope.spawn(|| match &attack.honest {
                Some(honest) => {
                    phase.pause(time / 2);
                    honest(target)
                }
                None => Ok(()),
            });
            let during = scope.spawn(|| neighbour.run(time)).join().unwrap_or_default();
            phase.stop();
            let mut notes: Vec<String> = Vec::new();
            for strike in strikes {
                if let Ok(Err(error)) = strike.join() {
                    notes.push(format!("attack: {error:#}"));
                }
            }
            if let Ok(Err(error)) = honest.join() {
                notes.push(format!("honest client: {error:#}"));
            }
            (during, notes)
        });
        row.refused_honest |= notes.iter().any(|note| note.starts_with("honest client"));
        row.notes.extend(notes);
        let spent = Cpu::of(target.gateway.pid).since(before);
        (during, requests.load(Ordering::Relaxed), spent)
    }
}

/// Sends one request repeatedly; a refusal counts as an answer.
fn repeat(target: &Target<'_>, post: &Post, phase: &Phase) -> Result<u64> {
    let mut count = 0;
    while !phase.is_over() {
        if target.wire(STRIKE_ANSWER_WITHIN).and_then(|mut wire| wire.ask(post)).is_ok() {
            count += 1;
        }
        phase.pause(STRIKE_PAUSE);
    }
    Ok(count)
}

/// Waits until a process is idle, at most a second.
fn settle(pid: u32) {
    let end = Instant::now() + Duration::from_secs(1);
    let mut last = Cpu::of(pid);
    while Instant::now() < end {
        std::thread::park_timeout(Duration::from_millis(50));
        let now = Cpu::of(pid);
        if now.since(last) < 1.0 {
            return;
        }
        last = now;
    }
}

/// Returns the last line of a process's output.
fn last_words(said: &str) -> String {
    excerpt(said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing"))
}
