//! `xtask conformance`: the official suite with both of its requirement sets, against a given server or our own.
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

/// The binary with the fixture that the suite asks for.
pub(crate) const SERVER: &str = "conformance-server";
/// The same on the official Rust SDK.
const RMCP_SERVER: &str = "rmcp-conformance-server";
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

/// Our own server, the gateway before it, and the gateway before the official SDK's.
pub(crate) fn everything() -> Result<()> {
    own_server()?;
    through_gateway()?;
    before_rmcp()
}

/// Starts the conformance server on a port of its own and runs both sets against it.
fn own_server() -> Result<()> {
    let (_server, url) = started(SERVER)?;
    conformant(&suite(&url, "server")?)
}

/// The gateway in front of the conformance server has to reach the same mark.
fn through_gateway() -> Result<()> {
    let (_server, behind) = started(SERVER)?;
    let (_gateway, url) = gateway(&behind)?;
    conformant(&suite(&url, "gateway")?)
}

/// The gateway in front of the official SDK's server has to pass whatever that server passes by itself.
fn before_rmcp() -> Result<()> {
    let (server, behind) = started(RMCP_SERVER)?;
    println!("    the official SDK's server by itself");
    let direct = suite(&behind, "rmcp")?;
    // A fresh one: the suite leaves sessions and changed lists behind.
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

/// A fixture that listens, and its URL.
fn started(binary: &str) -> Result<(Process, String)> {
    let address = local_address()?;
    let mut command = Command::new(shell::built_binary(binary)?);
    let mut server = Process::start(command.args(["--listen", &address.to_string()]))?;
    server.wait_for_port(address, START_PATIENCE)?;
    Ok((server, format!("http://{address}/mcp")))
}

/// The gateway before a server, without prefixes: the suite's names are fixed.
fn gateway(behind: &str) -> Result<(Process, String)> {
    let address = local_address()?;
    let own = shell::target_directory()?.join("conformance-gateway");
    std::fs::create_dir_all(&own)?;
    // The fixture's tools say nothing about themselves: every call would have to be confirmed.
    std::fs::write(own.join("policy.toml"), "[safety]\ndestructive = \"never\"\n")?;
    // So that the suite's check of parallel streams meets streams, as it does at the server itself.
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

/// Both sets against one server.
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
