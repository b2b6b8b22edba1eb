//! `xtask deny`: `cargo deny` with deny.toml, without the advisories.
//!
//! Advisories need a database that is fetched from the internet at check time; a machine that reaches package
//! registries only cannot have it. That gap is said on every run instead of being passed over.

use anyhow::{Result, bail};
use toolcrib_testkit::deps::Deps;

use crate::shell;

pub(crate) fn run() -> Result<()> {
    let program = Deps::under(&shell::root()).cargo_root().join("bin/cargo-deny");
    if !program.is_file() {
        bail!("cargo-deny is missing: run `cargo run -p xtask -- provision`");
    }
    println!("    NOT CHECKED: advisories (their database is not in any package registry)");
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
