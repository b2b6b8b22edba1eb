//! Judges one pair per line: `cargo run --example compat -- [open|declared] < PAIRS.jsonl`.

use toolcrib_containment::{Options, Prover, World, batch};

#[allow(clippy::print_stderr)]
fn main() -> std::io::Result<()> {
    let world =
        if std::env::args().nth(1).as_deref() == Some("declared") { World::Declared } else { World::Open };
    let prover = Prover::new(Options { world, ..Options::default() });
    let faults = batch::run(std::io::BufReader::new(std::io::stdin()), std::io::stdout(), &prover)?;
    for fault in faults {
        eprintln!("{fault}");
    }
    Ok(())
}
