//! One target, driven for a while: mutate, run, keep what is new, stop at the first failure.
//!
//! The sequence of inputs depends on the seed alone, never on time, so a failure comes back with the same seed.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::mutation::mutate;
use crate::random::Random;
use crate::target::{Shape, Target};

/// Inputs kept because they had a new shape.
const CORPUS_MAX: usize = 4_096;

/// How far a campaign goes.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub time: Duration,
    pub executions: u64,
    /// The longest that one input may take before it counts as a hang.
    pub input_time_max: Duration,
}

/// A campaign that found nothing wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passed {
    pub executions: u64,
    pub shapes: usize,
    pub slowest: Duration,
}

/// An input that broke the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub input: Vec<u8>,
    pub why: Why,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    Panicked(String),
    TookTooLong(Duration),
}

/// Runs every seed as it is and then mutations; `watch` sees each input before the target does.
pub fn run(
    target: &Target,
    seed: u64,
    bounds: Bounds,
    mut watch: impl FnMut(&[u8]),
) -> Result<Passed, Broken> {
    let mut random = Random::from_seed(seed);
    let mut corpus = (target.seeds)();
    let mut pending: Vec<Vec<u8>> = corpus.iter().rev().cloned().collect();
    let mut shapes = BTreeSet::new();
    let mut passed = Passed { executions: 0, shapes: 0, slowest: Duration::ZERO };
    let end = Instant::now() + bounds.time;
    while passed.executions < bounds.executions && (Instant::now() < end || !pending.is_empty()) {
        let is_seed = !pending.is_empty();
        let input = pending.pop().unwrap_or_else(|| {
            let mut input = random.pick(&corpus).cloned().unwrap_or_default();
            mutate(&mut input, &corpus, target.dictionary, target.bytes_max, &mut random);
            input
        });
        watch(&input);
        let (shape, took) = execute(target, &input, bounds.input_time_max)?;
        passed.executions += 1;
        passed.slowest = passed.slowest.max(took);
        if shapes.insert(shape) && !is_seed && corpus.len() < CORPUS_MAX {
            corpus.push(input);
        }
    }
    passed.shapes = shapes.len();
    Ok(passed)
}

/// Runs one input.
pub fn execute(target: &Target, input: &[u8], time_max: Duration) -> Result<(Shape, Duration), Broken> {
    let begun = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let took = begun.elapsed();
    match outcome {
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Err(Broken { input: input.to_vec(), why: Why::Panicked(text.to_owned()) })
        }
        Ok(_) if took > time_max => Err(Broken { input: input.to_vec(), why: Why::TookTooLong(took) }),
        Ok(shape) => Ok((shape, took)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        time: Duration::from_secs(60),
        executions: 200_000,
        input_time_max: Duration::from_secs(10),
    };

    fn depth(input: &[u8]) -> usize {
        input.iter().take_while(|byte| **byte == b'[').count()
    }

    /// Breaks on five opening brackets, which no single change of the seed gives.
    fn planted(input: &[u8]) -> Shape {
        assert!(depth(input) < 5, "too deep");
        Shape::of(&["depth", &depth(input).to_string()])
    }

    fn target(run: fn(&[u8]) -> Shape) -> Target {
        Target { name: "planted", seeds: || vec![b"1".to_vec()], dictionary: &["["], bytes_max: 64, run }
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
        let bounds = Bounds { input_time_max: Duration::from_millis(1), ..BOUNDS };
        assert!(matches!(run(&target(slow), 1, bounds, |_| {}).unwrap_err().why, Why::TookTooLong(_)));
    }

    #[test]
    fn a_sound_target_uses_up_its_executions() {
        let bounds = Bounds { executions: 1_000, ..BOUNDS };
        let passed =
            run(&target(|input| Shape::of(&[if input.is_empty() { "" } else { "x" }])), 1, bounds, |_| {});
        assert_eq!(passed.unwrap().executions, 1_000);
    }
}
