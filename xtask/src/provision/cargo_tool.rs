//! Tools that are installed with cargo into `.deps`. cargo subcommands are built unoptimised, because the build takes
//! longer than their use.

use anyhow::Result;
use toolcrib_testkit::deps::Deps;

use super::stamp::Stamp;
use crate::shell::{answers, cargo, run};

const NEXTEST: &str = "0.9.143";
const DENY: &str = "0.20.2";
const MCP_PROXY: &str = "0.6.0";

/// Installs the test runner unless the machine has it. Without it the tests run under `cargo test`, so a failed
/// installation is only reported.
pub(super) fn nextest(deps: &Deps) -> Result<()> {
    if answers(cargo(["nextest", "--version"]).env("PATH", deps.path_variable())) {
        return Ok(());
    }
    if let Err(error) = install(deps, "cargo-nextest", NEXTEST) {
        println!("    cargo-nextest cannot be installed; `cargo test` will run the tests ({error:#})");
    }
    Ok(())
}

pub(super) fn deny(deps: &Deps) -> Result<()> {
    install(deps, "cargo-deny", DENY)
}

fn install(deps: &Deps, package: &str, version: &str) -> Result<()> {
    let stamp = Stamp::new(deps.folder(), package, format!("{package} {version}\n"));
    if stamp.is_current() {
        return Ok(());
    }
    let build = deps.folder().join("build");
    run(cargo(["install", package, "--version", version, "--locked", "--debug", "--quiet", "--force"])
        .arg("--root")
        .arg(deps.cargo_root())
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_TARGET_DIR", &build))?;
    std::fs::remove_dir_all(&build)?;
    stamp.write()
}

/// Installs a proxy for measurements, optimised as it would be used.
pub(super) fn mcp_proxy(deps: &Deps) -> Result<()> {
    let stamp = Stamp::new(deps.folder(), "mcp-proxy", format!("mcp-proxy {MCP_PROXY}\n"));
    if stamp.is_current() {
        return Ok(());
    }
    let build = deps.folder().join("build");
    run(cargo(["install", "mcp-proxy", "--version", MCP_PROXY, "--locked", "--quiet", "--force"])
        .args(["--no-default-features", "--root"])
        .arg(deps.folder().join("bench"))
        .env("CARGO_TARGET_DIR", &build))?;
    std::fs::remove_dir_all(&build)?;
    stamp.write()
}
