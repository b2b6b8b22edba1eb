//! The words about verdicts that `diff` and `check` share, and how a report is shown and what it comes to.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::ValueEnum;
use toolcrib_change::{FailOn, Options, Places, Report, Waivers, diff, render};
use toolcrib_containment::World;
use toolcrib_contract::Definition;

use crate::Outcome;
use crate::exit::{Exit, Failure, print};

#[derive(Debug, clap::Args)]
pub(crate) struct Judge {
    /// What callers and servers are assumed to send.
    #[arg(long, value_enum, default_value_t = WorldName::Declared)]
    world: WorldName,
    /// `format` asserts.
    #[arg(long)]
    assert_formats: bool,
    /// Safety regressions are breaking.
    #[arg(long)]
    strict_safety: bool,
    /// What could not be decided, and waivers that are expired or unused, fail the run.
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

impl Judge {
    /// What changed from `old` to `new`.
    pub(crate) fn compare(&self, old: &[Definition], new: &[Definition]) -> Report {
        let options = Options {
            world: self.world.into(),
            assert_formats: self.assert_formats,
            strict_safety: self.strict_safety,
            ..Options::default()
        };
        diff(old, new, &options)
    }

    pub(crate) fn is_for_people(&self) -> bool {
        self.format == Format::Terminal
    }

    /// Shows what is left of a report after the waivers, in `places` where a format shows places.
    pub(crate) fn conclude(&self, mut report: Report, places: &Places) -> Outcome {
        if let Some(path) = &self.waivers {
            let text = std::fs::read_to_string(path)
                .with_context(|| path.display().to_string())
                .map_err(|error| Failure::new(Exit::Unreachable, error))?;
            let waivers = Waivers::parse(&text)
                .with_context(|| path.display().to_string())
                .map_err(|error| Failure::new(Exit::Usage, error))?;
            waivers.apply(&mut report, &today());
        }
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

/// The day, `YYYY-MM-DD`, in UTC.
fn today() -> String {
    let mut day = toolcrib_registry::time::now();
    day.truncate("YYYY-MM-DD".len());
    day
}
