//! `toolcrib diff OLD NEW`: what broke, with the call that used to work.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::ValueEnum;
use toolcrib_change::{FailOn, Options, diff, render};
use toolcrib_containment::World;

use crate::exit::{Exit, print};
use crate::{Outcome, source};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The definitions before: a file with {"tools":[…]}, an array, one definition, or a lock.
    old: PathBuf,
    /// The definitions after.
    new: PathBuf,
    /// What callers and servers are assumed to send.
    #[arg(long, value_enum, default_value_t = WorldName::Declared)]
    world: WorldName,
    /// `format` asserts.
    #[arg(long)]
    assert_formats: bool,
    /// Safety regressions are breaking.
    #[arg(long)]
    strict_safety: bool,
    /// What could not be decided fails the run.
    #[arg(long)]
    strict: bool,
    /// From which level on a change fails the run.
    #[arg(long, value_enum, default_value_t = Fail::Breaking)]
    fail_on: Fail,
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
    Terminal,
    Json,
    Sarif,
    Github,
    Junit,
    Markdown,
    Html,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let (old, new) = (source::definitions(&args.old)?, source::definitions(&args.new)?);
    let options = Options {
        world: args.world.into(),
        assert_formats: args.assert_formats,
        strict_safety: args.strict_safety,
        ..Options::default()
    };
    let report = diff(&old, &new, &options);
    let file = args.new.display().to_string();
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    print(&match args.format {
        Format::Terminal => render::terminal(&report, colour),
        Format::Json => render::json(&report),
        Format::Sarif => render::sarif(&report, &file).to_string(),
        Format::Github => render::github(&report, &file),
        Format::Junit => render::junit(&report),
        Format::Markdown => render::markdown(&report),
        Format::Html => render::html(&report),
    })?;
    let fail_on = match args.fail_on {
        Fail::Breaking => FailOn::Breaking,
        Fail::Dangerous => FailOn::Dangerous,
        Fail::Any => FailOn::Any,
    };
    Ok(if report.fails(fail_on, args.strict) { Exit::Findings } else { Exit::Nothing })
}
