//! `toolcrib audit verify`: verifies the log of a data folder, an export, or consecutive archives.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use serde_json::json;
use toolcrib::engine::safety::audit::{Broken, PublicKey};
use toolcrib::engine::safety::export::{self, Extent};

use crate::Outcome;
use crate::data::{Data, unkept};
use crate::exit::{Exit, Failure};
use crate::form::Form;

pub(super) fn run(files: &[PathBuf], key: Option<&str>, form: Form, data: &Data) -> Outcome {
    let given = key.map(|text| {
        PublicKey::parse(text).ok_or_else(|| {
            Failure::new(Exit::Usage, anyhow!("--key is no public key"))
                .hint("the data folder's is in its file audit.pub")
        })
    });
    let given = given.transpose()?;
    let verified = match (files, given) {
        ([], given) => return told(folder(given, data)?, form),
        ([one], given) if !one.is_dir() => file(one, key_or_own(given, data)?)?.map(Some),
        (_, given) => archives(&listed(files)?, given, data)?,
    };
    told(verified.map(extent), form)
}

/// Returns the first record, the last record and the number of records.
fn extent(extent: Option<Extent>) -> (u64, u64, u64) {
    extent.map_or((1, 0, 0), |extent| {
        (extent.first(), extent.last(), (extent.last() + 1).saturating_sub(extent.first()))
    })
}

fn told(verified: Result<(u64, u64, u64), Broken>, form: Form) -> Outcome {
    match verified {
        Ok((first, last, count)) => {
            let extent = if first > 1 { format!(" ({first} to {last})") } else { String::new() };
            let text = format!("{count} records{extent}, unbroken, signed to the end");
            form.say(&text, &json!({"outcome": "unbroken", "records": count, "first": first, "last": last}))?;
            Ok(Exit::Nothing)
        }
        Err(broken) => {
            let json = json!({"outcome": "broken", "reason": broken.to_string()});
            form.say(&format!("broken: {broken}"), &json)?;
            Ok(Exit::Findings)
        }
    }
}

fn key_or_own(given: Option<PublicKey>, data: &Data) -> Result<PublicKey, Failure> {
    match given {
        Some(key) => Ok(key),
        None => data.look()?.key().map_err(unread_keys),
    }
}

fn unread_keys(error: toolcrib_store::StoreError) -> Failure {
    unkept(error).hint("give the public key with --key; it is in the folder's file audit.pub")
}

/// Verifies the data folder's log. Returns its first record, its last record and the number of records.
fn folder(given: Option<PublicKey>, data: &Data) -> Result<Result<(u64, u64, u64), Broken>, Failure> {
    let folder = data.look()?;
    // With `--key`, the secret keys need not be readable.
    let own = match (folder.key(), given) {
        (Ok(own), Some(given)) if own != given => return Ok(Err(Broken::OtherKey)),
        (Ok(own), _) => own,
        (Err(_), Some(given)) => given,
        (Err(error), None) => return Err(unread_keys(error)),
    };
    if folder.published().map_err(unkept)? != Some(own) {
        let error = anyhow!("the file audit.pub is not the public half of the folder's key");
        return Err(Failure::new(Exit::Findings, error)
            .hint(format!("the key that signs is {own}; find out who changed audit.pub")));
    }
    let log = folder.audit();
    let before = log.base().map_err(unkept)?.map_or(0, |base| base.seq);
    let verified = log.verify(own).map_err(unkept)?;
    Ok(verified.map(|last| (before + 1, last, last.saturating_sub(before))))
}

fn file(path: &Path, key: PublicKey) -> Result<Result<Extent, Broken>, Failure> {
    let unread = |error: anyhow::Error| Failure::new(Exit::Unreachable, error);
    let context = || format!("cannot read {}", path.display());
    let opened = std::fs::File::open(path).with_context(context).map_err(unread)?;
    let mut reading = export::Reading::new(key);
    for text in BufReader::new(opened).split(b'\n') {
        let text = text.with_context(context).map_err(unread)?;
        if let Err(broken) = reading.line(&text) {
            return Ok(Err(broken));
        }
    }
    Ok(reading.extent())
}

/// Returns the named files, with each folder replaced by the archives in it.
fn listed(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()));
        for entry in entries.map_err(|error| Failure::new(Exit::Unreachable, error))? {
            let entry = entry.map_err(|error| Failure::new(Exit::Unreachable, error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_archive = name.strip_prefix("audit-").is_some_and(|rest| {
                rest.strip_suffix(".jsonl").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            });
            if is_archive {
                files.push(entry.path());
            }
        }
    }
    Ok(files)
}

/// Verifies consecutive files. Without `--key`, the data folder's log has to continue the last of them.
fn archives(
    paths: &[PathBuf],
    given: Option<PublicKey>,
    data: &Data,
) -> Result<Result<Option<Extent>, Broken>, Failure> {
    let key = key_or_own(given, data)?;
    let mut extents = Vec::new();
    for path in paths {
        match file(path, key)? {
            Ok(extent) => extents.push(extent),
            Err(broken) => {
                eprintln!("toolcrib: in {}", path.display());
                return Ok(Err(broken));
            }
        }
    }
    let next = match given {
        Some(_) => None,
        None => data.look()?.audit().base().map_err(unkept)?,
    };
    if extents.is_empty()
        && let Some(base) = &next
    {
        return Ok(Err(Broken::Gap { first: 1, last: base.seq }));
    }
    Ok(export::chained(extents, next.as_ref()))
}
