//! Measured values of a case, and its verdict by the limits.

use serde_json::{Value, json};

use crate::case::Case;
use crate::neighbour::Latencies;

/// Maximum CPU milliseconds of a single refused request with a body of up to 1 MiB.
pub(crate) const CPU_MS_MAX: f64 = 50.0;
/// Maximum memory above idle in MiB.
pub(crate) const MEMORY_MIB_MAX: f64 = 64.0;
/// Maximum ratio of the neighbour's p99 during the attack to its quiet p99.
pub(crate) const RATIO_MAX: f64 = 1.5;
/// Limits of the short version: a debug build on a busy machine only proves that everything terminates.
pub(crate) const SMALL_CPU_MS_MAX: f64 = 5_000.0;
pub(crate) const SMALL_MEMORY_MIB_MAX: f64 = 512.0;

/// A quiet phase and the attack phase after it.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) quiet: Latencies,
    pub(crate) during: Latencies,
    pub(crate) requests: u64,
    pub(crate) cpu_ms: f64,
}

impl Turn {
    pub(crate) fn ratio(&self) -> f64 {
        self.during.quantile(0.99) / self.quiet.quantile(0.99)
    }
}

/// Measured values of one case.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) family: &'static str,
    pub(crate) name: String,
    /// Maximum CPU time of a request that was measured alone.
    pub(crate) single_cpu_ms: Option<f64>,
    /// `true` if that request called a hostile server, so that its CPU time has no limit.
    pub(crate) is_poke: bool,
    pub(crate) memory_mib: f64,
    pub(crate) turns: Vec<Turn>,
    pub(crate) is_alive: bool,
    pub(crate) death: Option<String>,
    pub(crate) refused_honest: bool,
    /// Beginning of the answer to the single request.
    pub(crate) answer: String,
    pub(crate) notes: Vec<String>,
}

impl Row {
    pub(crate) fn new(case: &Case) -> Self {
        Self {
            family: case.family,
            name: case.name.clone(),
            single_cpu_ms: None,
            is_poke: false,
            memory_mib: 0.0,
            turns: Vec::new(),
            is_alive: false,
            death: None,
            refused_honest: false,
            answer: String::new(),
            notes: Vec::new(),
        }
    }

    /// Merges all turns, so that a pause of the machine in one of them is one value among many.
    pub(crate) fn pooled(&self) -> Option<Turn> {
        let pool = |latencies: fn(&Turn) -> &Latencies| Latencies::pooled(self.turns.iter().map(latencies));
        (!self.turns.is_empty()).then(|| Turn {
            quiet: pool(|turn| &turn.quiet),
            during: pool(|turn| &turn.during),
            requests: self.turns.iter().map(|turn| turn.requests).sum(),
            cpu_ms: self.turns.iter().map(|turn| turn.cpu_ms).sum(),
        })
    }

    /// Returns the ratio if the neighbour was slower than allowed.
    pub(crate) fn slowed_neighbour(&self) -> Option<f64> {
        self.pooled().map(|turn| turn.ratio()).filter(|ratio| *ratio > RATIO_MAX)
    }

    /// Returns the CPU milliseconds per request of a storm; `None` if requests are not counted.
    pub(crate) fn storm_cpu_ms(&self) -> Option<f64> {
        let requests: u64 = self.turns.iter().map(|turn| turn.requests).sum();
        let spent: f64 = self.turns.iter().map(|turn| turn.cpu_ms).sum();
        (requests > 0).then(|| spent / requests as f64)
    }

    /// Returns the missed limits as text; empty if the case passed.
    pub(crate) fn misses(&self, is_small: bool) -> Vec<String> {
        let (cpu_max, memory_max) = match is_small {
            true => (SMALL_CPU_MS_MAX, SMALL_MEMORY_MIB_MAX),
            false => (CPU_MS_MAX, MEMORY_MIB_MAX),
        };
        let mut misses = Vec::new();
        match &self.death {
            Some(status) => misses.push(format!("died ({status})")),
            None if !self.is_alive => misses.push("hangs".to_owned()),
            None => {}
        }
        if let Some(cpu) = self.single_cpu_ms.filter(|cpu| !self.is_poke && *cpu > cpu_max) {
            misses.push(format!("CPU {cpu:.0} ms"));
        }
        if self.memory_mib > memory_max {
            misses.push(format!("memory {:.0} MiB", self.memory_mib));
        }
        let failed: usize = self.turns.iter().map(|turn| turn.during.failed).sum();
        if failed > 0 {
            misses.push(format!("{failed} calls of the neighbour failed"));
        }
        if self.refused_honest {
            misses.push("an honest client was refused".to_owned());
        }
        if let Some(ratio) = self.slowed_neighbour().filter(|_| !is_small) {
            misses.push(format!("neighbour {ratio:.2}×"));
        }
        misses
    }

    pub(crate) fn to_json(&self, is_small: bool) -> Value {
        let turns: Vec<Value> = self
            .turns
            .iter()
            .map(|turn| {
                let micros = |latencies: &Latencies, part| (latencies.quantile(part) * 1e6).round();
                json!({"quiet_p50_us": micros(&turn.quiet, 0.5), "quiet_p99_us": micros(&turn.quiet, 0.99),
                    "during_p50_us": micros(&turn.during, 0.5), "during_p99_us": micros(&turn.during, 0.99),
                    "failed": turn.during.failed, "requests": turn.requests, "cpu_ms": turn.cpu_ms})
            })
            .collect();
        json!({"family": self.family, "name": self.name, "single_cpu_ms": self.single_cpu_ms,
            "cpu_ms_per_request": self.storm_cpu_ms(), "memory_mib": self.memory_mib, "turns": turns,
            "ratio": self.pooled().map(|turn| turn.ratio()), "is_alive": self.is_alive, "death": self.death,
            "answer": self.answer, "misses": self.misses(is_small), "notes": self.notes})
    }
}
