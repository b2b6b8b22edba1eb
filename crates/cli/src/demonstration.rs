//! The server that `serve` has where none is named: the trading desk of `toolcrib-desk`.

use toolcrib::Server;

use crate::exit::{Exit, Failure};
use crate::toolsets::Toolsets;

pub(crate) fn server(toolsets: &Toolsets) -> Result<Server, Failure> {
    let builder = toolcrib_desk::builder(env!("CARGO_PKG_VERSION"));
    let server = toolsets.apply(builder)?.build().map_err(|error| Failure::new(Exit::Internal, error))?;
    toolcrib_desk::stock(&server).map_err(|error| Failure::new(Exit::Internal, error))?;
    crate::toolsets::check(&server)?;
    Ok(server)
}
