//! A server in its own process, and the CPU time and memory of a process.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};
use clap::ValueEnum;

use super::Which;

pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) fn start(which: Which) -> Result<Self> {
        Self::start_with(which, &[])
    }

    /// Like [`Server::start`], with further words on the command line.
    pub(crate) fn start_with(which: Which, words: &[&str]) -> Result<Self> {
        let value = which.to_possible_value().context("a server without a name")?;
        let name = value.get_name();
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.args(["serve", name]).args(words).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
        let address = line.trim().parse().with_context(|| format!("{name} says {line:?}"))?;
        Ok(Self { child, address })
    }

    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        cpu_seconds(&self.child)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Resident memory of the server.
    pub(crate) fn resident_kib(&self) -> Result<f64> {
        resident_kib(&self.child)
    }
}

/// Resident memory of a process.
pub(crate) fn resident_kib(child: &Child) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("an unreadable status")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

/// User and system time so far of a process and its running child processes, all threads included.
pub(crate) fn cpu_seconds(child: &Child) -> Result<f64> {
    let own = child.id();
    let children = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
    let ids = children.split_whitespace().filter_map(|id| id.parse().ok());
    std::iter::once(own).chain(ids).map(process_seconds).sum()
}

fn process_seconds(id: u32) -> Result<f64> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
    // Fields are counted after the last parenthesis, because the process name before it may contain anything.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks =
        |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).context("an unreadable stat");
    Ok((ticks(11)? + ticks(12)?) / TICKS_PER_SECOND)
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
