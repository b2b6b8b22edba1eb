//! Programs from Debian's packages, installed if there is apt and this runs as root.

use std::process::Stdio;

use anyhow::{Result, bail};

use crate::shell::{command, output, run};

/// Installs programs that tests run beside the product: foreign clients, a browser, and a reverse proxy.
pub(super) fn peers() -> Result<()> {
    for (package, name) in
        [("curl", "curl"), ("openssl", "openssl"), ("nginx-light", "nginx"), ("chromium", "chromium")]
    {
        program(package, name)?;
    }
    Ok(())
}

/// Installs the pass-through proxy that the gateway is compared with.
pub(super) fn nginx() -> Result<()> {
    program("nginx-light", "nginx")
}

/// Installs the load generator.
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

/// Installs a package. A new machine has no package lists, so they are updated first.
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
