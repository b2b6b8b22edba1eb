//! Undo for an edited file: a copy of the file, and a note of what was written over it.
//!
//! A file that is unchanged since the edit is restored byte for byte, or deleted if it did not exist before. In a file
//! that changed since, only Toolcrib's entry is removed, or the entry that it replaced is put back.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolcrib_contract::Digest;

use super::{EditError, read, write};

#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// Name of the entry that was written.
    name: String,
    /// `true` if the file existed before.
    existed: bool,
    /// Digest of the text that was written.
    written: String,
}

/// Result of an undo.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Undone {
    /// The file is restored byte for byte.
    Restored(String),
    /// The file did not exist before and is deleted.
    Gone,
    /// The file changed since; only the entry is taken back.
    EntryOnly(String),
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// Returns the path of the copy of a file.
pub(crate) fn backup_of(path: &Path) -> PathBuf {
    beside(path, ".before-toolcrib")
}

fn note_of(path: &Path) -> PathBuf {
    beside(path, ".toolcrib-undo")
}

/// Copies the file and notes what is about to be written. A further edit of the same entry keeps the first copy.
pub(crate) fn keep(path: &Path, before: Option<&str>, after: &str, name: &str) -> Result<(), EditError> {
    let known = read(&note_of(path))?.and_then(|text| serde_json::from_str::<Note>(&text).ok());
    let ours =
        known.filter(|note| note.name == name && before.is_some_and(|text| digest(text) == note.written));
    if ours.is_none()
        && let Some(before) = before
    {
        write(&backup_of(path), before)?;
        copy_permissions(path, &backup_of(path));
    }
    let existed = ours.map_or(before.is_some(), |note| note.existed);
    let note = Note { name: name.to_owned(), existed, written: digest(after) };
    let text = serde_json::to_string(&note).unwrap_or_default();
    write(&note_of(path), &format!("{text}\n"))
}

/// Gives a backup the permissions of the original, so that secrets in it are no more readable.
fn copy_permissions(from: &Path, to: &Path) {
    if let Ok(metadata) = std::fs::metadata(from) {
        let _ = std::fs::set_permissions(to, metadata.permissions());
    }
}

/// Returns the file's text and the [`Undone`] to apply. `put_back(now, before, name)` takes the entry back in a file
/// that changed since.
pub(crate) fn plan(
    path: &Path,
    put_back: impl Fn(&str, &str, &str) -> Result<String, EditError>,
) -> Result<(String, Undone), EditError> {
    let nothing = || EditError::NothingToUndo { path: path.to_owned() };
    let note: Note =
        read(&note_of(path))?.and_then(|text| serde_json::from_str(&text).ok()).ok_or_else(nothing)?;
    let now = read(path)?.ok_or_else(nothing)?;
    let before = if note.existed { read(&backup_of(path))?.ok_or_else(nothing)? } else { String::new() };
    let undone = match (digest(&now) == note.written, note.existed) {
        (true, true) => Undone::Restored(before),
        (true, false) => Undone::Gone,
        (false, _) => Undone::EntryOnly(put_back(&now, &before, &note.name)?),
    };
    Ok((now, undone))
}

/// Applies the undo and deletes the note and the copy.
pub(crate) fn apply(path: &Path, undone: &Undone) -> Result<(), EditError> {
    let io = |cause| EditError::Io { path: path.to_owned(), cause };
    match undone {
        Undone::Restored(text) | Undone::EntryOnly(text) => write(path, text)?,
        Undone::Gone => std::fs::remove_file(path).map_err(io)?,
    }
    for file in [note_of(path), backup_of(path)] {
        let _ = std::fs::remove_file(file);
    }
    Ok(())
}

fn digest(text: &str) -> String {
    Digest::of_bytes(text.as_bytes()).to_string()
}
