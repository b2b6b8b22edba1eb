//! The data folder of persistent state: `--data`, else `TOOLCRIB_DATA`, else the user's data folder.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use toolcrib::engine::safety::Safety;
use toolcrib::engine::safety::operating::{Operating, quoted};
use toolcrib::engine::safety::policy::Policy;
use toolcrib_store::{DataFolder, ReadFolder, StoreError};

use crate::exit::{Exit, Failure};

#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Data {
    /// The data folder [default: $TOOLCRIB_DATA, else $XDG_DATA_HOME/toolcrib, else ~/.local/share/toolcrib].
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Subfolder with the OAuth tokens for upstream servers.
const TOKENS: &str = "oauth";

impl Data {
    /// Returns the folder's path, whether or not the folder exists.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.data.clone().or_else(|| DataFolder::default_path(|name| std::env::var(name).ok()))
    }

    fn place(&self) -> Result<PathBuf, Failure> {
        self.path().ok_or_else(|| {
            let error = anyhow!("there is no data folder: neither --data nor TOOLCRIB_DATA nor HOME is set");
            Failure::new(Exit::Usage, error)
        })
    }

    /// Returns the options that a printed command needs to find this folder, whatever directory it is run in.
    pub(crate) fn operating(&self) -> Operating {
        // `TOOLCRIB_DATA` may not be set in the shell that the command is copied to, so it is ignored.
        let variable = |name: &str| if name == "TOOLCRIB_DATA" { None } else { std::env::var(name).ok() };
        let usual = DataFolder::default_path(variable);
        let here = self.path().map(|path| std::path::absolute(&path).unwrap_or(path));
        let words = match here {
            Some(path) if usual.as_ref() != Some(&path) => {
                format!("--data {}", quoted(&path.to_string_lossy()))
            }
            _ => String::new(),
        };
        Operating { words, person: None }
    }

    /// Returns the full command line that runs `verb` on this folder.
    pub(crate) fn command(&self, verb: &str) -> String {
        self.operating().command(verb)
    }

    /// Returns the path of the OAuth tokens. Creates nothing.
    pub(crate) fn tokens(&self) -> Result<PathBuf, Failure> {
        Ok(self.place()?.join(TOKENS))
    }

    pub(crate) fn open(&self) -> Result<DataFolder, Failure> {
        let path = self.place()?;
        DataFolder::open(&path).map_err(|error| unopened(&path, error))
    }

    /// Opens the folder read-only, so it may be on a read-only file system. A missing folder is created first, and one
    /// of an earlier version is migrated first.
    pub(crate) fn look(&self) -> Result<ReadFolder, Failure> {
        let path = self.place()?;
        if !ReadFolder::exists(&path) {
            drop(self.open()?);
        }
        match ReadFolder::open(&path) {
            Err(StoreError::Outdated) => {
                drop(self.open()?);
                ReadFolder::open(&path)
            }
            opened => opened,
        }
        .map_err(|error| unopened(&path, error))
    }
}

fn unopened(path: &std::path::Path, error: StoreError) -> Failure {
    let error = anyhow::Error::new(error).context(format!("cannot open {}", path.display()));
    Failure::new(Exit::Unreachable, error).hint("choose another folder with --data")
}

/// Opens the data folder and runs `work` with its `Safety`.
pub(crate) fn operate<T>(
    data: &Data,
    work: impl AsyncFnOnce(&Safety) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let folder = data.open()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(Exit::Internal, error))?;
    runtime.block_on(async {
        let safety: Arc<Safety> = folder.safety(Policy::default()).await.map_err(unkept)?;
        safety.operate_by(data.operating());
        work(&safety).await
    })
}

pub(crate) fn unkept(error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    Failure::new(Exit::Unreachable, anyhow::Error::new(error))
}

/// Returns the time in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// Formats a time in milliseconds since 1970 for people.
pub(crate) fn since(ms: u64) -> String {
    toolcrib_registry::time::written(i64::try_from(ms).unwrap_or(i64::MAX))
}

/// Returns the name of the operator for the audit: the command line and the user who runs it.
pub(crate) fn operator() -> String {
    let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_default();
    if user.is_empty() { "command line".to_owned() } else { format!("command line ({user})") }
}
