//! `toolcrib audit list|verify|export|prune|unknown`: shows the audit log and verifies that nobody changed it.
//!
//! An export has one record per line, each with its hash, and ends with the signed head; the public key alone suffices
//! to verify it. Verbs that only read also work on a read-only data folder.

mod prune;
mod verify;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};
use toolcrib::engine::safety::audit::{Event, Kept, Kind};
use toolcrib::engine::safety::export;
use toolcrib_contract::text::one_line;

use crate::Outcome;
use crate::data::{Data, operate, operator, unkept};
use crate::exit::{Exit, Failure, print};
use crate::form::{Form, Format};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Show the latest records.
    List {
        /// How many.
        #[arg(long, default_value_t = 50)]
        last: u64,
        #[command(flatten)]
        form: Form,
        #[command(flatten)]
        data: Data,
    },
    /// Check that no record was changed, taken out, put in or moved.
    Verify {
        /// Exports or archives instead of the data folder, or a folder of archives. Several have to follow each other
        /// without a gap, up to the first record in the data folder unless --key is given.
        files: Vec<PathBuf>,
        /// The public key (64 hexadecimal digits) instead of the data folder's own.
        #[arg(long)]
        key: Option<String>,
        #[command(flatten)]
        form: Form,
        #[command(flatten)]
        data: Data,
    },
    /// Write all records and the signed end, one JSON a line.
    Export {
        /// A file instead of standard output.
        #[arg(long)]
        out: Option<PathBuf>,
        #[command(flatten)]
        data: Data,
    },
    /// Begin a new log after a broken one; the old one is kept in a file of the data folder.
    Restart {
        /// Why, for the first record of the new log.
        #[arg(long)]
        reason: String,
        #[command(flatten)]
        form: Form,
        #[command(flatten)]
        data: Data,
    },
    /// Take the oldest records out of the database; what is left verifies as before.
    Prune(prune::Args),
    /// Show the calls that were begun and whose end nobody knows.
    Unknown {
        #[command(flatten)]
        form: Form,
        #[command(flatten)]
        data: Data,
    },
}

pub(crate) fn run(args: &Args) -> Outcome {
    match &args.what {
        What::List { last, form, data } => list(data, *last, *form),
        What::Verify { files, key, form, data } => verify::run(files, key.as_deref(), *form, data),
        What::Export { out, data } => export(data, out.as_deref()),
        What::Restart { reason, form, data } => restart(reason, *form, data),
        What::Prune(args) => prune::run(args),
        What::Unknown { form, data } => unknown(*form, data),
    }
}

fn list(data: &Data, last: u64, form: Form) -> Outcome {
    let page = data.look()?.audit().last(last).map_err(unkept)?;
    let mut out = String::new();
    for record in &page.records {
        match form.format() {
            Format::Json => out.push_str(&export::line(record)),
            Format::Terminal => out.push_str(&text(record)),
        }
        out.push('\n');
    }
    if out.is_empty() {
        form.remark("no records")?;
    } else {
        print(&out)?;
    }
    Ok(Exit::Nothing)
}

fn text(record: &Kept) -> String {
    let value: Value = serde_json::from_str(&record.body).unwrap_or_default();
    let at = value.get("at_ms").and_then(Value::as_i64).map(toolcrib_registry::time::written);
    let mut out = format!("{:>8}  {}", record.seq, at.unwrap_or_default());
    for name in ["kind", "caller", "tool", "decision", "outcome", "rule", "ticket", "intent", "by", "note"] {
        match value.get(name) {
            None => {}
            Some(Value::String(text)) => {
                let _ = write!(out, "  {name}={}", one_line(text));
            }
            Some(other) => {
                let _ = write!(out, "  {name}={other}");
            }
        }
    }
    out
}

fn export(data: &Data, out: Option<&Path>) -> Outcome {
    let folder = data.look()?;
    let log = folder.audit();
    let failed = |error: std::io::Error| Failure::new(Exit::Internal, error);
    let mut sink: Box<dyn std::io::Write> = match out {
        Some(path) => {
            let file =
                std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display()));
            Box::new(std::io::BufWriter::new(file.map_err(|error| Failure::new(Exit::Unreachable, error))?))
        }
        None => Box::new(std::io::BufWriter::new(std::io::stdout().lock())),
    };
    let base = log.base().map_err(unkept)?;
    writeln!(sink, "{}", export::title(folder.key().map_err(unkept)?, base.as_ref())).map_err(failed)?;
    // The head is read first: records that are appended during the export are not part of it.
    let head = log.head().map_err(unkept)?;
    let end = head.as_ref().map_or(0, |head| head.seq);
    let mut at = base.map_or(0, |base| base.seq);
    while at < end {
        let page = log.after(at).map_err(unkept)?;
        let (Some(first), Some(last)) = (page.records.first(), page.records.last()) else { break };
        if first.seq > at + 1 && log.base().map_err(unkept)?.is_some_and(|base| base.seq > at) {
            let error = anyhow!("records were pruned while they were exported");
            return Err(Failure::new(Exit::Unreachable, error).hint("repeat it"));
        }
        at = last.seq;
        for record in page.records.iter().filter(|record| record.seq <= end) {
            writeln!(sink, "{}", export::line(record)).map_err(failed)?;
            if let Some(checkpoint) = page.checkpoints.iter().find(|checkpoint| checkpoint.seq == record.seq)
            {
                writeln!(sink, "{}", export::signed("checkpoint", checkpoint)).map_err(failed)?;
            }
        }
    }
    if let Some(head) = &head {
        writeln!(sink, "{}", export::signed("head", head)).map_err(failed)?;
    }
    sink.flush().map_err(failed)?;
    Ok(Exit::Nothing)
}

/// Exports the existing records to a file and starts a new log, numbered after the last record that was ever signed.
fn restart(reason: &str, form: Form, data: &Data) -> Outcome {
    let folder = data.open()?;
    let (log, key) = (folder.audit(), folder.keys.signer.public());
    let broken = log.verify(key).map_err(unkept)?;
    if let Ok(count) = broken {
        let error = anyhow!("the log is unbroken ({count} records): there is nothing to begin anew");
        return Err(Failure::new(Exit::Usage, error));
    }
    let now_ms =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_millis();
    let now_ms = u64::try_from(now_ms).unwrap_or(u64::MAX);
    let path = folder.path().join(format!("audit-broken-{now_ms}.jsonl"));
    export(data, Some(&path))?;
    let bytes = std::fs::read(&path).map_err(|error| Failure::new(Exit::Internal, error))?;
    let digest = toolcrib_contract::Digest::of_bytes(&bytes);
    let end = log.end(key).map_err(unkept)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let event = Event {
        by: Some(operator()),
        note: Some(format!("{reason}; before: {name}, {digest}")),
        ..Event::new(now_ms, Kind::Restarted)
    };
    log.restart(&folder.keys.signer, end, digest.as_bytes(), event).map_err(unkept)?;
    let text =
        format!("a new log begins after record {end}; the records before it are in {}", path.display());
    form.say(&text, &json!({"outcome": "restarted", "after": end, "file": path.display().to_string()}))?;
    Ok(Exit::Nothing)
}

fn unknown(form: Form, data: &Data) -> Outcome {
    let intents = match operate(data, async |safety| safety.store().unknown(u32::MAX).await.map_err(unkept)) {
        Ok(intents) => intents,
        // On a read-only folder, calls that still run cannot be told from those that were interrupted: all open intents
        // are listed.
        Err(failure) => match data.look() {
            Ok(folder) => folder.audit().unended().map_err(unkept)?,
            Err(_) => return Err(failure),
        },
    };
    let started = |ms: u64| toolcrib_registry::time::written(i64::try_from(ms).unwrap_or(i64::MAX));
    let (mut lines, mut calls) = (Vec::new(), Vec::new());
    for intent in &intents {
        let binding = &intent.binding;
        lines.push(format!(
            "{}  {}  from {}  started {}  arguments {}",
            intent.id,
            one_line(&binding.tool),
            one_line(&binding.caller),
            started(intent.started_ms),
            binding.arguments
        ));
        calls.push(json!({"id": intent.id, "tool": binding.tool, "caller": binding.caller,
            "started_ms": intent.started_ms, "arguments": binding.arguments.to_string()}));
    }
    if lines.is_empty() {
        lines.push("no call's end is unknown".to_owned());
    }
    form.say(&lines.join("\n"), &json!({ "calls": calls }))?;
    Ok(if intents.is_empty() { Exit::Nothing } else { Exit::Findings })
}
