//! Scores every `*.jsonl` file of a folder: `cargo run --release --example score -- FOLDER [-v]`.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use toolcrib_containment::score::{score, table};
use toolcrib_containment::{Options, Prover, World};

#[allow(clippy::print_stdout)]
fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder =
        PathBuf::from(arguments.next().unwrap_or_else(|| "../shared/data/contract-pairs".to_owned()));
    let verbose = arguments.any(|argument| argument == "-v");
    let prover = Prover::new(Options { world: World::Open, ..Options::default() });
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    files.sort();
    let mut scores = Vec::new();
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        scores.push(score(&name, BufReader::new(File::open(&path)?), &prover)?);
    }
    println!("{}", table(&scores));
    if verbose {
        for miss in scores.iter().flat_map(|score| &score.misses) {
            println!("{}\t{}\t{}", miss.id, miss.truth, miss.answer);
        }
    }
    Ok(())
}
