//! `toolcrib lint FILE…`: checks tool definitions and catalogue files, and repairs `tools` with `--fix` (R6.4).

mod catalogue;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::json;
use toolcrib_contract::lint::{Level, Report, lint};

use crate::exit::{Exit, print};
use crate::form::{Form, Format};
use crate::{Outcome, source};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files that hold definitions.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// From which level on a finding fails the run.
    #[arg(long, value_enum, default_value_t = FailOn::Error)]
    fail_on: FailOn,
    #[command(flatten)]
    form: Form,
    /// Repair what can be repaired in catalogue files: `tools` becomes the names of `tool_definitions`.
    #[arg(long)]
    fix: bool,
    /// With --fix: leave no copy with the ending .bak beside the file.
    #[arg(long, requires = "fix")]
    no_backup: bool,
    /// Whose size budget a catalogue's entries must keep: official, toolhive, or a file with {"name":…,"bytes_max":…}.
    #[arg(long)]
    target: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Info,
    Warning,
    Error,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let least = match args.fail_on {
        FailOn::Info => Level::Info,
        FailOn::Warning => Level::Warning,
        FailOn::Error => Level::Error,
    };
    let mut reports = Vec::new();
    let mut catalogue_fails = false;
    for file in &args.files {
        catalogue_fails |= catalogue::lint(file, args)?;
        for definition in source::definitions(file)? {
            reports.push((file.display().to_string(), definition.name().to_owned(), lint(&definition)));
        }
    }
    let fails =
        reports.iter().any(|(.., report)| report.findings.iter().any(|finding| finding.level >= least));
    print(&match args.form.format() {
        Format::Terminal => text(&reports),
        Format::Json => json_text(&reports),
    })?;
    Ok(if fails || catalogue_fails { Exit::Findings } else { Exit::Nothing })
}

fn text(reports: &[(String, String, Report)]) -> String {
    let mut out = String::new();
    let mut counts = [0usize; 3];
    for (file, name, report) in reports {
        for finding in &report.findings {
            if let Some(count) = counts.get_mut(finding.level as usize) {
                *count += 1;
            }
            let name = toolcrib_contract::text::escaped(name);
            let _ = writeln!(
                out,
                "{:<7} {} {file}#{name}{}\n        {}",
                finding.level.name(),
                finding.rule,
                finding.pointer.as_str(),
                finding.message
            );
        }
    }
    let tokens: usize = reports.iter().map(|(.., report)| report.size.tokens).sum();
    let bytes: usize = reports.iter().map(|(.., report)| report.size.bytes).sum();
    let [info, warning, error] = counts;
    let _ = writeln!(
        out,
        "{} tools: {error} errors, {warning} warnings, {info} notes; {bytes} bytes, about {tokens} tokens in every prompt",
        reports.len()
    );
    out
}

fn json_text(reports: &[(String, String, Report)]) -> String {
    let tools: Vec<_> = reports
        .iter()
        .map(|(file, name, report)| {
            let findings: Vec<_> = report
                .findings
                .iter()
                .map(|f| json!({"rule": f.rule, "level": f.level.name(), "path": f.pointer.as_str(), "message": f.message}))
                .collect();
            json!({"file": file, "tool": name, "bytes": report.size.bytes, "tokens": report.size.tokens, "findings": findings})
        })
        .collect();
    json!({"tools": tools}).to_string()
}
