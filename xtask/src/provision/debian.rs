//! What comes from Debian's packages, where there is apt and we may use it.

use std::process::Stdio;

use anyhow::{Result, bail};

use crate::shell::{command, output, run};

/// Programs that tests run beside the product: clients of other makers, and the proxy that people put in front.
pub(super) fn peers() -> Result<()> {
    for (package, name) in
        [("curl", "curl"), ("openssl", "openssl"), ("nginx-light", "nginx"), ("chromium", "chromium")]
    {
        program(package, name)?;
    }
    Ok(())
}

/// The blind proxy that the gateway is measured against.
pub(super) fn nginx() -> Result<()> {
    program("nginx-light", "nginx")
}

/// The client that it is measured with.
pub(super) fn wrk() -> Result<()> {
    program("wrk", "wrk")
}

/// The client that HTTP/2 is measured with.
pub(super) fn h2load() -> Result<()> {
    program("nghttp2-client", "h2load")
}

/// Installs a package unless its program is there.
fn program(package: &str, name: &str) -> Result<()> {
    if command(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok() {
        return Ok(());
    }
    install(package)
}

/// Installs a package; a machine that is new does not know what there is before it asked.
pub(super) fn install(package: &str) -> Result<()> {
    if output(command("id").arg("-u"))?.trim() != "0" {
        bail!("only root can: apt-get install {package}");
    }
    let apt = |words: &[&str]| {
        run(command("apt-get").env("DEBIAN_FRONTEND", "noninteractive").arg("-qq").args(words))
    };
    apt(&["update"])?;
    apt(&["install", "--yes", "--no-install-recommends", package])
}
