//! `xtask conformance`: the official suite with both of its requirement sets, against a given server or our own.
//!
//! Passing means more than the suite's exit code; see [`toolcrib_testkit::conformance`].

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use toolcrib_testkit::conformance::{Requirements, run as run_suite};
use toolcrib_testkit::deps::Deps;
use toolcrib_testkit::port;
use toolcrib_testkit::process::Process;

use crate::shell;

/// The binary with the fixture that the suite asks for.
pub(crate) const SERVER: &str = "conformance-server";
/// The binary that serves other servers.
const GATEWAY: &str = "toolcrib";
const START_PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Args {
    /// A server that is already listening, for example http://127.0.0.1:8001/mcp
    #[arg(long)]
    url: Option<String>,
    /// Build and start this workspace's conformance server.
    #[arg(long)]
    start: bool,
    /// The same with the gateway in front of it.
    #[arg(long)]
    gateway: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.url {
        Some(url) => suite(url),
        None if args.gateway => through_gateway(),
        None => own_server(),
    }
}

/// Starts the conformance server on a port of its own and runs both sets against it.
pub(crate) fn own_server() -> Result<()> {
    let address = SocketAddr::from(([127, 0, 0, 1], port::free()?));
    let mut command = Command::new(shell::built_binary(SERVER)?);
    let mut server = Process::start(command.args(["--listen", &address.to_string()]))?;
    server.wait_for_port(address, START_PATIENCE)?;
    suite(&format!("http://{address}/mcp"))
}

/// Starts the gateway in front of the conformance server, without prefixes, and runs both sets against it.
fn through_gateway() -> Result<()> {
    let behind = SocketAddr::from(([127, 0, 0, 1], port::free()?));
    let address = SocketAddr::from(([127, 0, 0, 1], port::free()?));
    let mut command = Command::new(shell::built_binary(SERVER)?);
    let mut server = Process::start(command.args(["--listen", &behind.to_string()]))?;
    server.wait_for_port(behind, START_PATIENCE)?;
    let mut command = Command::new(shell::built_binary(GATEWAY)?);
    // The fixture's tools say nothing about themselves: every call would have to be confirmed.
    let own = shell::target_directory()?.join("conformance-gateway");
    std::fs::create_dir_all(&own)?;
    std::fs::write(own.join("policy.toml"), "[safety]\ndestructive = \"never\"\n")?;
    command.arg("serve").arg("--policy").arg(own.join("policy.toml")).arg("--data").arg(own.join("data"));
    command.args(["--prefix", "never", "--listen", &address.to_string(), &format!("http://{behind}/mcp")]);
    let mut gateway = Process::start(&mut command)?;
    gateway
        .wait_for_line("greeting", START_PATIENCE, |line| line.contains("stop with Ctrl-C").then_some(()))?;
    suite(&format!("http://{address}/mcp"))
}

fn suite(url: &str) -> Result<()> {
    let deps = Deps::under(&shell::root());
    let results = shell::target_directory()?.join("conformance");
    let mut short = Vec::new();
    for requirements in Requirements::ALL {
        let report = run_suite(&deps, url, requirements, &results)?;
        println!("{report}");
        if let Some(why) = report.shortfall() {
            short.push(format!("{}: {why}", requirements.revision()));
        }
    }
    if !short.is_empty() {
        bail!("not conformant: {} (details in {})", short.join("; "), results.display());
    }
    Ok(())
}
