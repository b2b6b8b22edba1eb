//! Runs other programs from the root of the workspace, without standard input. A failure names the whole command.
//!
//! `cargo run` sets environment variables about *this* package. They are removed, so that a nested cargo sees the same
//! environment as in a shell and rebuilds nothing.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "CARGO_BIN_NAME" {
            command.env_remove(&*name);
        }
    }
    command
}

/// Returns a command for the cargo that runs this program.
pub(crate) fn cargo<I, S>(arguments: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let mut command = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Runs a command with its output passed through.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = render(command);
    println!("    $ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}

/// Runs a command and returns its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = render(command);
    let output = command.output().with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` failed: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim_end());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` did not print UTF-8"))
}

/// Runs a command, passes its standard error through, and returns the lines of it that `keep` accepts.
pub(crate) fn run_keeping(command: &mut Command, keep: impl Fn(&str) -> bool) -> Result<(bool, Vec<String>)> {
    let line = render(command);
    println!("    $ {line}");
    let mut child =
        command.stderr(Stdio::piped()).spawn().with_context(|| format!("cannot start `{line}`"))?;
    let mut kept = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        let mut out = std::io::stderr();
        for text in BufReader::new(stderr).lines() {
            let text = text.context("reading standard error")?;
            writeln!(out, "{text}")?;
            if keep(&text) {
                kept.push(text);
            }
        }
    }
    Ok((child.wait()?.success(), kept))
}

/// Returns true if the command succeeds; used with `--version` to test for a program.
pub(crate) fn answers(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Builds every target of the workspace in the development profile and returns the path of a binary.
///
/// One profile and one set of features for everything: building a single package would select other features of shared
/// dependencies and build them a second time.
pub(crate) fn built_binary(name: &str) -> Result<PathBuf> {
    run(&mut cargo(["build", "--workspace", "--all-targets", "--locked", "--quiet"]))?;
    let path = target_directory()?.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if !path.is_file() {
        bail!("the workspace builds no binary named `{name}`");
    }
    Ok(path)
}

pub(crate) fn target_directory() -> Result<PathBuf> {
    let metadata = output(&mut cargo(["metadata", "--format-version=1", "--no-deps", "--offline"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).context("cargo metadata")?;
    let path = metadata.get("target_directory").and_then(serde_json::Value::as_str);
    Ok(PathBuf::from(path.context("cargo metadata names no target directory")?))
}

fn render(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    std::iter::once(program)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}
