//! `toolcrib audit prune`: moves the oldest audit segments from the database into archive files, or deletes them.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::anyhow;
use serde_json::json;
use toolcrib::engine::safety::keep::Retention;

use crate::Outcome;
use crate::amount;
use crate::data::{Data, operator, unkept};
use crate::exit::{Exit, Failure};
use crate::form::Form;
use crate::terminal::confirmed;

#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("limit").required(true).multiple(true)))]
pub(crate) struct Args {
    /// Take out records that are older than this, such as 90d or 12h.
    #[arg(long, value_name = "AGE", value_parser = amount::duration_ms, group = "limit")]
    older_than: Option<u64>,
    /// Take out the oldest records while the database is larger than this, such as 512MiB.
    #[arg(long, value_name = "SIZE", value_parser = amount::bytes, group = "limit")]
    keep_size: Option<u64>,
    /// Write the records to files in this folder first; without it they are deleted.
    #[arg(long, value_name = "DIR")]
    archive: Option<PathBuf>,
    /// Say what would be taken out, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Delete without asking, where there is no archive.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    form: Form,
    #[command(flatten)]
    data: Data,
}

pub(super) fn run(args: &Args) -> Outcome {
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let now_ms = u64::try_from(now_ms).unwrap_or(u64::MAX);
    let retention = Retention {
        since_ms: args.older_than.map(|age_ms| now_ms.saturating_sub(age_ms)),
        bytes_max: args.keep_size,
        archive: args.archive.clone(),
        by: operator(),
    };
    if args.dry_run {
        let cut = args.data.look()?.audit().cut(&retention).map_err(unkept)?;
        let Some(cut) = cut else { return nothing(args.form) };
        let records = cut.records();
        let text = format!(
            "would take out {records} records ({} to {}), about {} bytes",
            cut.first, cut.last, cut.bytes
        );
        let json = json!({"outcome": "would_prune", "records": records, "first": cut.first, "last": cut.last,
            "bytes": cut.bytes});
        args.form.say(&text, &json)?;
        return Ok(Exit::Nothing);
    }
    let folder = args.data.open()?;
    let log = folder.audit();
    let Some(cut) = log.cut(&retention).map_err(unkept)? else { return nothing(args.form) };
    if args.archive.is_none() && !args.yes {
        let question =
            format!("delete {} records of the audit ({} to {})?", cut.records(), cut.first, cut.last);
        if !confirmed(&question, "keep them with --archive DIR, or delete them with --yes")? {
            return Err(Failure::new(Exit::Usage, anyhow!("nothing was deleted")));
        }
    }
    if let Err(broken) = log.verify(folder.keys.signer.public()).map_err(unkept)? {
        let error = anyhow!("the audit is broken ({broken}): nothing was taken out");
        return Err(
            Failure::new(Exit::Findings, error).hint("`toolcrib audit verify`, `toolcrib audit restart`")
        );
    }
    let (mut first, mut last, mut records, mut bytes) = (None, 0, 0, 0);
    let (mut lines, mut files) = (Vec::new(), Vec::new());
    while let Some(pruned) = log.prune(&folder.keys.signer, &retention).map_err(unkept)? {
        first.get_or_insert(pruned.cut.first);
        (last, records, bytes) = (pruned.cut.last, records + pruned.cut.records(), bytes + pruned.cut.bytes);
        if let Some(archive) = pruned.archive {
            lines.push(format!("  {} {}", archive.path.display(), archive.digest));
            files.push(json!({"file": archive.path.display().to_string(), "digest": archive.digest}));
        }
    }
    let Some(first) = first else { return nothing(args.form) };
    let mut text = format!("took out {records} records ({first} to {last}), about {bytes} bytes");
    for line in lines {
        text.push('\n');
        text.push_str(&line);
    }
    let json = json!({"outcome": "pruned", "records": records, "first": first, "last": last, "bytes": bytes,
        "files": files});
    args.form.say(&text, &json)?;
    Ok(Exit::Nothing)
}

fn nothing(form: Form) -> Outcome {
    form.say("nothing has to go", &json!({"outcome": "nothing"}))?;
    Ok(Exit::Nothing)
}
