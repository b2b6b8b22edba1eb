//! Archives of the audit: files of whole segments in the export format, each with its own signed end.
//!
//! Guarantees: a file gets the name of an archive only after it is on disk and was read back and verified. An existing
//! file is never replaced by a different one.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use toolcrib_engine::safety::audit::{Broken, Checkpoint, PublicKey, Purpose, Signer, to_hex};
use toolcrib_engine::safety::export::{self, Extent, Reading};

use super::audit_log::page;
use crate::connection;
use crate::error::StoreError;
use crate::store::Store;

/// One archive file, as the audit names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    pub path: PathBuf,
    /// Digest of the file: `sha256:` and hexadecimal digits.
    pub digest: String,
}

/// Writes the records after `base` up to the checkpoint `end` into a file in `folder`.
pub(super) fn write(
    store: &Store,
    signer: &Signer,
    folder: &Path,
    base: Option<&Checkpoint>,
    end: &Checkpoint,
) -> Result<Archive, StoreError> {
    connection::make_folder(folder)?;
    let first = base.map_or(0, |base| base.seq) + 1;
    let path = folder.join(format!("audit-{first}-{}.jsonl", end.seq));
    let draft = folder.join(format!(".audit-{first}-{}.{}", end.seq, std::process::id()));
    let written = draw_up(store, signer, &draft, base, end).and_then(|()| {
        let (extent, digest) = read_back(&draft, signer.public())?;
        let is_whole = extent.base.as_ref() == base
            && extent.end.as_ref().is_some_and(|last| (last.seq, last.link) == (end.seq, end.link));
        if !is_whole {
            return Err(Broken::CutOff { last: extent.last(), signed: end.seq }.into());
        }
        place(&draft, &path, &digest, signer.public())?;
        Ok(Archive { path: path.clone(), digest })
    });
    // The draft was linked to its final name, or it is worthless.
    let _ = std::fs::remove_file(&draft);
    written
}

fn draw_up(
    store: &Store,
    signer: &Signer,
    draft: &Path,
    base: Option<&Checkpoint>,
    end: &Checkpoint,
) -> Result<(), StoreError> {
    let failed = |cause| StoreError::File { path: draft.to_path_buf(), cause: Arc::new(cause) };
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(draft);
    let mut out = BufWriter::new(file.map_err(failed)?);
    writeln!(out, "{}", export::title(signer.public(), base)).map_err(failed)?;
    let mut at = base.map_or(0, |base| base.seq);
    while at < end.seq {
        let page = store.read::<_, StoreError, _>(move |db| page(db, at)).wait_blocking()?;
        let Some(last) = page.records.last() else { break };
        at = last.seq;
        for record in page.records.iter().filter(|record| record.seq <= end.seq) {
            writeln!(out, "{}", export::line(record)).map_err(failed)?;
            if let Some(signed) = page.checkpoints.iter().find(|checkpoint| checkpoint.seq == record.seq) {
                writeln!(out, "{}", export::signed("checkpoint", signed)).map_err(failed)?;
            }
        }
    }
    let sealed = signer.sign(Purpose::Segment, end.seq, &end.link);
    writeln!(out, "{}", export::signed("sealed", &sealed)).map_err(failed)?;
    let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
    file.sync_all().map_err(failed)
}

/// Reads a file to its end and verifies it; returns its extent and its digest.
fn read_back(path: &Path, key: PublicKey) -> Result<(Extent, String), StoreError> {
    let failed = |cause| StoreError::File { path: path.to_path_buf(), cause: Arc::new(cause) };
    let mut input = BufReader::new(File::open(path).map_err(failed)?);
    let (mut reading, mut hasher) = (Reading::new(key), Sha256::new());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        hasher.update(&line);
        reading.line(line.strip_suffix(b"\n").unwrap_or(&line))?;
        line.clear();
    }
    let digest: [u8; 32] = hasher.finalize().into();
    Ok((reading.extent()?, format!("sha256:{}", to_hex(&digest))))
}

/// Links the draft to its final name. The same archive may already exist, from an attempt that was interrupted.
fn place(draft: &Path, path: &Path, digest: &str, key: PublicKey) -> Result<(), StoreError> {
    let failed = |cause| StoreError::File { path: path.to_path_buf(), cause: Arc::new(cause) };
    match std::fs::hard_link(draft, path) {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
            if !read_back(path, key).is_ok_and(|(_, there)| there == digest) {
                let cause =
                    io::Error::new(io::ErrorKind::AlreadyExists, "another file of this name is there");
                return Err(failed(cause));
            }
        }
        linked => linked.map_err(failed)?,
    }
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
}
