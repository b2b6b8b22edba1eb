//! Atomic replacement of files, with a backup that is never overwritten.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

use crate::exit::{Exit, Failure};

/// Writes `text` to `path` through a temporary file and a rename: a reader never sees half of it.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error| Failure::new(Exit::Unreachable, error);
    let name = path.file_name().ok_or_else(|| failed(anyhow!("{} is no file", path.display())))?;
    let beside = path.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::File::create(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        if let Ok(known) = std::fs::metadata(path) {
            file.set_permissions(known.permissions())?;
        }
        std::fs::rename(&beside, path)
    };
    write()
        .inspect_err(|_| {
            let _ = std::fs::remove_file(&beside);
        })
        .with_context(|| path.display().to_string())
        .map_err(failed)
}

/// Copies `path` to `path.bak`, which must not exist.
pub(crate) fn back_up(path: &Path) -> Result<PathBuf, Failure> {
    let mut name = path.as_os_str().to_owned();
    name.push(".bak");
    let backup = PathBuf::from(name);
    let made = std::fs::read(path).and_then(|bytes| {
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&backup)?;
        file.write_all(&bytes)?;
        file.sync_all()
    });
    made.with_context(|| backup.display().to_string()).map_err(|error| {
        Failure::new(Exit::Unreachable, error).hint("move the backup away, or say --no-backup")
    })?;
    Ok(backup)
}
