//! PostgreSQL by Debian's package, where this runs as root and there is none. Without it the tests that need it say that
//! they were skipped, so a failed installation is said and survived.

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
