//! Fuzzing campaign of one target: mutates inputs, runs them, keeps those with a new shape, stops at the first
//! failure.
//!
//! The sequence of inputs depends on the seed only, never on time, so a failure is reproduced by the same seed.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::measure::{Usage, measured};
use crate::mutation::mutate;
use crate::random::Random;
use crate::target::{Shape, Target};

/// Maximum inputs that are kept because of a new shape.
const CORPUS_MAX: usize = 4_096;

/// Maximum bytes of an input that is kept: mutations of long inputs are slow and find little.
const KEPT_BYTES_MAX: usize = 4_096;

/// Limits of a campaign.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub time: Duration,
    pub executions: u64,
}

/// Result of a campaign without a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passed {
    pub executions: u64,
    pub shapes: usize,
    /// Maximum CPU time and maximum memory of any run.
    pub worst: Usage,
}

/// An input that made the target fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub input: Vec<u8>,
    pub why: Why,
}

/// Reason why an input failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    Panicked(String),
    TookTooLong { cpu: Duration, max: Duration },
    UsedTooMuch { bytes: usize, max: usize },
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Panicked(message) => write!(f, "panicked: {message}"),
            Self::TookTooLong { cpu, max } => write!(f, "one run took {cpu:.1?} of CPU, at most {max:.1?}"),
            Self::UsedTooMuch { bytes, max } => write!(f, "one run held {bytes} bytes, at most {max}"),
        }
    }
}

/// Runs every seed and heavy input unchanged, then mutations. `watch` is called with each input before it runs.
pub fn run(
    target: &Target,
    seed: u64,
    bounds: Bounds,
    mut watch: impl FnMut(&[u8]),
) -> Result<Passed, Broken> {
    let mut random = Random::from_seed(seed);
    let mut corpus = (target.seeds)();
    let mut pending: Vec<Vec<u8>> = corpus.iter().cloned().chain((target.heavy)()).rev().collect();
    let mut shapes = BTreeSet::new();
    let mut passed = Passed::default();
    let end = Instant::now() + bounds.time;
    while passed.executions < bounds.executions && (Instant::now() < end || !pending.is_empty()) {
        let is_seed = !pending.is_empty();
        let input = pending.pop().unwrap_or_else(|| {
            let mut input = random.pick(&corpus).cloned().unwrap_or_default();
            mutate(&mut input, &corpus, target.dictionary, target.bytes_max, &mut random);
            input
        });
        watch(&input);
        let (shape, used) = execute(target, &input)?;
        passed.executions += 1;
        passed.worst.cpu = passed.worst.cpu.max(used.cpu);
        passed.worst.memory = passed.worst.memory.max(used.memory);
        let is_kept = !is_seed && input.len() <= KEPT_BYTES_MAX && corpus.len() < CORPUS_MAX;
        if shapes.insert(shape) && is_kept {
            corpus.push(input);
        }
    }
    passed.shapes = shapes.len();
    Ok(passed)
}

/// Runs one input and checks the target's limits.
pub fn execute(target: &Target, input: &[u8]) -> Result<(Shape, Usage), Broken> {
    let mut outcome = Err("not run".to_owned());
    let used = measured(|| {
        outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(input))).map_err(|payload| {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
        });
    });
    let memory_max = target.memory_max.for_input(input.len());
    let why = match outcome {
        Err(message) => Why::Panicked(message),
        Ok(_) if used.memory > memory_max => Why::UsedTooMuch { bytes: used.memory, max: memory_max },
        Ok(_) if used.cpu > target.cpu_max => Why::TookTooLong { cpu: used.cpu, max: target.cpu_max },
        Ok(shape) => return Ok((shape, used)),
    };
    Err(Broken { input: input.to_vec(), why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Memory;

    const BOUNDS: Bounds = Bounds { time: Duration::from_secs(60), executions: 200_000 };

    fn depth(input: &[u8]) -> usize {
        input.iter().take_while(|byte| **byte == b'[').count()
    }

    /// Fails on five opening brackets, which no single change of the seed gives.
    fn planted(input: &[u8]) -> Shape {
        assert!(depth(input) < 5, "too deep");
        Shape::of(&["depth", &depth(input).to_string()])
    }

    fn target(run: fn(&[u8]) -> Shape) -> Target {
        Target {
            name: "planted",
            seeds: || vec![b"1".to_vec()],
            heavy: Vec::new,
            dictionary: &["["],
            bytes_max: 64,
            cpu_max: Duration::from_secs(10),
            memory_max: Memory { factor: 1_000, constant: 100_000 },
            run,
        }
    }

    #[test]
    fn a_planted_bug_is_found_and_found_again_with_the_same_seed() {
        let first = run(&target(planted), 1, BOUNDS, |_| {}).unwrap_err();
        assert_eq!(first.why, Why::Panicked("too deep".to_owned()));
        assert!(depth(&first.input) >= 5);
        assert_eq!(run(&target(planted), 1, BOUNDS, |_| {}).unwrap_err(), first);
    }

    #[test]
    fn a_slow_input_is_broken() {
        fn slow(_: &[u8]) -> Shape {
            let end = Instant::now() + Duration::from_millis(20);
            while Instant::now() < end {}
            Shape::of(&[])
        }
        let slow = Target { cpu_max: Duration::from_micros(100), ..target(slow) };
        let broken = run(&slow, 1, BOUNDS, |_| {}).unwrap_err();
        assert!(matches!(broken.why, Why::TookTooLong { .. }), "{broken:?}");
    }

    /// Copies its input once per byte, like an accidentally quadratic parser.
    #[test]
    fn an_input_that_takes_memory_out_of_proportion_is_broken() {
        fn hoards(input: &[u8]) -> Shape {
            let copies: Vec<Vec<u8>> = input.iter().map(|_| input.repeat(100)).collect();
            Shape::of(&[&copies.len().ilog2().to_string()])
        }
        let broken = run(&target(hoards), 1, BOUNDS, |_| {}).unwrap_err();
        assert!(matches!(broken.why, Why::UsedTooMuch { bytes, max } if bytes > max), "{broken:?}");
    }

    #[test]
    fn heavy_inputs_are_run_and_not_mutated() {
        let target = Target {
            heavy: || vec![vec![b'x'; 64]],
            ..target(|input| Shape::of(&[if input.len() == 64 { "heavy" } else { "" }]))
        };
        let mut seen = Vec::new();
        run(&target, 1, Bounds { executions: 2, ..BOUNDS }, |input| seen.push(input.len())).unwrap();
        assert_eq!(seen, [1, 64]);
    }

    #[test]
    fn a_sound_target_uses_up_its_executions() {
        let bounds = Bounds { executions: 1_000, ..BOUNDS };
        let passed =
            run(&target(|input| Shape::of(&[if input.is_empty() { "" } else { "x" }])), 1, bounds, |_| {});
        assert_eq!(passed.unwrap().executions, 1_000);
    }
}
