//! Which processes live: each holds a lock on a file of its own, which the system lets go when the process ends.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::StoreError;

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
        let file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(Self { name, folder: Some(folder), file: Some(file) })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether a process of that name still runs. A dead one's file is taken away.
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
