//! Edits configuration files of other programs: changes one entry and nothing else.
//!
//! Guarantees: every byte outside the entry stays (comments, order, spacing). A JSON result is parsed and compared with
//! the intent before it is written. A write is atomic (temporary file, then rename), keeps the file's permissions and
//! follows symbolic links. Refuses a file that does not parse.

pub(crate) mod json;
pub(crate) mod toml;
pub(crate) mod undo;

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Reason why a file is left unchanged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EditError {
    #[error("{}: {cause}", path.display())]
    Io { path: PathBuf, cause: std::io::Error },
    #[error("{}: not {kind}: {cause}", path.display())]
    Malformed { path: PathBuf, kind: &'static str, cause: String },
    #[error("{}: {what:?} is there but holds no servers", path.display())]
    Shape { path: PathBuf, what: String },
    #[error("{}: the change would touch more than one entry", path.display())]
    Unsafe { path: PathBuf },
    #[error("{}: nothing to undo", path.display())]
    NothingToUndo { path: PathBuf },
}

/// Returns the text of a file, or `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<String>, EditError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(EditError::Io { path: path.to_owned(), cause }),
    }
}

/// Writes a file atomically: a temporary file beside it, then a rename.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), EditError> {
    let io = |cause| EditError::Io { path: path.to_owned(), cause };
    // Writes to the target of a symbolic link, so that the link stays a link.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(io)?;
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = folder.join(name);
    let mut file = std::fs::File::create(&temporary).map_err(io)?;
    let written = (|| {
        if let Ok(before) = std::fs::metadata(&target) {
            file.set_permissions(before.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&temporary, &target)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written.map_err(io)
}

/// Formats the changed lines as a diff with two lines of context.
pub(crate) fn shown(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let room = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(room).take_while(|(a, b)| a == b).count();
    let between = |lines: &[&str], sign: &str| -> String {
        let changed = lines.get(head..lines.len() - tail).unwrap_or_default();
        changed.iter().map(|line| format!("{sign} {line}\n")).collect()
    };
    let around = |lines: &[&str]| lines.iter().map(|line| format!("  {line}\n")).collect::<String>();
    let leading = old.get(head.saturating_sub(2)..head).unwrap_or_default();
    let trailing = old.get(old.len() - tail..).unwrap_or_default();
    let trailing = trailing.get(..trailing.len().min(2)).unwrap_or_default();
    format!("{}{}{}{}", around(leading), between(&old, "-"), between(&new, "+"), around(trailing))
}
