//! A child process in its own process group.
//!
//! Guarantees: when a [`Child`] is stopped, its whole process group is killed and the child is reaped; dropping it
//! kills the group. Its stderr is always read, and logged line by line, shortened.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::net::unix::pipe;
use tokio::process::{ChildStdout, Command};

use crate::brake::Brake;
use crate::error::Cause;
use crate::limits::{STDERR_LINE_CHARS_MAX, UPSTREAM_STOP_MS_MAX, UPSTREAM_TERM_MS_MAX};
use crate::spec;

/// Environment variables that a program needs to run; the rest of the environment may contain secrets.
const PLAIN_ENV: [&str; 8] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "TERM", "SHELL"];

/// A running child process and its process group.
pub(crate) struct Child {
    child: tokio::process::Child,
    group: Option<Pid>,
}

impl Child {
    pub(crate) fn start(
        name: &str,
        command: &spec::Command,
    ) -> Result<(Self, pipe::Sender, ChildStdout), Cause> {
        let failed = |kind| Cause::Spawn { command: command.program.as_str().into(), kind };
        let mut spawned = Command::new(&command.program);
        spawned
            .args(&command.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if command.clean_env {
            spawned.env_clear();
            spawned.envs(PLAIN_ENV.iter().filter_map(|key| Some((key, std::env::var_os(key)?))));
        }
        spawned.envs(&command.env);
        if let Some(folder) = &command.folder {
            spawned.current_dir(folder);
        }
        let mut child = spawned.spawn().map_err(|error| failed(error.kind()))?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(std::io::ErrorKind::BrokenPipe));
        };
        let stdin = stdin
            .into_owned_fd()
            .and_then(pipe::Sender::from_owned_fd)
            .map_err(|error| failed(error.kind()))?;
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(log_lines(name.into(), stderr));
        }
        Ok((Self { child, group }, stdin, stdout))
    }

    /// Returns the exit code when the child exits by itself.
    pub(crate) async fn ended(&mut self) -> Option<i32> {
        self.child.wait().await.ok().and_then(|status| status.code())
    }

    /// Waits for the child to exit after its stdin was closed, then sends SIGTERM, then SIGKILL. The rest of the
    /// process group is killed too.
    pub(crate) async fn stop(mut self) {
        let within = |ms| Duration::from_millis(ms);
        if tokio::time::timeout(within(UPSTREAM_STOP_MS_MAX), self.child.wait()).await.is_err() {
            self.signal(Signal::TERM);
            if tokio::time::timeout(within(UPSTREAM_TERM_MS_MAX), self.child.wait()).await.is_err() {
                self.signal(Signal::KILL);
                let _ = self.child.wait().await;
            }
        }
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // The group may have ended already.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

async fn log_lines(name: Arc<str>, stderr: impl AsyncRead + Unpin) {
    let mut reader = BufReader::new(stderr);
    let mut brake = Brake::default();
    while let Some(line) = next_line(&mut reader, &mut brake).await {
        if !line.is_empty() {
            tracing::info!(target: "toolcrib::stderr", upstream = &*name, "{line}");
        }
    }
}

/// Returns the next line without control characters; a long line is cut and marked with an ellipsis. `None` at the
/// end. `brake` throttles a process that writes without end.
async fn next_line(reader: &mut (impl AsyncBufRead + Unpin), brake: &mut Brake) -> Option<String> {
    // A UTF-8 character has at most 4 bytes.
    let most = STDERR_LINE_CHARS_MAX as u64 * 4;
    let mut line = Vec::new();
    let mut read =
        (&mut *reader).take(most).read_until(b'\n', &mut line).await.ok().filter(|read| *read > 0)?;
    let text = String::from_utf8_lossy(&line);
    let mut shown = text.chars().filter(|c| !c.is_control());
    let mut kept: String = shown.by_ref().take(STDERR_LINE_CHARS_MAX).collect();
    let is_whole = text.ends_with('\n');
    if !is_whole && read as u64 == most || shown.next().is_some() {
        kept.push('…');
    }
    brake.hold(read).await;
    // Skips the rest of the line.
    while !is_whole && read > 0 {
        line.clear();
        read = (&mut *reader).take(most).read_until(b'\n', &mut line).await.ok()?;
        brake.hold(read).await;
        if line.last() == Some(&b'\n') {
            break;
        }
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &str) -> Vec<String> {
        let (mut reader, mut lines) = (text.as_bytes(), Vec::new());
        while let Some(line) = next_line(&mut reader, &mut Brake::default()).await {
            lines.push(line);
        }
        lines
    }

    /// R5.10: the length of a logged line is bounded.
    #[tokio::test]
    async fn of_a_line_on_stderr_stderr_line_chars_max_characters_are_logged() {
        assert_eq!(lines("one\n\ntwo\u{1b}[31m\r\nthree").await, ["one", "", "two[31m", "three"]);
        let most = "é".repeat(STDERR_LINE_CHARS_MAX);
        assert_eq!(lines(&format!("{most}\nnext")).await, [&most, "next"]);
        let marked = format!("{most}…");
        assert_eq!(lines(&format!("{most}x\nnext")).await, [&marked, "next"]);
        let endless = "é".repeat(STDERR_LINE_CHARS_MAX * 9);
        assert_eq!(lines(&format!("{endless}\nnext\n{endless}")).await, [&marked, "next", &marked]);
    }
}
