//! `toolcrib reference` (hidden): prints the command line as Markdown, for docs/reference/cli.md.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};

use crate::exit::{Exit, print};
use crate::{Cli, Outcome};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(value_enum, default_value_t = What::Cli)]
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum What {
    Cli,
    /// The JSON Schema of what `diff` and `check` print as JSON.
    Report,
}

pub(crate) fn run(args: &Args) -> Outcome {
    if args.what == What::Report {
        print(&format!("{:#}\n", toolcrib_change::render::schema()))?;
        return Ok(Exit::Nothing);
    }
    let mut text = String::from(
        "# The command line\n\nGenerated from the program by `toolcrib reference`; a test compares.\n",
    );
    let mut root = Cli::command().term_width(100).version(env!("CARGO_PKG_VERSION"));
    root.build();
    page(&root, &mut text);
    print(&text)?;
    Ok(Exit::Nothing)
}

fn page(command: &Command, text: &mut String) {
    let help = command.clone().render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    // Writing to a String cannot fail.
    let _ = write!(text, "\n## `{name}`\n\n```text\n{}\n```\n", lines.join("\n").trim_end());
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help") {
        page(verb, text);
    }
}
