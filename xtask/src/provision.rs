//! `xtask provision`: what the tests need besides cargo's own dependencies, installed under `.deps`.
//!
//! Everything but Debian's PostgreSQL is pinned, and installed by name through the ordinary clients (cargo, npm, pip), so it comes from
//! whatever registry the machine is set up for. Each part leaves a stamp with the exact recipe it was made from: a
//! second run compares the stamps and ends at once, a changed pin rebuilds that part alone, and a run that was cut off
//! leaves no stamp.

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

/// Proxies that the gateway is raced against; nginx, and wrk to call them, where this machine lets us install them. One
/// that cannot be had is said, and its race is left out.
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
    uvx::install(&deps)?;
    test_suite::install(&deps)?;
    postgres::install()?;
    if let Err(error) = debian::peers() {
        println!("    tests that need it say SKIPPED: {error:#}");
    }
    Ok(())
}
