//! `xtask provision`: installs the dependencies of the tests, other than cargo's own, under `.deps`.
//!
//! Everything except Debian's packages is pinned and installed by name through the ordinary clients (cargo, npm, pip),
//! from the registry that the machine is configured for. Each part leaves a stamp with its exact recipe: a second run
//! finds the stamps current and ends at once, a changed pin rebuilds only its part, and an interrupted run leaves no
//! stamp.

mod cargo_tool;
mod debian;
mod node;
mod postgres;
mod python;
mod samples;
mod stamp;
mod test_suite;
mod uvx;

use anyhow::Result;
use toolcrib_testkit::deps::Deps;

use crate::shell;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Install again even where the stamp says that nothing changed.
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    provision(args.force)
}

/// Installs the proxies that the gateway is compared with, and the load generator wrk. One that cannot be installed is
/// reported, and its comparison is left out.
pub(crate) fn rivals() -> Result<()> {
    let deps = Deps::under(&shell::root());
    std::fs::create_dir_all(deps.folder())?;
    for (name, outcome) in [
        ("FastMCP", python::fastmcp(&deps)),
        ("mcp-proxy", cargo_tool::mcp_proxy(&deps)),
        ("nginx", debian::nginx()),
        ("wrk", debian::wrk()),
        ("h2load", debian::h2load()),
    ] {
        if let Err(error) = outcome {
            println!("    {name} cannot be installed: {error:#}");
        }
    }
    Ok(())
}

pub(crate) fn provision(force: bool) -> Result<()> {
    let deps = Deps::under(&shell::root());
    if force && deps.folder().exists() {
        std::fs::remove_dir_all(deps.folder())?;
    }
    std::fs::create_dir_all(deps.folder())?;
    cargo_tool::nextest(&deps)?;
    cargo_tool::deny(&deps)?;
    node::install(&deps)?;
    samples::install(&deps)?;
    python::install(&deps)?;
    python::fastmcp(&deps)?;
    uvx::install(&deps)?;
    test_suite::install(&deps)?;
    postgres::install()?;
    if let Err(error) = debian::peers() {
        println!("    tests that need it say SKIPPED: {error:#}");
    }
    Ok(())
}
