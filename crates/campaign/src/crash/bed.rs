//! Test bed: the gateway, its servers and their ledgers, in a folder of their own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use toolcrib_testkit::port;
use toolcrib_testkit::process::Process;

/// Servers per transport.
const SERVERS: usize = 4;
/// Timeout for a process to start or to end.
const WITHIN: Duration = Duration::from_secs(30);

/// Every call needs a confirmation; rate limits and the loop guard are off, because they are not under test.
const POLICY: &str = "[safety]\ndestructive = \"always\"\ntoken_ms = 3600000\ntokens_per_minute_max = 1000000\n\
                      repeats_max = 0\nrepeats_read_only_max = 0\n";

#[derive(Debug)]
pub(super) struct Bed {
    binary: PathBuf,
    folder: PathBuf,
    pub(super) address: SocketAddr,
    gateway: Mutex<Process>,
    http: Vec<Mutex<Process>>,
    http_addresses: Vec<SocketAddr>,
}

/// Audit records and ledger lines after all processes have ended.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) records: Vec<Value>,
    pub(super) executions: Vec<String>,
    /// Success and output of `audit verify`.
    pub(super) verified: (bool, String),
}

impl Bed {
    pub(super) fn start(binary: &Path, folder: &Path) -> Result<Self> {
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder)?;
        let own = std::env::current_exe()?;
        let mut config = String::new();
        for number in 0..SERVERS {
            let (file, pid) = (ledger(folder, "stdio", number), pid_file(folder, number));
            config += &format!(
                "[servers.stdio{number}]\ncommand = {own:?}\nargs = [\"ledger\", \"--file\", {file:?}, \"--pid\", {pid:?}]\n\
                 call_ms_max = 5000\n"
            );
        }
        let (mut http, mut http_addresses) = (Vec::new(), Vec::new());
        for number in 0..SERVERS {
            let address = SocketAddr::from(([127, 0, 0, 1], port::free()?));
            config +=
                &format!("[servers.http{number}]\nurl = \"http://{address}/mcp\"\ncall_ms_max = 5000\n");
            http.push(Mutex::new(start_http(folder, number, address)?));
            http_addresses.push(address);
        }
        std::fs::write(folder.join("toolcrib.toml"), config)?;
        std::fs::write(folder.join("policy.toml"), POLICY)?;
        let address = SocketAddr::from(([127, 0, 0, 1], port::free()?));
        let gateway = Mutex::new(start_gateway(binary, folder, address)?);
        let (binary, folder) = (binary.to_path_buf(), folder.to_path_buf());
        Ok(Self { binary, folder, address, gateway, http, http_addresses })
    }

    /// Returns the served names of the tool on every server.
    pub(super) fn tools() -> Vec<String> {
        let names = |over: &'static str| (0..SERVERS).map(move |number| format!("{over}{number}__spend"));
        names("stdio").chain(names("http")).collect()
    }

    /// Kills the gateway and restarts it.
    pub(super) fn kill_gateway(&self) -> Result<()> {
        let mut gateway = lock(&self.gateway);
        gateway.kill();
        *gateway = start_gateway(&self.binary, &self.folder, self.address)?;
        Ok(())
    }

    /// Kills a stdio server; the gateway restarts it.
    pub(super) fn kill_stdio(&self, which: usize) -> Result<()> {
        let text = std::fs::read_to_string(pid_file(&self.folder, which % SERVERS)).unwrap_or_default();
        if let Some(pid) = text.parse().ok().and_then(Pid::from_raw) {
            // The process may already be gone, because the gateway was killed a moment ago.
            let _ = kill_process(pid, Signal::KILL);
        }
        Ok(())
    }

    /// Kills an HTTP server and restarts it at the same address.
    pub(super) fn kill_http(&self, which: usize) -> Result<()> {
        let number = which % SERVERS;
        let (Some(process), Some(address)) = (self.http.get(number), self.http_addresses.get(number)) else {
            bail!("no server {number}")
        };
        let mut process = lock(process);
        process.kill();
        *process = start_http(&self.folder, number, *address)?;
        Ok(())
    }

    /// Ends all processes and reads what they wrote.
    pub(super) fn finish(&self) -> Result<Facts> {
        // One more start handles the intents that the last kill left open.
        self.kill_gateway()?;
        let ended = lock(&self.gateway).terminate(WITHIN)?;
        if !ended.success() {
            bail!("the gateway ended with {ended}");
        }
        let run = |words: &[&str]| {
            let mut command = Command::new(&self.binary);
            command.args(words).arg("--data").arg(self.folder.join("data"));
            command.output().with_context(|| format!("running {words:?}"))
        };
        let export = run(&["audit", "export"])?;
        let records = String::from_utf8(export.stdout)?;
        let records = records
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok()?.get_mut("record").map(Value::take))
            .collect();
        let verify = run(&["audit", "verify"])?;
        let said = String::from_utf8_lossy(&verify.stdout).trim().to_owned();
        let mut executions = Vec::new();
        for (over, number) in ["stdio", "http"].iter().flat_map(|over| (0..SERVERS).map(move |n| (over, n))) {
            let lines = std::fs::read_to_string(ledger(&self.folder, over, number)).unwrap_or_default();
            executions.extend(lines.lines().map(str::to_owned));
        }
        Ok(Facts { records, executions, verified: (verify.status.success(), said) })
    }
}

fn lock(process: &Mutex<Process>) -> MutexGuard<'_, Process> {
    process.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ledger(folder: &Path, over: &str, number: usize) -> PathBuf {
    folder.join(format!("{over}{number}.ledger"))
}

fn pid_file(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("stdio{number}.pid"))
}

fn start_gateway(binary: &Path, folder: &Path, address: SocketAddr) -> Result<Process> {
    let mut command = Command::new(binary);
    command.args(["serve", "--listen", &address.to_string(), "--config"]);
    command.arg(folder.join("toolcrib.toml")).arg("--policy").arg(folder.join("policy.toml"));
    command.arg("--data").arg(folder.join("data")).env("TOOLCRIB_LOG", "error");
    let mut process = Process::start(&mut command)?;
    process.wait_for_line("greeting", WITHIN, |line| line.contains("stop with Ctrl-C").then_some(()))?;
    Ok(process)
}

fn start_http(folder: &Path, number: usize, address: SocketAddr) -> Result<Process> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("ledger").arg("--file").arg(ledger(folder, "http", number));
    command.args(["--listen", &address.to_string()]);
    let mut process = Process::start(&mut command)?;
    let listening = process.wait_for_address(WITHIN)?;
    if listening == address { Ok(process) } else { Err(anyhow!("listens at {listening}")) }
}
