//! `toolcrib compat --batch PAIRS.jsonl` judges pairs of schemas; `--score FOLDER` compares with known verdicts (R7.2).

use std::fs::File;
use std::io::{BufReader, BufWriter, IsTerminal as _, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::ValueEnum;
use toolcrib_containment::score::{Score, score, table};
use toolcrib_containment::{Options, Prover, batch};

use crate::Outcome;
use crate::exit::{Exit, Failure, print};
use crate::judge::WorldName;
use crate::progress::Progress;

#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("work").required(true).args(["batch", "score"])))]
pub(crate) struct Args {
    /// Lines of {"id","old","new","direction","dialect"?}; answers come in the same order.
    #[arg(long, value_name = "PAIRS.jsonl")]
    batch: Option<PathBuf>,
    /// A folder of *.jsonl pairs that carry their true verdict: prints how we score beside published peers.
    #[arg(long, value_name = "FOLDER")]
    score: Option<PathBuf>,
    /// Values that callers and servers are assumed to send.
    #[arg(long, value_enum)]
    world: Option<WorldName>,
    /// `format` asserts.
    #[arg(long)]
    assert_formats: bool,
    /// Time for one pair; over it the answer is unknown.
    #[arg(long, default_value_t = 1000)]
    timeout_ms: u64,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Json,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let Format::Json = args.format;
    // Known verdicts follow plain JSON Schema semantics, so the default world of a score is the open one.
    let default = if args.score.is_some() { WorldName::Open } else { WorldName::Declared };
    let prover = Prover::new(Options {
        world: args.world.unwrap_or(default).into(),
        assert_formats: args.assert_formats,
        timeout: Duration::from_millis(args.timeout_ms),
        ..Options::default()
    });
    match (&args.batch, &args.score) {
        (Some(file), _) => judge(file, &prover),
        (None, Some(folder)) => compare(folder, &prover),
        (None, None) => Ok(Exit::Usage),
    }
}

fn opened(path: &Path) -> Result<File, Failure> {
    let file = File::open(path).with_context(|| path.display().to_string());
    file.map_err(|error| Failure::new(Exit::Unreachable, error))
}

/// Shows how far the files are read, unless the answers themselves scroll by at a terminal.
fn progress(files: &[PathBuf], answers: bool) -> Option<Progress> {
    let sizes = files.iter().filter_map(|path| std::fs::metadata(path).ok());
    let bytes: u64 = sizes.map(|about| about.len()).sum();
    let seen = answers && std::io::stdout().is_terminal();
    (!seen).then(|| Progress::new("judging pairs", usize::try_from(bytes).unwrap_or_default()))
}

fn reading(file: File, progress: Option<&Progress>) -> BufReader<Box<dyn Read + Send>> {
    BufReader::new(match progress {
        Some(progress) => Box::new(progress.reading(file)),
        None => Box::new(file),
    })
}

fn judge(path: &Path, prover: &Prover) -> Outcome {
    let file = opened(path)?;
    let progress = progress(&[path.to_owned()], true);
    let input = reading(file, progress.as_ref());
    let faults = batch::run(input, BufWriter::new(std::io::stdout()), prover);
    drop(progress);
    let faults = faults.map_err(|error| Failure::new(Exit::Unreachable, error))?;
    for fault in &faults {
        eprintln!("toolcrib: {}: {fault}", path.display());
    }
    Ok(if faults.is_empty() { Exit::Nothing } else { Exit::Usage })
}

fn compare(folder: &Path, prover: &Prover) -> Outcome {
    let unreachable = |error: std::io::Error| {
        Failure::new(Exit::Unreachable, anyhow::Error::new(error).context(folder.display().to_string()))
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(unreachable)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    files.sort();
    let mut scores = Vec::new();
    let progress = progress(&files, false);
    for path in &files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        scores.push(score(&name, reading(opened(path)?, progress.as_ref()), prover).map_err(unreachable)?);
    }
    drop(progress);
    print(&table(&scores))?;
    let is_wrong = |score: &Score| score.false_compatible + score.false_breaking + score.bad_witness > 0;
    Ok(if scores.iter().any(is_wrong) { Exit::Findings } else { Exit::Nothing })
}
