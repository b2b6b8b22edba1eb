//! PostgreSQL by Debian's package, where this runs as root and there is none. Without it the tests that need it say that
//! they were skipped, so a failed installation is said and survived.

use anyhow::Result;
use toolcrib_testkit::postgres::installed;

use crate::shell::{command, output, run};

pub(super) fn install() -> Result<()> {
    if installed().is_some() {
        return Ok(());
    }
    let is_root = output(command("id").arg("-u"))?.trim() == "0";
    let apt =
        |arguments: &[&str]| run(command("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args(arguments));
    let outcome = match is_root {
        true => apt(&["update", "-qq"])
            .and_then(|()| apt(&["install", "-qq", "-y", "--no-install-recommends", "postgresql"])),
        false => Err(anyhow::anyhow!("this needs root")),
    };
    if let Err(error) = outcome {
        println!("    PostgreSQL cannot be installed; the tests that need it will be skipped ({error:#})");
    }
    Ok(())
}
