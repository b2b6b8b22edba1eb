//! Liveness of processes: each holds a lock on a file of its own, which the system releases when the process ends.
//!
//! Guarantees: a file under its final name was locked before it got that name, so a file whose lock is free belongs to
//! a dead process. Its content is the newest revision of stops and credentials that the process has put in force.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::StoreError;

/// Prefix of the name of a file that is not locked yet.
const UNLOCKED_PREFIX: &str = "new-";

/// Lock file of this process; removed when dropped.
#[derive(Debug)]
pub(super) struct ProcessLock {
    name: String,
    folder: Option<PathBuf>,
    file: Option<File>,
}

impl ProcessLock {
    pub(super) fn take(folder: Option<&Path>) -> Result<Self, StoreError> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{}-{}", std::process::id(), since.as_nanos());
        let Some(folder) = folder else { return Ok(Self { name, folder: None, file: None }) };
        let folder = folder.join("processes");
        let path = folder.join(&name);
        let failed = |cause| StoreError::File { path: path.clone(), cause: Arc::new(cause) };
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let unlocked = folder.join(format!("{UNLOCKED_PREFIX}{name}"));
        let file = OpenOptions::new().write(true).create_new(true).open(&unlocked).map_err(failed)?;
        file.lock().map_err(failed)?;
        std::fs::rename(&unlocked, &path).map_err(failed)?;
        Ok(Self { name, folder: Some(folder), file: Some(file) })
    }

    /// Records for other processes that this one has put everything up to `revision` in force.
    pub(super) fn acknowledge(&self, revision: u64) -> Result<(), StoreError> {
        let (Some(file), Some(folder)) = (&self.file, &self.folder) else { return Ok(()) };
        // One write of fixed length, so that a reader sees the old number or the new one.
        file.write_all_at(format!("{revision:020}").as_bytes(), 0)
            .map_err(|cause| StoreError::File { path: folder.join(&self.name), cause: Arc::new(cause) })
    }

    /// Returns the names of the other live processes that have not acknowledged `revision`. A process that is just
    /// opening the folder counts until its first acknowledgement. Files of dead processes are removed.
    pub(super) fn behind(&self, revision: u64) -> Result<Vec<String>, StoreError> {
        let Some(folder) = &self.folder else { return Ok(Vec::new()) };
        let failed = |cause| StoreError::File { path: folder.clone(), cause: Arc::new(cause) };
        let mut behind = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
            // A process whose file is not locked yet will read the stops after this point.
            if name == self.name || name.starts_with(UNLOCKED_PREFIX) || !self.lives(&name) {
                continue;
            }
            let acknowledged = std::fs::read_to_string(folder.join(&name)).unwrap_or_default();
            if acknowledged.parse::<u64>().is_ok_and(|number| number >= revision) {
                continue;
            }
            behind.push(name);
        }
        behind.sort();
        Ok(behind)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns `true` if the process of that name still runs. Removes the file of a dead one.
    pub(super) fn lives(&self, name: &str) -> bool {
        if name == self.name {
            return true;
        }
        let Some(folder) = &self.folder else { return false };
        let path = folder.join(name);
        let Ok(file) = OpenOptions::new().write(true).open(&path) else { return false };
        match file.try_lock() {
            Ok(()) => {
                let _ = std::fs::remove_file(&path);
                false
            }
            Err(_) => true,
        }
    }
}

impl Drop for ProcessLock {
    fn drop(&mut self) {
        if let (Some(folder), Some(_held)) = (&self.folder, self.file.take()) {
            let _ = std::fs::remove_file(folder.join(&self.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("toolcrib-processes-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    /// R12.5: a process counts as behind until it acknowledges or ends.
    #[test]
    fn a_live_process_is_behind_until_it_acknowledges() {
        let path = folder("behind");
        let (own, other) = (ProcessLock::take(Some(&path)).unwrap(), ProcessLock::take(Some(&path)).unwrap());
        assert_eq!(own.behind(1).unwrap(), [other.name()], "it has just opened");
        other.acknowledge(1).unwrap();
        assert!(own.behind(1).unwrap().is_empty());
        assert_eq!(own.behind(2).unwrap(), [other.name()]);
        drop(other);
        assert!(own.behind(2).unwrap().is_empty());
        std::fs::remove_dir_all(path).unwrap();
    }

    /// R12.5: the file of a process that was killed does not count, and is removed.
    #[test]
    fn a_dead_process_is_not_behind() {
        let path = folder("dead");
        let own = ProcessLock::take(Some(&path)).unwrap();
        let left = path.join("processes").join("1-1");
        std::fs::write(&left, "").unwrap();
        assert!(own.behind(1).unwrap().is_empty());
        assert!(!left.exists());
        std::fs::remove_dir_all(path).unwrap();
    }
}
