//! Plain fuzzing driver: `toolcrib-fuzz [--seconds N] [--seed S] [TARGET]`.
//!
//! Each target runs in a child process, so that a stack overflow or an abort is a finding too. The child writes every
//! input to a file before it runs it; the last one is the culprit. A child that makes no progress is killed.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use toolcrib_fuzz::campaign::{self, Bounds};
use toolcrib_fuzz::target::Target;
use toolcrib_fuzz::{measure, targets};

/// Time that a child has after the end of its campaign before it counts as hung.
const GRACE: Duration = Duration::from_secs(20);

#[derive(Debug, Parser)]
#[command(about = "Feeds mutated inputs to the fuzz targets")]
struct Cli {
    /// Only this target.
    target: Option<String>,
    /// How long, over all targets.
    #[arg(long, default_value_t = 60.0)]
    seconds: f64,
    /// Another seed is another sequence of inputs.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Run this one input and nothing else; needs a target.
    #[arg(long, requires = "target")]
    input: Option<PathBuf>,
    /// Write the target's seeds and its dictionary into this folder, for libFuzzer; needs a target.
    #[arg(long, requires = "target")]
    export: Option<PathBuf>,
    /// In a child: where to note inputs.
    #[arg(long, hide = true)]
    note: Option<PathBuf>,
    /// Print the names of the targets.
    #[arg(long)]
    list: bool,
}

impl Cli {
    fn time(&self) -> io::Result<Duration> {
        Duration::try_from_secs_f64(self.seconds).map_err(io::Error::other)
    }
}

fn main() -> ExitCode {
    match drive(&Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("toolcrib-fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}

fn drive(cli: &Cli) -> io::Result<bool> {
    if cli.list {
        targets::ALL.iter().for_each(|target| println!("{}", target.name));
        return Ok(true);
    }
    let unknown = |name: &str| io::Error::other(format!("no target is named `{name}` (see --list)"));
    let chosen: Vec<&Target> = match cli.target.as_deref() {
        Some(name) => vec![targets::named(name).ok_or_else(|| unknown(name))?],
        None => targets::ALL.iter().collect(),
    };
    if let (Some(input), Some(target)) = (&cli.input, chosen.first()) {
        return single(target, input);
    }
    if let (Some(folder), Some(target)) = (&cli.export, chosen.first()) {
        return export(target, folder).map(|()| true);
    }
    if let (Some(note), Some(target)) = (&cli.note, chosen.first()) {
        return child(target, cli, note);
    }
    let share = cli.time()? / u32::try_from(chosen.len().max(1)).unwrap_or(1);
    let mut sound = true;
    for target in chosen {
        sound &= supervised(target, cli.seed, share)?;
    }
    Ok(sound)
}

fn single(target: &Target, input: &Path) -> io::Result<bool> {
    measure::limit_address_space()?;
    match campaign::execute(target, &std::fs::read(input)?) {
        Ok((_, used)) => {
            println!("{}: passed with {:.1?} of CPU and {} bytes", target.name, used.cpu, used.memory);
        }
        Err(broken) => {
            println!("{}: {}", target.name, broken.why);
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes each seed to a file of its own, and the dictionary beside the folder as `FOLDER.dict`.
fn export(target: &Target, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (number, seed) in (target.seeds)().iter().chain(&(target.heavy)()).enumerate() {
        std::fs::write(folder.join(format!("seed-{number}")), seed)?;
    }
    let entry = |word: &&str| {
        let bytes: String = word.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
        format!("\"{bytes}\"\n")
    };
    let dictionary: String = target.dictionary.iter().map(entry).collect();
    std::fs::write(folder.with_extension("dict"), dictionary)
}

fn child(target: &Target, cli: &Cli, note: &Path) -> io::Result<bool> {
    measure::limit_address_space()?;
    let mut note = File::create(note)?;
    let bounds = Bounds { time: cli.time()?, executions: u64::MAX };
    let mut trouble = None;
    let outcome = campaign::run(target, cli.seed, bounds, |input| {
        if let Err(error) = overwrite(&mut note, input) {
            trouble = Some(error);
        }
    });
    if let Some(error) = trouble {
        return Err(error);
    }
    match outcome {
        Ok(passed) => {
            println!(
                "    {:<16} {:>8} inputs, {:>4} shapes, worst {:>8} of CPU, {:>6} KiB",
                target.name,
                passed.executions,
                passed.shapes,
                format!("{:.1?}", passed.worst.cpu),
                passed.worst.memory / 1024
            );
            Ok(true)
        }
        Err(broken) => {
            println!("    {}: {}", target.name, broken.why);
            Ok(false)
        }
    }
}

fn overwrite(note: &mut File, input: &[u8]) -> io::Result<()> {
    note.seek(SeekFrom::Start(0))?;
    note.write_all(input)?;
    note.set_len(u64::try_from(input.len()).unwrap_or(u64::MAX))
}

fn supervised(target: &Target, seed: u64, time: Duration) -> io::Result<bool> {
    let folder = std::env::current_exe()?.with_file_name("fuzz-findings");
    std::fs::create_dir_all(&folder)?;
    let note = folder.join(format!("{}-{seed}-{}", target.name, std::process::id()));
    let mut child = Command::new(std::env::current_exe()?)
        .arg(target.name)
        .args(["--seed", &seed.to_string(), "--seconds", &time.as_secs_f64().to_string(), "--note"])
        .arg(&note)
        .stdin(Stdio::null())
        .spawn()?;
    let end = Instant::now() + time + GRACE;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if Instant::now() > end {
            child.kill()?;
            child.wait()?;
            break None;
        }
        thread::park_timeout(Duration::from_millis(20));
    };
    if status.is_some_and(|status| status.success()) {
        std::fs::remove_file(&note)?;
        return Ok(true);
    }
    match status {
        None => println!("    {}: hung and was ended", target.name),
        Some(status) => println!("    {}: the run ended with {status}", target.name),
    }
    println!("    the input is in {}; again: toolcrib-fuzz {} --input FILE", note.display(), target.name);
    Ok(false)
}
