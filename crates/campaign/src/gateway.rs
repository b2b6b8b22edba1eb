//! The attacked process: `toolcrib serve` with one well-behaved server, in its own folder, with limited memory.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::Value;
use toolcrib_testkit::port;
use toolcrib_testkit::process::Process;

use crate::client;

/// Address space limit in bytes: an attack on memory ends the process and not the machine.
const ADDRESS_SPACE_BYTES_MAX: u64 = 3 << 30;
/// Timeout for the process to start.
const START: Duration = Duration::from_secs(30);
/// Grace time for the process to end its servers and itself; then it is killed.
const END_WITHIN: Duration = Duration::from_secs(4);
/// Timeout of a query of its state.
const PATIENCE: Duration = Duration::from_secs(2);

/// Policy for cases that are not about the gate: no confirmations, repetition allowed.
pub(crate) const OPEN: &str =
    "[safety]\ndestructive = \"never\"\nrepeats_max = 0\nrepeats_read_only_max = 0\n";

/// A server in the configuration: its name and the line with its address.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) reach: String,
}

impl Server {
    pub(crate) fn at(name: &'static str, address: SocketAddr) -> Self {
        Self { name, reach: format!("url = \"http://{address}/mcp\"") }
    }
}

/// A running gateway under attack; ended when dropped.
#[derive(Debug)]
pub(crate) struct Gateway {
    process: Mutex<Process>,
    pub(crate) pid: u32,
    pub(crate) address: SocketAddr,
    folder: PathBuf,
    good: Server,
    /// Deadline of a call, in milliseconds.
    call_ms_max: u64,
}

impl Gateway {
    /// Starts the binary in front of the well-behaved server at `good`; waits until that is served.
    pub(crate) fn start(
        binary: &Path,
        folder: &Path,
        policy: &str,
        good: SocketAddr,
        call_ms_max: u64,
    ) -> Result<Self> {
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder)?;
        let good = Server::at("good", good);
        std::fs::write(folder.join("toolcrib.toml"), configuration(&good, &[], call_ms_max))?;
        std::fs::write(folder.join("policy.toml"), policy)?;
        let address = SocketAddr::from(([127, 0, 0, 1], port::free()?));
        let mut command = Command::new(binary);
        command.args(["serve", "--listen", &address.to_string(), "--config"]);
        command.arg(folder.join("toolcrib.toml")).arg("--policy").arg(folder.join("policy.toml"));
        command.arg("--data").arg(folder.join("data")).env("TOOLCRIB_LOG", "error");
        let mut process = Process::start(&mut command)?;
        let pid = process.id();
        let id = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let limit = Rlimit { current: Some(ADDRESS_SPACE_BYTES_MAX), maximum: Some(ADDRESS_SPACE_BYTES_MAX) };
        prlimit(id, Resource::As, limit).context("limiting the memory of the attacked process")?;
        process.wait_for_line("greeting", START, |line| line.contains("stop with Ctrl-C").then_some(()))?;
        let (process, folder) = (Mutex::new(process), folder.to_path_buf());
        let gateway = Self { process, pid, address, folder, good, call_ms_max };
        gateway.settled("good", START)?;
        Ok(gateway)
    }

    /// Replaces the hostile servers in the configuration, which the gateway reloads by itself.
    pub(crate) fn configure(&self, servers: &[Server]) -> Result<()> {
        // Renamed into place, because a half-written file would be refused.
        let (new, file) = (self.folder.join("new.toml"), self.folder.join("toolcrib.toml"));
        std::fs::write(&new, configuration(&self.good, servers, self.call_ms_max))?;
        Ok(std::fs::rename(new, file)?)
    }

    /// Returns the state of a server by `/readyz`; `None` if the gateway does not know it or does not answer.
    pub(crate) fn state(&self, server: &str) -> Option<String> {
        let answer = client::get(self.address, "/readyz", PATIENCE).ok()?;
        let ready: Value = serde_json::from_slice(&answer.body).ok()?;
        let all = ready.get("servers")?.as_array()?;
        let own = all.iter().find(|own| own.get("name").is_some_and(|name| name == server))?;
        Some(own.get("state")?.as_str()?.to_owned())
    }

    /// Waits until a server is served or has failed, and returns its state.
    pub(crate) fn settled(&self, server: &str, within: Duration) -> Result<String> {
        let end = Instant::now() + within;
        loop {
            match self.state(server) {
                Some(state) if state != "starting" => return Ok(state),
                state if Instant::now() > end => bail!("{server} is {state:?} after {within:?}"),
                _ if self.death().is_some() => bail!("the gateway died"),
                _ => std::thread::park_timeout(Duration::from_millis(20)),
            }
        }
    }

    /// Returns the exit status if the process has ended.
    pub(crate) fn death(&self) -> Option<ExitStatus> {
        let mut process = self.process.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        process.wait(Duration::ZERO).ok()
    }

    /// Returns `true` if the process runs and answers.
    pub(crate) fn answers(&self, within: Duration) -> bool {
        self.death().is_none()
            && client::get(self.address, "/livez", within).is_ok_and(|answer| answer.status == 200)
    }

    pub(crate) fn said(&self) -> String {
        self.process.lock().unwrap_or_else(std::sync::PoisonError::into_inner).said()
    }
}

fn configuration(good: &Server, others: &[Server], call_ms_max: u64) -> String {
    let table = |server: &Server| format!("[servers.{}]\n{}\n", server.name, server.reach);
    let deadlines = format!("call_ms_max = {call_ms_max}\nstart_ms_max = 10000\n");
    let others: String = others.iter().map(|server| table(server) + &deadlines).collect();
    table(good) + &others
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let mut process = self.process.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // SIGTERM first: its stdio servers have process groups of their own, which only the gateway ends.
        let _ = process.terminate(END_WITHIN);
        process.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
