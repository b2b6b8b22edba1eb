//! The options that `diff` and `check` share, and how they print a report and choose the exit code (R7.6).

use std::io::IsTerminal as _;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::ValueEnum;
use toolcrib_change::{FailOn, Fingerprint, Options, Places, Report, Sides, Waivers, diff, render};
use toolcrib_containment::World;
use toolcrib_contract::Definition;
use toolcrib_contract::text::one_line;

use crate::Outcome;
use crate::exit::{Exit, Failure, print};

#[derive(Debug, clap::Args)]
pub(crate) struct Judge {
    /// Values that callers and servers are assumed to send.
    #[arg(long, value_enum, default_value_t = WorldName::Declared)]
    world: WorldName,
    /// `format` asserts.
    #[arg(long)]
    assert_formats: bool,
    /// Safety regressions are breaking.
    #[arg(long)]
    strict_safety: bool,
    /// Undecided changes, and waivers that are expired or unused, fail the run.
    #[arg(long)]
    strict: bool,
    /// From which level on a change fails the run.
    #[arg(long, value_enum, default_value_t = Fail::Breaking)]
    fail_on: Fail,
    /// Findings somebody takes responsibility for: {"waivers":[{"rule","tool","reason","expires"?}]}.
    #[arg(long, value_name = "FILE")]
    waivers: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorldName {
    Declared,
    Open,
}

impl From<WorldName> for World {
    fn from(name: WorldName) -> Self {
        match name {
            WorldName::Declared => Self::Declared,
            WorldName::Open => Self::Open,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Fail {
    Breaking,
    Dangerous,
    Any,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    #[value(alias = "text")]
    Terminal,
    Json,
    Sarif,
    Github,
    Junit,
    Markdown,
    Html,
}

/// One side of a comparison: the word that names it, and its definitions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) word: &'a str,
    pub(crate) definitions: &'a [Definition],
}

/// Report of a comparison, and the schemas that cannot be judged.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub(crate) report: Report,
    unusable: Vec<(Fingerprint, String)>,
}

impl Judged {
    /// Appends another server's result. With a name, its tools are called `server/tool`.
    pub(crate) fn join(&mut self, other: Judged, server: Option<&str>) {
        self.report.join(other.report, server);
        self.unusable.extend(other.unusable);
    }

    /// Fails if a tool has an unusable schema and no waiver.
    fn refuse_unusable(&self) -> Result<(), Failure> {
        let left: Vec<&Fingerprint> = self.report.unusable().map(|(change, _)| &change.fingerprint).collect();
        let named = self.unusable.iter().filter(|(fingerprint, _)| left.contains(&fingerprint));
        match unusable(named.map(|(_, line)| line.clone()).collect()) {
            None => Ok(()),
            Some(failure) => Err(failure
                .hint("nothing is judged by such a schema: repair it, or waive schema.invalid for the tool")),
        }
    }
}

/// Returns the failure for unusable schemas; each line names file, tool and location.
pub(crate) fn unusable(mut lines: Vec<String>) -> Option<Failure> {
    const LINES_SHOWN: usize = 20;
    let count = lines.len();
    if count > LINES_SHOWN {
        lines.truncate(LINES_SHOWN);
        lines.push(format!("and {} more", count - LINES_SHOWN));
    }
    let error = match lines.as_slice() {
        [] => return None,
        [line] => anyhow!("{line}"),
        _ => anyhow!("{count} schemas are unusable\n  {}", lines.join("\n  ")),
    };
    Some(Failure::new(Exit::Usage, error))
}

impl Judge {
    /// Compares `old` with `new`.
    pub(crate) fn compare(&self, old: Side<'_>, new: Side<'_>) -> Judged {
        let options = Options {
            world: self.world.into(),
            assert_formats: self.assert_formats,
            strict_safety: self.strict_safety,
            ..Options::default()
        };
        let report = diff(old.definitions, new.definitions, &options);
        let named = report.unusable().map(|(change, sides)| {
            let word = match sides {
                Sides::Old => old.word.to_owned(),
                Sides::New => new.word.to_owned(),
                Sides::Both if old.word == new.word => new.word.to_owned(),
                Sides::Both => format!("{} and {}", old.word, new.word),
            };
            let (path, message) = (one_line(&change.path), &change.message);
            (change.fingerprint.clone(), format!("{word}: tool {:?}: {path}: {message}", change.tool))
        });
        let unusable = named.collect();
        Judged { report, unusable }
    }

    pub(crate) fn is_for_people(&self) -> bool {
        self.format == Format::Terminal
    }

    /// Applies the waivers, prints the report, and returns the exit code. `places` locates findings in files.
    pub(crate) fn conclude(&self, mut judged: Judged, places: &Places) -> Outcome {
        if let Some(path) = &self.waivers {
            let text = std::fs::read_to_string(path)
                .with_context(|| path.display().to_string())
                .map_err(|error| Failure::new(Exit::Unreachable, error))?;
            let waivers = Waivers::parse(&text)
                .with_context(|| path.display().to_string())
                .map_err(|error| Failure::new(Exit::Usage, error))?;
            waivers.apply(&mut judged.report, &today());
        }
        judged.refuse_unusable()?;
        let report = judged.report;
        let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        print(&match self.format {
            Format::Terminal => render::terminal(&report, colour),
            Format::Json => render::json(&report),
            Format::Sarif => render::sarif(&report, places).to_string(),
            Format::Github => render::github(&report, places),
            Format::Junit => render::junit(&report),
            Format::Markdown => render::markdown(&report),
            Format::Html => render::html(&report),
        })?;
        let fail_on = match self.fail_on {
            Fail::Breaking => FailOn::Breaking,
            Fail::Dangerous => FailOn::Dangerous,
            Fail::Any => FailOn::Any,
        };
        Ok(if report.fails(fail_on, self.strict) { Exit::Findings } else { Exit::Nothing })
    }
}

/// Returns today's date in UTC, `YYYY-MM-DD`.
fn today() -> String {
    let mut day = toolcrib_registry::time::now();
    day.truncate("YYYY-MM-DD".len());
    day
}
