//! Metrics of calls: count, endings and duration, and one log line per call (R5.10).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;
use toolcrib_protocol::Request;

use crate::by_thread::ByThread;
use crate::caller::Caller;
use crate::ending::Ending;
use crate::engine::Engine;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::{stage, trace};

/// Upper bounds of the histogram's buckets, in microseconds.
const BOUNDS_US: [u64; 12] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 10_000_000];

/// Counters, sharded by thread for calls.
#[derive(Debug, Default)]
pub struct Meter {
    calls: ByThread<Counts>,
    /// Requests refused by load shedding, by the name of the limit. Rare, so one map is shared by all threads.
    shed: Mutex<BTreeMap<&'static str, u64>>,
}

#[derive(Debug, Default)]
struct Counts {
    endings: [u64; Ending::ALL.len()],
    buckets: [u64; BOUNDS_US.len()],
    count: u64,
    sum_us: u64,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.endings.iter_mut().zip(other.endings).for_each(|(sum, more)| *sum += more);
        self.buckets.iter_mut().zip(other.buckets).for_each(|(sum, more)| *sum += more);
        self.count += other.count;
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
    }
}

impl Meter {
    fn record(&self, ending: Ending, us: u64) {
        let Some(mut counts) = self.calls.lock() else { return };
        if let Some(counter) = counts.endings.get_mut(ending as usize) {
            *counter += 1;
        }
        let at = BOUNDS_US.iter().position(|bound| us <= *bound);
        if let Some(bucket) = at.and_then(|at| counts.buckets.get_mut(at)) {
            *bucket += 1;
        }
        counts.count += 1;
        counts.sum_us = counts.sum_us.saturating_add(us);
    }

    /// Counts a request that was refused by load shedding.
    pub fn count_shed(&self, limit: &'static str) {
        *self.shed.lock().unwrap_or_else(PoisonError::into_inner).entry(limit).or_default() += 1;
    }

    /// Appends all metrics in the Prometheus text format.
    pub fn render(&self, out: &mut String) {
        let mut all = Counts::default();
        self.calls.each().for_each(|counts| all.add(&counts));
        out.push_str("# HELP toolcrib_calls_total Calls of tools, by how they ended.\n# TYPE toolcrib_calls_total counter\n");
        for (ending, counter) in Ending::ALL.iter().zip(all.endings) {
            let _ = writeln!(out, "toolcrib_calls_total{{ending=\"{}\"}} {counter}", ending.word());
        }
        out.push_str(
            "# HELP toolcrib_call_seconds How long calls took.\n# TYPE toolcrib_call_seconds histogram\n",
        );
        let mut below = 0;
        for (bound, bucket) in BOUNDS_US.iter().zip(all.buckets) {
            below += bucket;
            let seconds = *bound as f64 / 1e6;
            let _ = writeln!(out, "toolcrib_call_seconds_bucket{{le=\"{seconds}\"}} {below}");
        }
        let count = all.count;
        let _ = writeln!(out, "toolcrib_call_seconds_bucket{{le=\"+Inf\"}} {count}");
        let sum = all.sum_us as f64 / 1e6;
        let _ = writeln!(out, "toolcrib_call_seconds_sum {sum}\ntoolcrib_call_seconds_count {count}");
        out.push_str("# HELP toolcrib_shed_total Requests refused because of load, by the limit that refused them.\n# TYPE toolcrib_shed_total counter\n");
        for (limit, count) in &*self.shed.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = writeln!(out, "toolcrib_shed_total{{limit=\"{limit}\"}} {count}");
        }
    }
}

/// Call in flight. Counted and logged when dropped, so that a call whose client disconnected is included.
struct Running<'a> {
    engine: &'a Engine,
    caller: &'a Caller<'a>,
    request: &'a Request<'a>,
    begun: Instant,
    ending: Ending,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let us = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.engine.meter().record(self.ending, us);
        if let Some(active) = trace::current() {
            active.end_as(self.ending);
        }
        tracing::info!(
            target: "toolcrib::call",
            tool = self.request.params.string("name").as_deref().unwrap_or_default(),
            principal = %self.caller.principal,
            client = self.caller.peer.client_info().map(|info| &*info.name).unwrap_or_default(),
            revision = self.caller.peer.revision().as_str(),
            ending = self.ending.word(),
            us,
        );
    }
}

impl Engine {
    /// Runs a call through all stages, counted and logged.
    pub(crate) async fn metered(&self, caller: &Caller<'_>, request: &Request<'_>) -> Result<Reply, Refusal> {
        let ending = Ending::Refused;
        let mut running = Running { engine: self, caller, request, begun: Instant::now(), ending };
        stage::live(self, caller, request, &mut running.ending).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_can_be_scraped() {
        let meter = Meter::default();
        meter.record(Ending::Done, 90);
        meter.record(Ending::Failed, 700);
        meter.record(Ending::Failed, u64::MAX / 2);
        meter.count_shed("SESSIONS_MAX");
        meter.count_shed("SESSIONS_MAX");
        let mut out = String::new();
        meter.render(&mut out);
        for line in [
            "toolcrib_calls_total{ending=\"done\"} 1",
            "toolcrib_calls_total{ending=\"failed\"} 2",
            "toolcrib_call_seconds_bucket{le=\"0.0001\"} 1",
            "toolcrib_call_seconds_bucket{le=\"0.001\"} 2",
            "toolcrib_call_seconds_bucket{le=\"+Inf\"} 3",
            "toolcrib_call_seconds_count 3",
            "toolcrib_shed_total{limit=\"SESSIONS_MAX\"} 2",
        ] {
            assert!(out.lines().any(|found| found == line), "{line} in\n{out}");
        }
    }
}
