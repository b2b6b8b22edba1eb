//! A program under test, started in a process group of its own, with its output captured line by line.
//!
//! Guarantees: dropping a [`Process`] kills the whole group and reaps the program. Its standard error (and standard
//! output, unless that carries a protocol) is kept and part of every error, so that the log of a failed test shows the
//! reason. Waiting is on events, never for a fixed time, and always has a timeout.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::process::{Pid, Signal, kill_process_group};

/// Maximum lines kept per process; older ones are dropped first.
const LINES_KEPT_MAX: usize = 10_000;
/// How long the outputs of a program that has ended are still read.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Poll interval for conditions without an event (a port, an exit).
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A running program and its output.
#[derive(Debug)]
pub struct Process {
    child: Child,
    name: String,
    said: Arc<Said>,
}

#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("cannot start {name}: {source}")]
    Start { name: String, source: io::Error },
    #[error("{name} ended ({status}) before {awaited}; it said:\n{said}")]
    Ended { name: String, status: ExitStatus, awaited: String, said: String },
    #[error("{name} did not get to {awaited} within {within:?}; it said:\n{said}")]
    TimedOut { name: String, awaited: String, within: Duration, said: String },
    #[error("waiting for {name}: {source}")]
    Wait { name: String, source: io::Error },
}

#[derive(Debug, Default)]
struct Said {
    heard: Mutex<Heard>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct Heard {
    lines: VecDeque<String>,
    /// Number of outputs that have not ended; a child process may keep one open after the program ended.
    open: usize,
}

impl Process {
    /// Starts a program whose standard output is text; both outputs are kept.
    pub fn start(command: &mut Command) -> Result<Self, ProcessError> {
        let mut process = Self::spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
        if let Some(stdout) = process.child.stdout.take() {
            process.said.follow(stdout);
        }
        Ok(process)
    }

    /// Starts a program whose standard input and output carry a protocol; they are returned to the caller.
    pub fn start_piped(command: &mut Command) -> Result<(Self, ChildStdin, ChildStdout), ProcessError> {
        let mut process = Self::spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
        match (process.child.stdin.take(), process.child.stdout.take()) {
            (Some(stdin), Some(stdout)) => Ok((process, stdin, stdout)),
            _ => Err(ProcessError::Start {
                name: process.name.clone(),
                source: io::Error::other("a pipe is missing"),
            }),
        }
    }

    fn spawn(command: &mut Command) -> Result<Self, ProcessError> {
        use std::os::unix::process::CommandExt as _;
        let name = command.get_program().to_string_lossy().into_owned();
        let spawned = command.stderr(Stdio::piped()).process_group(0).spawn();
        let mut child = spawned.map_err(|source| ProcessError::Start { name: name.clone(), source })?;
        let said = Arc::new(Said::default());
        if let Some(stderr) = child.stderr.take() {
            said.follow(stderr);
        }
        Ok(Self { child, name, said })
    }

    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the output so far, oldest line first.
    #[must_use]
    pub fn said(&self) -> String {
        let mut text = String::new();
        for line in &self.said.heard().lines {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    /// Waits for a line for which `find` returns a value; earlier lines count too.
    pub fn wait_for_line<T>(
        &mut self,
        awaited: &str,
        within: Duration,
        find: impl Fn(&str) -> Option<T>,
    ) -> Result<T, ProcessError> {
        let end = Instant::now() + within;
        let said = Arc::clone(&self.said);
        loop {
            // Checked before the lines are read, so that the last output of an ended program is still found.
            let ended = self.ended()?;
            {
                let heard = said.heard();
                if let Some(found) = heard.lines.iter().find_map(|line| find(line)) {
                    return Ok(found);
                }
                if ended.is_none() {
                    drop(said.news.wait_timeout(heard, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner));
                }
            }
            self.still_possible(ended, awaited, end, within)?;
        }
    }

    /// Waits until the program reports its address: the first `address:port` on a line with the word `listening`.
    pub fn wait_for_address(&mut self, within: Duration) -> Result<SocketAddr, ProcessError> {
        self.wait_for_line("saying where it listens", within, listening_address)
    }

    /// Waits until something accepts connections at `address`.
    pub fn wait_for_port(&mut self, address: SocketAddr, within: Duration) -> Result<(), ProcessError> {
        let end = Instant::now() + within;
        while TcpStream::connect_timeout(&address, LOOK_EVERY.max(Duration::from_millis(100))).is_err() {
            let ended = self.ended()?;
            self.still_possible(ended, &format!("accepting connections at {address}"), end, within)?;
            thread::park_timeout(LOOK_EVERY);
        }
        Ok(())
    }

    /// Waits for the program to end by itself.
    pub fn wait(&mut self, within: Duration) -> Result<ExitStatus, ProcessError> {
        let end = Instant::now() + within;
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            self.still_possible(None, "its end", end, within)?;
            thread::park_timeout(LOOK_EVERY);
        }
    }

    /// Sends SIGTERM to the program, as an operator would, and waits for it.
    pub fn terminate(&mut self, within: Duration) -> Result<ExitStatus, ProcessError> {
        self.signal(Signal::TERM);
        self.wait(within)
    }

    /// Kills the program and all its children.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        drop(self.child.wait());
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = pid {
            // The group may have ended already.
            let _ = kill_process_group(group, signal);
        }
    }

    /// Returns the exit status if the program has ended, after its remaining output was read.
    fn ended(&mut self) -> Result<Option<ExitStatus>, ProcessError> {
        let waited = self.child.try_wait();
        let status = waited.map_err(|source| ProcessError::Wait { name: self.name.clone(), source })?;
        if status.is_some() {
            let heard = self.said.heard();
            let all = self.said.news.wait_timeout_while(heard, LAST_WORDS, |heard| heard.open > 0);
            drop(all.unwrap_or_else(PoisonError::into_inner));
        }
        Ok(status)
    }

    fn still_possible(
        &self,
        ended: Option<ExitStatus>,
        awaited: &str,
        end: Instant,
        within: Duration,
    ) -> Result<(), ProcessError> {
        let (name, awaited) = (self.name.clone(), awaited.to_owned());
        if let Some(status) = ended {
            return Err(ProcessError::Ended { name, status, awaited, said: self.said() });
        }
        if Instant::now() >= end {
            return Err(ProcessError::TimedOut { name, awaited, within, said: self.said() });
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Said {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the stream to its end on a thread of its own; invalid UTF-8 is replaced.
    fn follow(self: &Arc<Self>, stream: impl Read + Send + 'static) {
        let said = Arc::clone(self);
        said.heard().open += 1;
        thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut bytes = Vec::new();
            while stream.read_until(b'\n', &mut bytes).is_ok_and(|length| length > 0) {
                let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
                bytes.clear();
                let mut heard = said.heard();
                if heard.lines.len() == LINES_KEPT_MAX {
                    heard.lines.pop_front();
                }
                heard.lines.push_back(line);
                said.news.notify_all();
            }
            said.heard().open -= 1;
            said.news.notify_all();
        });
    }
}

fn listening_address(line: &str) -> Option<SocketAddr> {
    if !line.to_ascii_lowercase().contains("listening") {
        return None;
    }
    line.split(|c: char| !(c.is_ascii_alphanumeric() || ".:[]".contains(c)))
        .map(|word| word.trim_start_matches("http:").trim_end_matches(['.', ':']))
        .find_map(|word| word.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_line_that_was_said_is_found_in_either_output() {
        let mut process = Process::start(&mut shell("echo one; echo two >&2; exec cat /dev/zero")).unwrap();
        let line = |wanted: &'static str| move |line: &str| (line == wanted).then_some(());
        process.wait_for_line("one", SOON, line("one")).unwrap();
        process.wait_for_line("two", SOON, line("two")).unwrap();
    }

    #[test]
    fn a_program_that_ends_too_early_is_quoted_in_the_error() {
        let mut process = Process::start(&mut shell("echo cannot bind >&2; exit 3")).unwrap();
        let error = process.wait_for_address(SOON).unwrap_err().to_string();
        assert!(error.contains("exit status: 3"), "{error}");
        assert!(error.contains("cannot bind"), "{error}");
    }

    #[test]
    fn waiting_ends_even_when_the_program_says_nothing() {
        let mut process = Process::start(&mut shell("exec sleep 60")).unwrap();
        let error = process.wait_for_address(Duration::from_millis(50)).unwrap_err();
        assert!(matches!(error, ProcessError::TimedOut { .. }), "{error}");
    }

    #[test]
    fn dropping_a_process_ends_its_children_too() {
        let mut process = Process::start(&mut shell("sleep 60 & echo child $!; wait")).unwrap();
        let child: i32 = process
            .wait_for_line("its child", SOON, |line| line.strip_prefix("child ")?.parse().ok())
            .unwrap();
        let child = Pid::from_raw(child).unwrap();
        assert!(rustix::process::test_kill_process(child).is_ok());
        drop(process);
        // An orphan is reaped by init, which takes a moment; until then it is a zombie, not a leak.
        let end = Instant::now() + SOON;
        while rustix::process::test_kill_process(child).is_ok() && !is_zombie(child) {
            assert!(Instant::now() < end, "the child lives on");
            thread::park_timeout(LOOK_EVERY);
        }
    }

    fn is_zombie(pid: Pid) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        stat.is_ok_and(|stat| stat.contains(") Z "))
    }

    #[test]
    fn an_address_is_read_from_the_line_people_read() {
        let expected: SocketAddr = "127.0.0.1:8001".parse().unwrap();
        for line in [
            "listening on 127.0.0.1:8001",
            "INFO Listening on http://127.0.0.1:8001/mcp",
            "listening addr=127.0.0.1:8001.",
        ] {
            assert_eq!(listening_address(line), Some(expected), "{line}");
        }
        assert_eq!(listening_address("listening on [::1]:80"), "[::1]:80".parse().ok());
        assert_eq!(listening_address("connected to 127.0.0.1:8001"), None);
    }
}
