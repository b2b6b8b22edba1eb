//! Installs the conformance suite, the TypeScript SDK's client, the Inspector and a sufficiently new Node with npm,
//! from the lock file. `package.json` pins the Inspector's bundler to a version that is available for every platform.

use anyhow::{Context as _, Result};
use toolcrib_testkit::deps::Deps;

use super::stamp::Stamp;
use crate::shell::{command, root, run};

pub(super) fn install(deps: &Deps) -> Result<()> {
    let pins = root().join("xtask/provision/npm");
    let lock = std::fs::read_to_string(pins.join("package-lock.json")).context("package-lock.json")?;
    let stamp = Stamp::new(deps.folder(), "npm", lock);
    if stamp.is_current() {
        return Ok(());
    }
    let project = deps.npm_project();
    std::fs::create_dir_all(&project)?;
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
        .current_dir(&project))?;
    std::fs::remove_dir_all(deps.folder().join("npm-cache"))?;
    deps.node()?;
    stamp.write()
}
