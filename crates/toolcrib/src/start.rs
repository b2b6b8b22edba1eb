//! Operator's selection at start: flags, environment variables and files (R3.2).
//!
//! `--toolsets a,b` or `--toolsets all` overrides the file that `TOOLCRIB_TOOLSET_CONFIG` names;
//! `TOOLCRIB_CLIENT_MODE` sets every client's mode. Refuses to start with an invalid value or file, and names the
//! position of the fault.

use std::path::{Path, PathBuf};

use toolcrib_engine::toolset::config::{Config, ConfigError, SelectionFile};
use toolcrib_engine::{Mode, Names};

use crate::server::ServerBuilder;

/// Reason why a server does not start with its selection.
#[derive(Debug, thiserror::Error)]
pub enum SelectionError {
    #[error("{}: {cause}", path.display())]
    Unreadable { path: PathBuf, cause: std::io::Error },
    #[error("{}: {cause}", path.display())]
    Malformed { path: PathBuf, cause: ConfigError },
    #[error("--toolsets needs a list of toolsets, or all")]
    NoToolsets,
    #[error("TOOLCRIB_CLIENT_MODE is {0:?}; it can be auto, dynamic, static or anthropic")]
    UnknownMode(String),
}

impl ServerBuilder {
    /// Reads the selection from this process's arguments and environment.
    pub fn from_environment(self) -> Result<Self, SelectionError> {
        self.selection(std::env::args().skip(1), |name| std::env::var(name).ok())
    }

    /// Reads the selection from these arguments and variables.
    pub fn selection(
        mut self,
        arguments: impl IntoIterator<Item = String>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, SelectionError> {
        if let Some(text) = variable("TOOLCRIB_CLIENT_MODE") {
            self.toolsets_mut().mode = Mode::parse(&text).ok_or(SelectionError::UnknownMode(text))?;
        }
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let value = match argument.strip_prefix("--toolsets") {
                Some("") => arguments.next().ok_or(SelectionError::NoToolsets)?,
                Some(rest) if rest.starts_with('=') => rest.trim_start_matches('=').to_owned(),
                _ => continue,
            };
            if value.is_empty() {
                return Err(SelectionError::NoToolsets);
            }
            let options = self.toolsets_mut();
            options.start = Some(Names::parse(&value));
            options.clients.clear();
            return Ok(self);
        }
        if let Some(path) = variable("TOOLCRIB_TOOLSET_CONFIG") {
            let path = PathBuf::from(path);
            let text = read(&path)?;
            let file = SelectionFile::parse(&text)
                .map_err(|cause| SelectionError::Malformed { path: path.clone(), cause })?;
            file.apply(self.toolsets_mut());
        }
        Ok(self)
    }

    /// Reads toolsets and selection from a `toolcrib.toml`.
    pub fn config_file(mut self, path: impl AsRef<Path>) -> Result<Self, SelectionError> {
        let path = path.as_ref();
        let config = Config::parse(&read(path)?)
            .map_err(|cause| SelectionError::Malformed { path: path.to_owned(), cause })?;
        config.apply(self.toolsets_mut());
        Ok(self)
    }
}

fn read(path: &Path) -> Result<String, SelectionError> {
    std::fs::read_to_string(path).map_err(|cause| SelectionError::Unreadable { path: path.to_owned(), cause })
}
