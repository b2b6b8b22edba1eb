//! Installs the conformance suite, the TypeScript SDK's client, the Inspector and a sufficiently new Node with npm,
//! from the lock file; the SDK of 2024 from another. `package.json` pins the Inspector's bundler to a version that is
//! available for every platform.

use std::path::Path;

use anyhow::{Context as _, Result};
use toolcrib_testkit::deps::Deps;

use super::stamp::Stamp;
use crate::shell::{command, root, run};

pub(super) fn install(deps: &Deps) -> Result<()> {
    project(deps, "npm", &deps.npm_project())?;
    deps.node()?;
    project(deps, "npm-2024", &deps.npm_project_2024())
}

/// Installs the project `name` from its lock file.
fn project(deps: &Deps, name: &str, project: &Path) -> Result<()> {
    let pins = root().join("xtask/provision").join(name);
    let lock = std::fs::read_to_string(pins.join("package-lock.json")).context("package-lock.json")?;
    let stamp = Stamp::new(deps.folder(), name, lock);
    if stamp.is_current() {
        return Ok(());
    }
    std::fs::create_dir_all(project)?;
    for file in ["package.json", "package-lock.json"] {
        std::fs::copy(pins.join(file), project.join(file)).with_context(|| format!("copying {file}"))?;
    }
    // The machine's Node only runs npm. `engine-strict=false` because the suite requires the newer Node that this
    // command installs. No package may run scripts.
    run(command("npm")
        .args(["ci", "--ignore-scripts", "--engine-strict=false", "--loglevel=error"])
        .args(["--no-audit", "--no-fund", "--no-update-notifier"])
        .arg("--cache")
        .arg(deps.folder().join("npm-cache"))
        .current_dir(project))?;
    std::fs::remove_dir_all(deps.folder().join("npm-cache"))?;
    stamp.write()
}
