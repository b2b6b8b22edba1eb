//! The honest client beside an attack: calls a well-behaved server at a steady rate over one kept connection.
//!
//! Latency counts from the moment at which a call was due. If a gateway stops for a second, every call that was due in
//! that second is slow, not just one.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::client::{Post, Wire};
use crate::metronome::Metronome;

/// Interval between two calls: 200 per second, 1 to 2 % of a core.
const EVERY: Duration = Duration::from_millis(5);
/// Timeout of a call; after it the call has failed and the connection is reopened.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sorted latencies of one phase, in seconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Latencies {
    sorted: Vec<f64>,
    pub(crate) failed: usize,
    /// Last failure, for the report.
    pub(crate) failure: Option<String>,
}

impl Latencies {
    /// Merges the calls of several phases.
    pub(crate) fn pooled<'a>(phases: impl Iterator<Item = &'a Self>) -> Self {
        let mut pooled = Self::default();
        for phase in phases {
            pooled.sorted.extend_from_slice(&phase.sorted);
            pooled.failed += phase.failed;
            pooled.failure = phase.failure.clone().or(pooled.failure);
        }
        pooled.sorted.sort_by(f64::total_cmp);
        pooled
    }

    /// Returns the quantile `part`; the maximum if there are too few calls.
    pub(crate) fn quantile(&self, part: f64) -> f64 {
        let at = (self.sorted.len() as f64 * part) as usize;
        self.sorted.get(at).or(self.sorted.last()).copied().unwrap_or(f64::NAN)
    }
}

/// The honest client.
#[derive(Debug)]
pub(crate) struct Neighbour {
    to: SocketAddr,
    wire: Option<Wire>,
    /// Session id of a legacy client; `None` for a modern client.
    session: Option<String>,
    /// Number of calls; part of the arguments, so that the loop guard sees no repetition.
    calls: u64,
    metronome: Metronome,
}

impl Neighbour {
    pub(crate) fn new(to: SocketAddr, metronome: Metronome) -> Self {
        Self { to, wire: None, session: None, calls: 0, metronome }
    }

    /// Creates a legacy client with a session of its own.
    pub(crate) fn with_session(to: SocketAddr, metronome: Metronome) -> Result<Self> {
        let greeted = Wire::open(to, Ipv4Addr::LOCALHOST, PATIENCE)?.ask(&Post::initialize())?;
        let session = greeted.header("mcp-session-id").context("the neighbour gets no session")?.to_owned();
        Ok(Self { session: Some(session), ..Self::new(to, metronome) })
    }

    /// Calls for the length of `phase`. A phase ends late if its last call does.
    pub(crate) fn run(&mut self, phase: Duration) -> Latencies {
        let begun = Instant::now();
        let mut latencies = Latencies::default();
        let mut due = begun;
        while due.duration_since(begun) < phase {
            let mut from = due;
            while let Some(left) = due.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
                std::thread::park_timeout(left);
                // Waking up late is this program's own delay.
                from = Instant::now();
            }
            match self.call() {
                Ok(()) => {
                    let now = Instant::now();
                    let took = now - from;
                    // Pauses of the machine are subtracted.
                    let took = took.saturating_sub(self.metronome.paused(from, now));
                    latencies.sorted.push(took.as_secs_f64());
                }
                Err(failure) => {
                    latencies.sorted.push(PATIENCE.as_secs_f64());
                    latencies.failed += 1;
                    latencies.failure = Some(failure);
                }
            }
            due += EVERY;
            // Ends the phase after a long stall instead of making up for every missed call.
            if begun.elapsed() > phase * 4 {
                break;
            }
        }
        latencies.sorted.sort_by(f64::total_cmp);
        latencies
    }

    /// Makes one call and checks its answer.
    fn call(&mut self) -> Result<(), String> {
        self.calls += 1;
        let arguments = json!({"text": "hello", "number": self.calls});
        let params = json!({"name": "good__echo", "arguments": arguments});
        let post = match &self.session {
            None => Post::modern("tools/call", &params),
            Some(session) => {
                let call =
                    json!({"jsonrpc": "2.0", "id": self.calls, "method": "tools/call", "params": params});
                Post::legacy(call.to_string()).header("Mcp-Session-Id", session)
            }
        };
        let answered = self.wire().and_then(|wire| wire.ask(&post));
        match answered {
            Ok(answer) if answer.is_success() => Ok(()),
            Ok(answer) => Err(format!("HTTP {}: {}", answer.status, excerpt(&answer.text()))),
            Err(error) => {
                self.wire = None;
                Err(error.to_string())
            }
        }
    }

    fn wire(&mut self) -> std::io::Result<&mut Wire> {
        let wire = match self.wire.take() {
            Some(wire) => wire,
            None => Wire::open(self.to, Ipv4Addr::LOCALHOST, PATIENCE)?,
        };
        Ok(self.wire.insert(wire))
    }
}

/// Returns the beginning of a text on one line.
pub(crate) fn excerpt(text: &str) -> String {
    text.chars().take(160).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_the_value_that_so_many_calls_stay_below() {
        let latencies = Latencies { sorted: (0..200).map(f64::from).collect(), ..Latencies::default() };
        assert_eq!((latencies.quantile(0.5), latencies.quantile(0.99)), (100.0, 198.0));
        assert!(Latencies::default().quantile(0.5).is_nan());
    }
}
