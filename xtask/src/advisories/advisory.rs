//! An advisory file: Markdown with TOML in front.

use anyhow::{Context as _, Result};
use semver::{Comparator, Op, Version, VersionReq};
use serde::Deserialize;

use super::lock::Package;

/// Advisory against versions of one package.
#[derive(Debug)]
pub(super) struct Advisory {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) severity: Severity,
    package: String,
    is_withdrawn: bool,
    /// Versions without the fault: patched, or never affected.
    sound: Vec<VersionReq>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    Failure,
    Warning,
}

#[derive(Deserialize)]
struct Front {
    advisory: About,
    versions: Versions,
}

#[derive(Deserialize)]
struct About {
    id: String,
    package: String,
    informational: Option<String>,
    withdrawn: Option<toml::Value>,
}

#[derive(Deserialize)]
struct Versions {
    #[serde(default)]
    patched: Vec<String>,
    #[serde(default)]
    unaffected: Vec<String>,
}

impl Advisory {
    pub(super) fn read(text: &str) -> Result<Self> {
        let rest = text.trim_start().strip_prefix("```toml").context("no TOML in front")?;
        let (front, prose) = rest.split_once("\n```").context("the TOML in front does not end")?;
        let Front { advisory, versions } = toml::from_str(front)?;
        let title = prose.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("(no title)");
        // An unknown kind fails until somebody decides about it.
        let severity = match advisory.informational.as_deref() {
            Some("unmaintained" | "notice") => Severity::Warning,
            _ => Severity::Failure,
        };
        let ranges = versions.patched.iter().chain(&versions.unaffected);
        let sound = ranges.map(|range| range.parse().with_context(|| range.clone()));
        Ok(Self {
            id: advisory.id,
            title: title.trim().to_owned(),
            severity,
            package: advisory.package,
            is_withdrawn: advisory.withdrawn.is_some(),
            sound: sound.collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn concerns(&self, package: &Package) -> bool {
        let is_sound = || self.sound.iter().any(|range| contains(range, &package.version));
        !self.is_withdrawn && self.package == package.name && !is_sound()
    }
}

/// `VersionReq` matches no pre-release outside its own patch version. A pre-release after a lower bound has the fix,
/// so bounds from below are compared by order; everything else stays unmatched and is reported.
fn contains(range: &VersionReq, version: &Version) -> bool {
    let is_after = |bound: &Comparator| {
        let from = Version {
            major: bound.major,
            minor: bound.minor.unwrap_or(0),
            patch: bound.patch.unwrap_or(0),
            pre: bound.pre.clone(),
            build: semver::BuildMetadata::EMPTY,
        };
        bound.op == Op::GreaterEq && *version >= from
    };
    range.matches(version) || (!version.pre.is_empty() && range.comparators.iter().all(is_after))
}
