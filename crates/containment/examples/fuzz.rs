//! Fuzzes pairs against two plain validators: `cargo run --release --example fuzz -- COUNT [SEED]`.

#[path = "../tests/support/mod.rs"]
mod support;

use toolcrib_containment::World;

#[allow(clippy::print_stdout)]
fn main() {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(10_000);
    let seed: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let start = std::time::Instant::now();
    let open = support::fuzz::run(count - count / 4, seed, World::Open);
    let declared = support::fuzz::run(count / 4, seed, World::Declared);
    println!("{count} pairs in {:?}\nopen {open:?}\ndeclared {declared:?}", start.elapsed());
}
