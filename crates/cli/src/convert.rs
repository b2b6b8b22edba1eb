//! `toolcrib convert`: converts catalogue files between formats, lossless both ways (R6.3).

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::ValueEnum;
use toolcrib_contract::json::{Document, Limits};
use toolcrib_contract::limits::JSON_FILE_BYTES_MAX;
use toolcrib_registry::convert::{ConvertError, Options, convert};
use toolcrib_registry::{Fault, Format, Report, pretty, strict};

use crate::exit::{Exit, Failure, print};
use crate::progress::Progress;
use crate::{Outcome, written};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file to convert: JSON or YAML.
    input: PathBuf,
    /// The format it is in; found out by its shape unless given.
    #[arg(long, value_enum)]
    from: Option<FormatName>,
    /// The format to write.
    #[arg(long, value_enum)]
    to: FormatName,
    /// Where to write; standard output unless given.
    #[arg(short, long, conflicts_with = "in_place")]
    output: Option<PathBuf>,
    /// Replace the input, leaving a copy with the ending .bak beside it.
    #[arg(long)]
    in_place: bool,
    /// Leave no copy.
    #[arg(long, requires = "in_place")]
    no_backup: bool,
    /// Take what can be taken and list the rest, instead of stopping.
    #[arg(long)]
    lenient: bool,
    /// The name of a server that the input does not name, or the one server that is wanted.
    #[arg(long)]
    name: Option<String>,
    /// One line, without white space.
    #[arg(long)]
    compact: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatName {
    Toolhive,
    Upstream,
    Server,
    Tools,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Toolhive => Self::Toolhive,
            FormatName::Upstream => Self::Upstream,
            FormatName::Server => Self::Server,
            FormatName::Tools => Self::Tools,
        }
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let bytes = read(&args.input)?;
    let mut options = Options::default();
    options.from = args.from.map(Format::from);
    options.lenient = args.lenient;
    options.name = args.name.clone().or_else(|| stem(&args.input));
    let to = Format::from(args.to);
    let progress = Progress::new(&format!("converting {}", args.input.display()), 0);
    let converted = convert(&bytes, to, &options)
        .or_else(|error| match error {
            // The file's name was only a guess at the server's name.
            ConvertError::NoSuchServer { .. } if args.name.is_none() => {
                options.name = None;
                convert(&bytes, to, &options)
            }
            other => Err(other),
        })
        .map_err(|error| failure(&args.input, error))?;
    let document = Document::parse(converted.text.as_bytes(), &Limits::file())
        .with_context(|| args.input.display().to_string())
        .map_err(|error| Failure::new(Exit::Internal, error))?;
    let mut report = converted.report;
    let output = strict::check(to, document.root());
    for issue in output.issues() {
        report.push(issue.clone());
    }
    drop(progress);
    tell(&args.input.display().to_string(), &report);
    if output.first_error().is_some() && !args.lenient {
        let error = anyhow!(
            "{}: what would be written breaks the rules of {}; nothing was written",
            args.input.display(),
            to.name()
        );
        return Err(Failure::new(Exit::Findings, error).hint("--lenient writes it all the same"));
    }
    let text = if args.compact { format!("{}\n", converted.text) } else { pretty(document.root()) };
    match (&args.output, args.in_place) {
        (Some(path), _) => written::replace(path, &text)?,
        (None, true) => {
            if !args.no_backup {
                written::back_up(&args.input)?;
            }
            written::replace(&args.input, &text)?;
        }
        (None, false) => print(&text)?,
    }
    Ok(Exit::Nothing)
}

/// Reads a file, and refuses one over `JSON_FILE_BYTES_MAX` without reading it whole.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    use std::io::Read as _;
    let limit = JSON_FILE_BYTES_MAX;
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(limit as u64 + 1).read_to_end(&mut bytes))
        .with_context(|| path.display().to_string())
        .map_err(|error| Failure::new(Exit::Unreachable, error))?;
    if bytes.len() > limit {
        let error = anyhow!("{}: over {limit} bytes (JSON_FILE_BYTES_MAX)", path.display());
        return Err(Failure::new(Exit::Usage, error));
    }
    Ok(bytes)
}

/// Returns the file name up to its first dot, used as the server's name.
pub(crate) fn stem(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    name.split('.').next().filter(|stem| !stem.is_empty()).map(str::to_owned)
}

/// Converts a conversion error into a failure with its exit code and hint.
pub(crate) fn failure(path: &Path, error: ConvertError) -> Failure {
    let exit = if matches!(error, ConvertError::Issue(_)) { Exit::Findings } else { Exit::Usage };
    let hint = match &error {
        ConvertError::NotOne { .. } => Some("name the server with --name"),
        ConvertError::Issue(issue) if matches!(issue.fault, Fault::ChangedServer { .. }) => {
            Some("--replace takes the new one, --lenient keeps the old one and takes the rest")
        }
        ConvertError::Issue(_) => Some("--lenient takes the rest and lists what it left"),
        _ => None,
    };
    let failure = Failure::new(exit, anyhow::Error::new(error).context(path.display().to_string()));
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Prints the issues of a report to standard error.
pub(crate) fn tell(file: &str, report: &Report) {
    for issue in report.issues() {
        eprintln!(
            "{:<7} {} {file}#{}\n        {}",
            issue.level().name(),
            issue.fault.code(),
            issue.pointer.as_str(),
            issue.fault
        );
    }
    if report.more() > 0 {
        eprintln!("        and {} more", report.more());
    }
}
