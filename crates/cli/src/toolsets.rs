//! The options about toolsets that several verbs share.

use std::path::PathBuf;

use toolcrib::ServerBuilder;

use crate::exit::{Exit, Failure};

#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Toolsets")]
pub(crate) struct Toolsets {
    /// Load these toolsets, with commas between them, or `all`; wins over the file that
    /// TOOLCRIB_TOOLSET_CONFIG names.
    #[arg(long, value_name = "NAMES")]
    toolsets: Option<String>,
    /// Declare and select toolsets by this file (toolcrib.toml).
    #[arg(long, value_name = "FILE")]
    toolset_file: Option<PathBuf>,
    /// Nobody sees a tool that is not read-only.
    #[arg(long)]
    read_only: bool,
}

impl Toolsets {
    /// Applies the options and this process's environment variables to a server that is being built.
    pub(crate) fn apply(&self, mut builder: ServerBuilder) -> Result<ServerBuilder, Failure> {
        let usage = |error| Failure::new(Exit::Usage, error);
        if let Some(file) = &self.toolset_file {
            builder = builder.config_file(file).map_err(usage)?;
        }
        let flag = self.toolsets.iter().map(|names| format!("--toolsets={names}"));
        builder = builder.selection(flag, |name| std::env::var(name).ok()).map_err(usage)?;
        let read_only = self.read_only;
        Ok(builder.options(|options| options.toolsets.read_only |= read_only))
    }
}

/// Refuses toolset names that select nothing. Called once every tool is registered.
pub(crate) fn check(server: &toolcrib::Server) -> Result<(), Failure> {
    server.engine().check_toolsets().map_err(|error| Failure::new(Exit::Usage, error))
}
