//! Foreign MCP clients: programs written with other SDKs, run against a server of ours.
//!
//! Each takes a target and an era, performs the same steps, and prints one line of JSON, `{"client": …, "era": …,
//! "protocolVersion": …, "steps": {"list": "ok", …}}`. A failed step has the reason instead of `ok`, and the exit code
//! is then not 0.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::deps::{Deps, DepsError, workspace_root};
use crate::port;
use crate::process::{Process, ProcessError};

/// Timeout of a client's whole run.
const PATIENCE: Duration = Duration::from_secs(120);

/// Timeout for a server to start.
const START_PATIENCE: Duration = Duration::from_secs(20);

/// The SDK that a client is written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sdk {
    TypeScript,
    Python,
    /// Version 1.0 of November 2024, which speaks HTTP+SSE and takes the steps `list` and `call`.
    TypeScript2024,
    /// Like `TypeScript2024`.
    Python2024,
}

/// Era that the client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    Legacy,
    Modern,
}

/// Address of the server.
#[derive(Debug, Clone)]
pub enum Server {
    Http { url: String },
    Stdio { command: Vec<String> },
}

#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    #[error(transparent)]
    Deps(#[from] DepsError),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error("no free port: {0}")]
    Port(std::io::Error),
    #[error("{sdk:?} client printed no report; it said:\n{said}")]
    NoReport { sdk: Sdk, said: String },
    #[error("{sdk:?} client, {era:?} era: {missed}; it said:\n{said}")]
    Missed { sdk: Sdk, era: Era, missed: String, said: String },
}

impl Era {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

/// Runs a client through a plan; returns its report if every step succeeded.
pub fn run(deps: &Deps, sdk: Sdk, era: Era, server: &Server, plan: &Value) -> Result<Value, ForeignError> {
    let (report, said) = walk(deps, sdk, era, server, plan)?;
    match missed(&report) {
        Some(missed) => Err(ForeignError::Missed { sdk, era, missed, said }),
        None => Ok(report),
    }
}

/// Runs a client through a plan (tests/foreign/README.md); returns its report, whatever it contains, and the client's
/// other output. A report that disagrees with the exit code is an error.
pub fn walk(
    deps: &Deps,
    sdk: Sdk,
    era: Era,
    server: &Server,
    plan: &Value,
) -> Result<(Value, String), ForeignError> {
    let mut command = client(deps, sdk)?;
    command.args(["--era", era.name(), "--plan", &plan.to_string()]);
    match server {
        Server::Http { url } => command.args(["--url", url]),
        Server::Stdio { command: words } => command.arg("--").args(words),
    };
    let mut process = Process::start(&mut command)?;
    let status = process.wait(PATIENCE)?;
    let report = process.wait_for_line("printing its report", Duration::from_secs(1), report_in);
    let said = process.said();
    match report {
        Ok(report) if status.success() == missed(&report).is_none() => Ok((report, said)),
        _ => Err(ForeignError::NoReport { sdk, said }),
    }
}

/// Starts `program --listen ADDRESS` on a free loopback port and waits until it accepts connections.
pub fn listening(program: &Path) -> Result<(Process, Server), ForeignError> {
    listening_with(&mut Command::new(program))
}

/// Starts a command with other arguments or variables like [`listening`].
pub fn listening_with(command: &mut Command) -> Result<(Process, Server), ForeignError> {
    let port = port::free().map_err(ForeignError::Port)?;
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut process = Process::start(command.args(["--listen", &address.to_string()]))?;
    process.wait_for_port(address, START_PATIENCE)?;
    Ok((process, Server::Http { url: format!("http://{address}/mcp") }))
}

fn client(deps: &Deps, sdk: Sdk) -> Result<Command, DepsError> {
    let folder: PathBuf = workspace_root().join("tests/foreign");
    let node = |script: &str, package: PathBuf| {
        let mut command = Command::new(deps.node()?);
        command.arg(folder.join("typescript").join(script)).env("TOOLCRIB_CLIENT_PACKAGE", package);
        Ok(command)
    };
    let python = |script: &str, interpreter: PathBuf| {
        let mut command = Command::new(interpreter);
        command.arg(folder.join("python").join(script)).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    };
    match sdk {
        Sdk::TypeScript => node("client.mjs", deps.typescript_client()?),
        Sdk::TypeScript2024 => node("client_2024.mjs", deps.typescript_client_2024()?),
        Sdk::Python => Ok(python("client.py", deps.python()?)),
        Sdk::Python2024 => Ok(python("client_2024.py", deps.python_2024()?)),
    }
}

fn report_in(line: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(line).ok()?;
    value.get("steps").is_some().then_some(value)
}

/// Returns the first step that is not `ok`; a report without steps has failed.
#[must_use]
pub fn missed(report: &Value) -> Option<String> {
    let steps = report.get("steps").and_then(Value::as_object);
    match steps {
        None => Some("the report has no steps".to_owned()),
        Some(steps) if steps.is_empty() => Some("the report has no steps".to_owned()),
        Some(steps) => {
            steps.iter().find(|(_, result)| *result != "ok").map(|(step, result)| format!("{step}: {result}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_with_a_failed_step_or_none_is_a_miss() {
        let report = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(missed(&report(r#"{"steps":{"list":"ok"}}"#)), None);
        assert_eq!(missed(&report(r#"{"steps":{"list":"ok","call":"late"}}"#)).unwrap(), "call: \"late\"");
        assert!(missed(&report(r#"{"steps":{}}"#)).is_some());
        assert!(missed(&report("{}")).is_some());
    }
}
