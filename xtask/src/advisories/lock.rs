//! Third-party packages in Cargo.lock.

use anyhow::{Context as _, Result};
use semver::Version;
use serde::Deserialize;

#[derive(Debug)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: Version,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    source: Option<String>,
}

/// Returns every package that has a source; the workspace's own packages have none.
pub(super) fn packages(text: &str) -> Result<Vec<Package>> {
    let lock: Lock = toml::from_str(text)?;
    let foreign = lock.package.into_iter().filter(|package| package.source.is_some());
    foreign
        .map(|Locked { name, version, .. }| {
            let version = version.parse().with_context(|| format!("the version of {name}"))?;
            Ok(Package { name, version })
        })
        .collect()
}
