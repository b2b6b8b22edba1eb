//! What comes from Debian's packages, where there is apt and we may use it.

use std::process::Stdio;

use anyhow::{Result, bail};

use crate::shell::{command, output, run};

/// The blind proxy that the gateway is measured against.
pub(super) fn nginx() -> Result<()> {
    package("nginx-light", "nginx")
}

/// The client that it is measured with.
pub(super) fn wrk() -> Result<()> {
    package("wrk", "wrk")
}

/// Installs a package unless its program is there.
fn package(name: &str, program: &str) -> Result<()> {
    if command(program).arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok() {
        return Ok(());
    }
    if output(command("id").arg("-u"))?.trim() != "0" {
        bail!("only root can: apt-get install {name}");
    }
    run(command("apt-get").args(["install", "--yes", "--quiet", "--no-install-recommends", name]))
}
