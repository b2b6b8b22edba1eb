//! Differential fuzzing loop. It draws a pair, asks the prover, and asks the two plain validators about random
//! values. It panics on a *compatible* with a counterexample, a witness that the second validator contradicts, and a
//! *compatible* that the canonical engine denies.

use std::time::Duration;

use serde_json::Value;
use toolcrib_containment::{Dialect, Options, Prover, Verdict, World, crosscheck};

use super::random::Random;
use super::validators::Validators;
use super::{instances, schemas};

/// Counts of answers.
#[derive(Debug, Default)]
pub struct Tally {
    pub compatible: usize,
    pub breaking: usize,
    pub unknown: usize,
    pub unusable: usize,
    /// Values on which the two validators disagree.
    pub disagreements: usize,
    /// Pairs that the canonical engine also answered.
    pub crosschecked: usize,
}

/// Random values that are tried against every proof.
const VALUES: usize = 40;

/// Fuzzes `count` pairs; panics at the first conflict.
pub fn run(count: u64, seed: u64, world: World) -> Tally {
    let options = Options { world, timeout: Duration::from_millis(300), ..Options::default() };
    let prover = Prover::new(options);
    prover.on_large_stack(|| {
        let mut tally = Tally::default();
        for round in 0..count {
            let mut random = Random::new(seed.wrapping_add(round).wrapping_mul(7919).wrapping_add(1));
            let old = schemas::document(&mut random);
            let new = if random.chance(85) {
                schemas::mutated(&old, &mut random)
            } else {
                schemas::document(&mut random)
            };
            let (producer, consumer) = if random.chance(50) { (old, new) } else { (new, old) };
            pair(&prover, &producer, &consumer, &mut random, &mut tally, world);
        }
        tally
    })
}

fn pair(
    prover: &Prover,
    producer: &Value,
    consumer: &Value,
    random: &mut Random,
    tally: &mut Tally,
    world: World,
) {
    let dialect = Dialect::Draft202012;
    let (Some(given), Some(wanted)) =
        (Validators::new(producer, dialect), Validators::new(consumer, dialect))
    else {
        tally.unusable += 1;
        return;
    };
    let Ok(judgement) = prover.judge_here(producer, consumer, (dialect, dialect)) else {
        tally.unusable += 1;
        return;
    };
    match judgement.verdict {
        Verdict::Compatible(proof) => {
            tally.compatible += 1;
            for _ in 0..VALUES {
                let value = instances::steered(producer, producer, random, 4);
                if !given.first(&value) || wanted.first(&value) {
                    continue;
                }
                if world == World::Declared && !crosscheck::declared(producer, dialect, &value) {
                    continue;
                }
                if given.second(&value) == Some(true) && wanted.second(&value) == Some(false) {
                    panic!("UNSOUND {proof:?}\nP {producer}\nC {consumer}\nvalue {value}");
                }
                tally.disagreements += 1;
            }
            if world == World::Open && random.chance(10) {
                match crosscheck::canonical_covers(producer, consumer) {
                    Some(true) => tally.crosschecked += 1,
                    Some(false) => panic!("DENIED by the canonical engine\nP {producer}\nC {consumer}"),
                    None => {}
                }
            }
        }
        Verdict::Breaking(witness) => {
            tally.breaking += 1;
            let value = &witness.value;
            assert!(
                given.first(value) && !wanted.first(value),
                "unconfirmed {value}\nP {producer}\nC {consumer}"
            );
            if given.second(value) == Some(false) || wanted.second(value) == Some(true) {
                tally.disagreements += 1;
            }
        }
        Verdict::Unknown(_) => tally.unknown += 1,
    }
}
