//! Races against proxies of other projects, each in front of the same server: the crate `mcp-proxy`, and FastMCP's.
//!
//! A proxy that is not installed is reported and left out; `xtask bench gateway` installs both.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::visitor::Visitor;
use crate::race::{Claim, Effort, Race};
use crate::serving::Server;

const CONNECTIONS: usize = 16;
const PATIENCE: Duration = Duration::from_secs(30);
const FASTMCP: &str = include_str!("fastmcp_proxy.py");

/// Minimum throughput, as a multiple of each proxy's.
const LEAST: f64 = 3.0;

struct Other {
    child: Child,
    address: SocketAddr,
    folder: PathBuf,
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn installed(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.deps").join(path)
}

pub(super) fn run(gateway: &Server, server: &str, arguments: &Value, effort: Effort) -> Result<bool> {
    let mut holds = true;
    let python = installed("fastmcp/bin/python");
    let mcp_proxy = installed("bench/bin/mcp-proxy");
    for (title, program, path, tool) in [
        ("FastMCP's proxy (PyPI)", &python, "/mcp", "echo"),
        ("the crate mcp-proxy", &mcp_proxy, "/", "s/echo"),
    ] {
        if !program.exists() {
            println!("\n{title} is not installed (xtask bench gateway installs it): that race is left out");
            continue;
        }
        match race(title, program, path, tool, gateway, server, arguments, effort) {
            Ok(kept) => holds &= kept,
            Err(error) => println!("\n{title} cannot be raced: {error:#}"),
        }
    }
    Ok(holds)
}

#[allow(clippy::too_many_arguments, reason = "a race is all of this")]
fn race(
    title: &str,
    program: &Path,
    path: &str,
    tool: &str,
    gateway: &Server,
    server: &str,
    arguments: &Value,
    effort: Effort,
) -> Result<bool> {
    let other = if path == "/" { mcp_proxy(program, server)? } else { fastmcp(program, server)? };
    let call = |name: &str| json!({"name": name, "arguments": arguments});
    let mut theirs = Visitor::new(other.address, path, CONNECTIONS, &call(tool))?;
    let mut ours = Visitor::new(gateway.address, "/mcp", CONNECTIONS, &call("echo"))?;
    theirs.check()?;
    ours.check()?;
    Ok(Race::new(&format!("the same echo through {title}, 16 legacy connections"))
        .counting(ours.turn_calls())
        .with(title, Claim::None, || theirs.turn())
        .with("toolcrib, arguments and answer checked", Claim::FasterThanFirst(LEAST), || ours.turn())
        .run(effort))
}

fn fastmcp(python: &Path, server: &str) -> Result<Other> {
    start(|folder, port| {
        let script = folder.join("proxy.py");
        std::fs::write(&script, FASTMCP)?;
        let mut command = Command::new(python);
        command.arg(script).arg(server).arg(port.to_string());
        Ok(command)
    })
}

fn mcp_proxy(program: &Path, server: &str) -> Result<Other> {
    start(|folder, port| {
        let config = folder.join("proxy.toml");
        let text = format!(
            "[proxy]\nname = \"bench\"\nseparator = \"/\"\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {port}\n\
             [[backends]]\nname = \"s\"\ntransport = \"http\"\nurl = \"{server}\"\n\
             [observability]\nlog_level = \"error\"\n"
        );
        std::fs::write(&config, text)?;
        let mut command = Command::new(program);
        command.arg("--config").arg(config).env("RUST_LOG", "error");
        Ok(command)
    })
}

fn start(command: impl FnOnce(&Path, u16) -> Result<Command>) -> Result<Other> {
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let folder = std::env::temp_dir().join(format!("toolcrib-bench-proxy-{port}"));
    std::fs::create_dir_all(&folder)?;
    let mut command = command(&folder, port)?;
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut other = Other { child, address, folder };
    let end = Instant::now() + PATIENCE;
    while TcpStream::connect(address).is_err() {
        if let Some(status) = other.child.try_wait()? {
            bail!("it ended with {status}");
        }
        if Instant::now() > end {
            bail!("it does not listen");
        }
        #[allow(clippy::disallowed_methods, reason = "a benchmark that waits for a process")]
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(other)
}
