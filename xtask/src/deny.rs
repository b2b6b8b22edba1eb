//! `xtask deny`: checks advisories against Cargo.lock, then runs `cargo deny` with deny.toml.

use anyhow::{Result, bail};
use toolcrib_testkit::deps::Deps;

use crate::{advisories, shell};

pub(crate) fn run() -> Result<()> {
    advisories::run()?;
    let program = Deps::under(&shell::root()).cargo_root().join("bin/cargo-deny");
    if !program.is_file() {
        bail!("cargo-deny is missing: run `cargo run -p xtask -- provision`");
    }
    shell::run(shell::command(program).args([
        "--locked",
        "--workspace",
        "--all-features",
        "check",
        "--hide-inclusion-graph",
        "bans",
        "licenses",
        "sources",
    ]))
}
