//! Effect of a hostile server on its neighbours: the 99th percentile of their call times, with it and without.
//!
//! Two phases of equal length alternate several times in the same gateway. In both, eight other callers call with a
//! pause: in one phase a server that behaves, in the other the hostile one. So the phases differ in the server and not
//! in the number of callers, who are load by themselves. The claim is about the median of the ratios. The circuit
//! breaker is part of the measurement: after five failures in a row, calls of a server are refused for two seconds,
//! then one call probes it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use crate::race::Effort;
use crate::serving::{Load, Server, Speaks, Which};

const BEHAVIOURS: [&str; 9] =
    ["hang", "half", "garbage", "wrong-id", "huge", "endless-stream", "depth-bomb", "closes", "storm"];
const CALLERS: usize = 8;
const PAUSE: Duration = Duration::from_millis(50);
const MOST: f64 = 1.5;

pub(super) fn run(url: &str, effort: Effort) -> Result<bool> {
    println!("\nthe slowest hundredth of a neighbour's calls beside a hostile server, at most {MOST}×");
    let (rounds, phase) =
        if effort.judges() { (5, Duration::from_secs(2)) } else { (1, Duration::from_millis(100)) };
    let mut holds = true;
    for behaviour in BEHAVIOURS {
        let hostile = Server::start_with(Which::Hostile, &[behaviour])?;
        let both = format!("{url},http://{}/mcp", hostile.address);
        let gateway = Server::start_with(Which::Gateway, &[&both])?;
        let params = json!({"name": "echo", "arguments": {"text": "hello", "count": 3}});
        let mut load = Load::new(gateway.address, 1, Speaks::Modern, "tools/call", &params)?;
        load.check(super::has_structured)?;
        let mut turns: Vec<(f64, f64)> = Vec::new();
        let before = gateway.resident_kib()?;
        let mut pokes = 0;
        for _ in 0..rounds {
            let calling = Poking::start(gateway.address, &params);
            let quiet = slowest_hundredth(&mut load, phase)?;
            anyhow::ensure!(calling.stop() > 0, "nobody called the server that behaves");
            let poking = Poking::start(gateway.address, &json!({"name": "bad__poke", "arguments": {}}));
            let beside = slowest_hundredth(&mut load, phase)?;
            pokes += poking.stop();
            turns.push((quiet, beside));
        }
        let grown = (gateway.resident_kib()? - before) / 1024.0;
        anyhow::ensure!(pokes > 0, "{behaviour}: nobody poked it");
        turns.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
        let (quiet, beside) = turns.get(turns.len() / 2).copied().unwrap_or((f64::NAN, f64::NAN));
        let ratio = beside / quiet;
        let verdict = match (effort.judges(), ratio <= MOST) {
            (false, _) => "",
            (true, true) => "  holds",
            (true, false) => "  MISSED",
        };
        println!(
            "  {behaviour:<16} {:>8.0} µs beside a server that behaves, {:>8.0} µs beside it, {ratio:>6.2}×{verdict}; {pokes} pokes, memory {grown:+.1} MiB",
            quiet * 1e6,
            beside * 1e6
        );
        holds &= !effort.judges() || ratio <= MOST;
    }
    Ok(holds)
}

/// 99th percentile of the call times of one phase, in seconds.
fn slowest_hundredth(load: &mut Load, phase: Duration) -> Result<f64> {
    let mut times = Vec::new();
    let end = Instant::now() + phase;
    while Instant::now() < end {
        let begun = Instant::now();
        load.once()?;
        times.push(begun.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times.get(times.len() * 99 / 100).copied().unwrap_or(f64::NAN))
}

/// Callers of one tool; dropping it stops them.
struct Poking {
    stopped: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Poking {
    fn start(gateway: SocketAddr, params: &Value) -> Self {
        let stopped = Arc::new(AtomicBool::new(false));
        let answered: Arc<AtomicUsize> = Arc::default();
        let threads = (0..CALLERS)
            .map(|_| {
                let (stopped, answered, params) = (stopped.clone(), answered.clone(), params.clone());
                std::thread::spawn(move || {
                    while !stopped.load(Ordering::Relaxed) {
                        let load = Load::new(gateway, 1, Speaks::Modern, "tools/call", &params);
                        // A refusal counts as an answer.
                        if load.and_then(|mut load| load.once()).is_ok() {
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        #[allow(clippy::disallowed_methods, reason = "a caller that takes its time")]
                        std::thread::sleep(PAUSE);
                    }
                })
            })
            .collect();
        Self { stopped, answered, threads }
    }

    /// Stops all callers; returns the number of answered calls.
    fn stop(self) -> usize {
        let answered = self.answered.clone();
        drop(self);
        answered.load(Ordering::Relaxed)
    }
}

impl Drop for Poking {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
