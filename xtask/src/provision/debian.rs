//! What comes from Debian's packages, where there is apt and we may use it.

use anyhow::{Result, bail};

use crate::shell::{answers, command, output, run};

/// The blind proxy that the gateway is measured against.
pub(super) fn nginx() -> Result<()> {
    if answers(command("nginx").arg("-v")) {
        return Ok(());
    }
    if output(command("id").arg("-u"))?.trim() != "0" {
        bail!("only root can: apt-get install nginx-light");
    }
    run(command("apt-get").args(["install", "--yes", "--quiet", "--no-install-recommends", "nginx-light"]))
}
