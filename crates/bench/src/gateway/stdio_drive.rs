//! Load generator for a stdio server, with a fixed number of requests in flight.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

pub(crate) struct Drive {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    call: (String, String),
    in_flight: usize,
    /// Calls that were sent and are not answered yet.
    waiting: usize,
    last_id: u64,
}

impl Drive {
    pub(crate) fn start(words: &[String], in_flight: usize, params: &Value) -> Result<Self> {
        let (program, arguments) = words.split_first().context("no command")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (input, output) =
            (child.stdin.take().context("no stdin")?, child.stdout.take().context("no stdout")?);
        let call = (
            "{\"jsonrpc\":\"2.0\",\"id\":".to_owned(),
            format!(",\"method\":\"tools/call\",\"params\":{params}}}\n"),
        );
        let mut drive =
            Self { child, input, output: BufReader::new(output), call, in_flight, waiting: 0, last_id: 0 };
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}});
        writeln!(drive.input, "{hello}")?;
        drive.line()?;
        writeln!(drive.input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        drive.try_turn()?;
        Ok(drive)
    }

    fn line(&mut self) -> Result<String> {
        loop {
            let mut line = String::new();
            ensure!(self.output.read_line(&mut line)? > 0, "the server ended");
            // Servers may print other lines or send notifications in between.
            if line.contains("\"id\"") && !line.contains("\"method\"") {
                return Ok(line);
            }
        }
    }

    /// Sends calls up to the number in flight, in one write.
    fn send(&mut self) -> Result<()> {
        let mut text = String::new();
        while self.waiting < self.in_flight {
            self.waiting += 1;
            self.last_id += 1;
            text.push_str(&format!("{}{}{}", self.call.0, self.last_id, self.call.1));
        }
        Ok(self.input.write_all(text.as_bytes())?)
    }

    #[allow(clippy::panic, reason = "a server that fails under load has lost; there is nothing to measure")]
    pub(crate) fn turn(&mut self) {
        self.try_turn().unwrap_or_else(|error| panic!("the server failed under load: {error:#}"));
    }

    /// Reads as many answers as there are calls in flight. Each answer makes room for the next call; due calls are sent
    /// before a read that could block.
    fn try_turn(&mut self) -> Result<()> {
        for _ in 0..self.in_flight {
            if !self.output.buffer().contains(&b'\n') {
                self.send()?;
            }
            let line = self.line()?;
            ensure!(line.contains("\"result\"") && !line.contains("\"isError\""), "answered: {line}");
            self.waiting -= 1;
        }
        Ok(())
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
