//! Installs the Python SDK, current and of 2024, into a virtual environment each, from lists with pinned versions and
//! hashes.

use std::path::Path;

use anyhow::{Context as _, Result};
use toolcrib_testkit::deps::Deps;

use super::stamp::Stamp;
use crate::shell::{command, output, root, run};

pub(super) fn install(deps: &Deps) -> Result<()> {
    environment(deps, "python", &deps.python_venv())?;
    environment(deps, "python-2024", &deps.python_venv_2024())
}

/// Installs FastMCP, as a server for tests and for the comparison, in an environment of its own: its pins conflict with those of the SDK.
pub(super) fn fastmcp(deps: &Deps) -> Result<()> {
    environment(deps, "fastmcp", &deps.folder().join("fastmcp"))
}

/// Creates a virtual environment from the list `name`.
fn environment(deps: &Deps, name: &str, venv: &Path) -> Result<()> {
    let list = root().join("xtask/provision").join(name).join("requirements.txt");
    let pins = std::fs::read_to_string(&list).context("requirements.txt")?;
    let version = output(command("python3").arg("--version"))?;
    let stamp = Stamp::new(deps.folder(), name, format!("{version}{pins}"));
    if stamp.is_current() {
        return Ok(());
    }
    run(command("python3").args(["-m", "venv", "--clear"]).arg(venv))?;
    run(command(venv.join("bin/python"))
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--require-hashes",
            "--only-binary=:all:",
            "--no-cache-dir",
        ])
        .args(["--disable-pip-version-check", "--no-input", "-r"])
        .arg(&list))?;
    stamp.write()
}
