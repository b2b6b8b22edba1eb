//! The conformance suite, the TypeScript SDK's client, the Inspector and a Node new enough to load them, by npm, from the lock
//! file. `package.json` holds the Inspector's bundler back to a version whose parts for every platform can be had.

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
    // The machine's Node is used only to run npm; `engine-strict=false` because the suite wants the newer one that
    // this very command installs. No package may run a script of its own.
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
