//! Installs PostgreSQL from Debian's package if this runs as root and there is none. Without it the tests that need it
//! report that they were skipped, so a failed installation is only reported.

use anyhow::Result;
use toolcrib_testkit::postgres::installed;

use super::debian;

pub(super) fn install() -> Result<()> {
    if installed().is_some() {
        return Ok(());
    }
    if let Err(error) = debian::install("postgresql") {
        println!("    PostgreSQL cannot be installed; the tests that need it will be skipped ({error:#})");
    }
    Ok(())
}
