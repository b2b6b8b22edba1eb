//! Fetches a package for `uvx` into a cache of the tests, so that the tests themselves need no network.

use anyhow::{Context as _, Result};
use toolcrib_testkit::deps::Deps;

use super::stamp::Stamp;
use crate::shell::{command, root, run};

/// Name of the package; its version is that in the pinned list.
const PACKAGE: &str = "mcp-server-time";

/// Fetches the package. Requires the virtual environment of Python.
pub(super) fn install(deps: &Deps) -> Result<()> {
    let list = root().join("xtask/provision/python/requirements.txt");
    let pins = std::fs::read_to_string(&list).context("requirements.txt")?;
    let start = format!("{PACKAGE}==");
    let pinned = pins.lines().find(|line| line.starts_with(&start)).and_then(|line| line.split(' ').next());
    let pinned = pinned.with_context(|| format!("{PACKAGE} is not pinned"))?;
    let stamp = Stamp::new(deps.folder(), "uvx", pins.clone());
    if stamp.is_current() {
        return Ok(());
    }
    let mut runner = command(deps.python_venv().join("bin/uvx"));
    run(runner.envs(deps.uv_environment()).args(["--quiet", pinned, "--help"]))?;
    stamp.write()
}
