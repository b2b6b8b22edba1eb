//! The demonstration server: the trading desk of `toolcrib-desk`, which `serve` runs if no server is named.

use toolcrib::Server;

use crate::exit::{Exit, Failure};
use crate::safe::Safe;
use crate::toolsets::Toolsets;
use crate::workshop;

/// Choice of demonstration server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Subject {
    #[default]
    Desk,
    /// Three small tools that the tests of safety know.
    Workshop,
}

pub(crate) fn server(subject: Subject, toolsets: &Toolsets, safe: Option<&Safe>) -> Result<Server, Failure> {
    if subject == Subject::Workshop {
        return workshop::server(toolsets, safe);
    }
    let mut builder = toolcrib_desk::builder(env!("CARGO_PKG_VERSION"));
    if let Some(safe) = safe {
        builder = safe.apply(builder);
    }
    let server = toolsets.apply(builder)?.build().map_err(|error| Failure::new(Exit::Internal, error))?;
    toolcrib_desk::stock(&server).map_err(|error| Failure::new(Exit::Internal, error))?;
    crate::toolsets::check(&server)?;
    Ok(server)
}
