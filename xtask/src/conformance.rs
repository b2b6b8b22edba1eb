//! `xtask conformance`: runs both requirement sets of the official suite against a given server or the own ones.
//!
//! Passing means more than the suite's exit code; see [`toolcrib_testkit::conformance`].

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use toolcrib_testkit::conformance::{Report, Requirements, run as run_suite};
use toolcrib_testkit::deps::Deps;
use toolcrib_testkit::port;
use toolcrib_testkit::process::Process;

use crate::shell;

/// Binary of the suite's fixture.
pub(crate) const SERVER: &str = "conformance-server";
/// Binary of the fixture on the official Rust SDK.
const RMCP_SERVER: &str = "rmcp-conformance-server";
/// Binary of the gateway.
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
    /// Build and start it with the gateway in front of it.
    #[arg(long)]
    gateway: bool,
    /// A server on the official Rust SDK, by itself and with the gateway in front of it.
    #[arg(long)]
    rmcp: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.url {
        Some(url) => conformant(&suite(url, "given")?),
        None if args.gateway => through_gateway(),
        None if args.rmcp => before_rmcp(),
        None => own_server(),
    }
}

/// Tests the own fixture, the gateway in front of it, and the gateway in front of the official SDK's fixture.
pub(crate) fn everything() -> Result<()> {
    own_server()?;
    through_gateway()?;
    before_rmcp()
}

/// Starts the fixture on a free port and runs both sets against it.
fn own_server() -> Result<()> {
    let (_server, url) = started(SERVER)?;
    conformant(&suite(&url, "server")?)
}

/// Requires that the gateway in front of the fixture conforms as well.
fn through_gateway() -> Result<()> {
    let (_server, behind) = started(SERVER)?;
    let (_gateway, url) = gateway(&behind)?;
    conformant(&suite(&url, "gateway")?)
}

/// Requires that the gateway passes all that the official SDK's fixture behind it passes.
fn before_rmcp() -> Result<()> {
    let (server, behind) = started(RMCP_SERVER)?;
    println!("    the official SDK's server by itself");
    let direct = suite(&behind, "rmcp")?;
    // A new process: the suite leaves sessions and changed lists behind.
    drop(server);
    let (_server, behind) = started(RMCP_SERVER)?;
    let (_gateway, url) = gateway(&behind)?;
    println!("    the gateway in front of it");
    let through = suite(&url, "rmcp-gateway")?;
    let lost: Vec<String> =
        direct.iter().zip(&through).flat_map(|(direct, through)| through.lost_against(direct)).collect();
    if !lost.is_empty() {
        bail!("the gateway loses what the server behind it passes:\n    {}", lost.join("\n    "));
    }
    Ok(())
}

fn local_address() -> Result<SocketAddr> {
    Ok(SocketAddr::from(([127, 0, 0, 1], port::free()?)))
}

/// Starts a fixture and returns it with its URL.
fn started(binary: &str) -> Result<(Process, String)> {
    let address = local_address()?;
    let mut command = Command::new(shell::built_binary(binary)?);
    let mut server = Process::start(command.args(["--listen", &address.to_string()]))?;
    server.wait_for_port(address, START_PATIENCE)?;
    Ok((server, format!("http://{address}/mcp")))
}

/// Starts the gateway in front of a server, without prefixes, because the suite's names are fixed.
fn gateway(behind: &str) -> Result<(Process, String)> {
    let address = local_address()?;
    let own = shell::target_directory()?.join("conformance-gateway");
    std::fs::create_dir_all(&own)?;
    // The fixture's tools have no annotations, so every call would need a confirmation.
    std::fs::write(own.join("policy.toml"), "[safety]\ndestructive = \"never\"\n")?;
    // The suite's check of parallel streams needs streams, as from the fixture itself.
    let config = format!(
        "listen = \"{address}\"\nprefix = \"never\"\nstreams_when_listed_first = true\n[servers.fixture]\nurl = \"{behind}\"\n"
    );
    std::fs::write(own.join("toolcrib.toml"), config)?;
    let mut command = Command::new(shell::built_binary(GATEWAY)?);
    command.arg("serve").arg("--config").arg(own.join("toolcrib.toml"));
    command.arg("--policy").arg(own.join("policy.toml")).arg("--data").arg(own.join("data"));
    let mut gateway = Process::start(&mut command)?;
    gateway
        .wait_for_line("greeting", START_PATIENCE, |line| line.contains("stop with Ctrl-C").then_some(()))?;
    Ok((gateway, format!("http://{address}/mcp")))
}

/// Runs both sets against one server.
fn suite(url: &str, label: &str) -> Result<Vec<Report>> {
    let deps = Deps::under(&shell::root());
    let results = shell::target_directory()?.join("conformance").join(label);
    let mut reports = Vec::new();
    for requirements in Requirements::ALL {
        let report = run_suite(&deps, url, requirements, &results)?;
        println!("{report}");
        reports.push(report);
    }
    Ok(reports)
}

fn conformant(reports: &[Report]) -> Result<()> {
    let short: Vec<String> = reports
        .iter()
        .filter_map(|report| Some(format!("{}: {}", report.requirements.revision(), report.shortfall()?)))
        .collect();
    if !short.is_empty() {
        bail!("not conformant: {} (details below target/conformance)", short.join("; "));
    }
    Ok(())
}
