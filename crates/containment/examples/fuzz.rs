//! Fuzzes pairs against two plain validators: `cargo run --release --example fuzz -- COUNT [SEED]`, or `--seconds N`.

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::{Duration, Instant};

use toolcrib_containment::World;

/// Pairs per batch between two checks of the clock.
const PIECE: u64 = 400;

#[allow(clippy::print_stdout)]
fn main() {
    let start = Instant::now();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).and_then(|text| text.parse::<u64>().ok());
    if words.first().is_some_and(|word| word == "--seconds") {
        let end = start + Duration::from_secs(number(1).unwrap_or(60));
        let mut pairs = 0;
        while Instant::now() < end {
            let world = if pairs / PIECE % 4 == 3 { World::Declared } else { World::Open };
            support::fuzz::run(PIECE, pairs, world);
            pairs += PIECE;
        }
        println!("{pairs} pairs in {:?}, no proof with a counterexample", start.elapsed());
        return;
    }
    let (count, seed) = (number(0).unwrap_or(10_000), number(1).unwrap_or(1));
    let open = support::fuzz::run(count - count / 4, seed, World::Open);
    let declared = support::fuzz::run(count / 4, seed, World::Declared);
    println!("{count} pairs in {:?}\nopen {open:?}\ndeclared {declared:?}", start.elapsed());
}
