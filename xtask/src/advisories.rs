//! Checks the versions in Cargo.lock against an advisory database, without network access.
//!
//! The snapshot of the database is read here, because `cargo deny` requires a git clone with a name derived from its
//! URL. Fails on a vulnerability and on unsound code, warns of unmaintained crates. `advisories.toml` lists the
//! accepted advisories, each with a reason and a last day.

mod advisory;
mod exception;
mod lock;

use std::path::{Path, PathBuf};

use advisory::{Advisory, Severity};
use anyhow::{Context as _, Result, bail};
use exception::{Day, Exceptions};
use lock::Package;

use crate::shell;

/// Folder of the snapshot, relative to the root of the workspace.
const SNAPSHOT: &str = "../shared/data/advisory-db/crates";

/// Checks the workspace's lock file. Prints that nothing was checked if there is no snapshot.
pub(crate) fn run() -> Result<()> {
    let root = shell::root();
    let snapshot = root.join(SNAPSHOT);
    if !snapshot.is_dir() {
        println!("    NOT CHECKED: advisories (no snapshot of the database at {SNAPSHOT})");
        return Ok(());
    }
    let report = judge_workspace(&root, &snapshot)?;
    for line in &report.warnings {
        println!("    warning: {line}");
    }
    println!(
        "    {} advisories, {} packages of other people, {} findings",
        report.advisories,
        report.packages,
        report.findings.len()
    );
    if report.findings.is_empty() {
        return Ok(());
    }
    bail!("advisories:\n    {}", report.findings.join("\n    "))
}

/// Outcome of a check.
#[derive(Debug, Default)]
struct Report {
    advisories: usize,
    packages: usize,
    /// Lines that fail the build.
    findings: Vec<String>,
    warnings: Vec<String>,
}

fn judge_workspace(root: &Path, snapshot: &Path) -> Result<Report> {
    let read = |name: &str| std::fs::read_to_string(root.join(name)).context(name.to_owned());
    let packages = lock::packages(&read("Cargo.lock")?).context("Cargo.lock")?;
    let exceptions = Exceptions::read(&read("advisories.toml")?).context("advisories.toml")?;
    judge(&packages, &advisories(snapshot)?, &exceptions, &Day::today()?)
}

/// Reads every advisory. An unreadable one fails the check.
fn advisories(snapshot: &Path) -> Result<Vec<Advisory>> {
    let mut advisories = Vec::new();
    for folder in entries(snapshot)? {
        for file in entries(&folder)? {
            if file.extension().is_some_and(|extension| extension == "md") {
                let shown = file.display().to_string();
                let text = std::fs::read_to_string(&file).with_context(|| shown.clone())?;
                advisories.push(Advisory::read(&text).with_context(|| shown)?);
            }
        }
    }
    if advisories.is_empty() {
        bail!("{SNAPSHOT} has no advisories");
    }
    Ok(advisories)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = list.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn judge(
    packages: &[Package],
    advisories: &[Advisory],
    exceptions: &Exceptions,
    today: &Day,
) -> Result<Report> {
    let mut report = Report { advisories: advisories.len(), packages: packages.len(), ..Report::default() };
    let mut used = Vec::new();
    for package in packages {
        for advisory in advisories.iter().filter(|advisory| advisory.concerns(package)) {
            let line = format!("{} {}: {}: {}", package.name, package.version, advisory.id, advisory.title);
            match exceptions.find(&advisory.id) {
                Some(exception) => {
                    used.push(advisory.id.as_str());
                    if exception.until < *today {
                        report.findings.push(format!("{line} (the exception ended on {})", exception.until));
                    }
                }
                None if advisory.severity == Severity::Warning => report.warnings.push(line),
                None => report.findings.push(line),
            }
        }
    }
    let unused = exceptions.ids().filter(|id| !used.contains(id));
    report.findings.extend(unused.map(|id| format!("advisories.toml: {id} is met by nothing: remove it")));
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VULNERABLE: &str = "```toml\n[advisory]\nid = \"RUSTSEC-2026-0001\"\npackage = \"glass\"\n\
        date = \"2026-01-01\"\n\n[versions]\npatched = [\">= 1.2.3, < 2.0.0\", \">= 2.0.1\"]\n\
        unaffected = [\"< 1.0.0\"]\n```\n\n# Glass breaks\n\nWhen hit.\n";

    fn lock(name: &str, version: &str) -> Vec<Package> {
        let text = format!(
            "version = 4\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"registry+x\"\n\
             [[package]]\nname = \"own\"\nversion = \"0.1.0\"\n"
        );
        lock::packages(&text).unwrap()
    }

    fn judged(version: &str, advisory: &str, exceptions: &str) -> Report {
        let advisory = Advisory::read(advisory).unwrap();
        let today = Day::read("2026-06-15").unwrap();
        judge(&lock("glass", version), &[advisory], &Exceptions::read(exceptions).unwrap(), &today).unwrap()
    }

    #[test]
    fn a_vulnerable_version_in_the_lock_is_a_finding() {
        for version in ["1.0.0", "1.2.2", "2.0.0", "1.2.3-rc.1"] {
            let found = judged(version, VULNERABLE, "").findings;
            assert_eq!(found, [format!("glass {version}: RUSTSEC-2026-0001: Glass breaks")]);
        }
        for version in ["0.9.9", "1.2.3", "1.9.0", "2.0.1", "3.0.0", "3.0.0-rc.1"] {
            assert!(judged(version, VULNERABLE, "").findings.is_empty(), "{version}");
        }
        let other = judge(
            &lock("glas", "1.0.0"),
            &[Advisory::read(VULNERABLE).unwrap()],
            &Exceptions::default(),
            &Day::read("2026-06-15").unwrap(),
        );
        assert!(other.unwrap().findings.is_empty());
    }

    #[test]
    fn unsound_code_fails_and_a_crate_without_a_maintainer_warns() {
        let of_kind =
            |kind: &str| VULNERABLE.replace("date =", &format!("informational = \"{kind}\"\ndate ="));
        let counts = |kind: &str| {
            let report = judged("1.0.0", &of_kind(kind), "");
            (report.findings.len(), report.warnings.len())
        };
        assert_eq!(counts("unsound"), (1, 0));
        assert_eq!(counts("unmaintained"), (0, 1));
        assert_eq!(counts("notice"), (0, 1));
        assert_eq!(counts("something-new"), (1, 0));
        let withdrawn = VULNERABLE.replace("date =", "withdrawn = \"2026-02-01\"\ndate =");
        assert!(judged("1.0.0", &withdrawn, "").findings.is_empty());
    }

    #[test]
    fn an_exception_holds_until_its_day_and_must_be_needed() {
        let exception = |until: &str| {
            format!(
                "[[ignore]]\nid = \"RUSTSEC-2026-0001\"\nreason = \"Glass is not hit.\"\nuntil = \"{until}\"\n"
            )
        };
        assert!(judged("1.0.0", VULNERABLE, &exception("2026-06-15")).findings.is_empty());
        let over = judged("1.0.0", VULNERABLE, &exception("2026-06-14")).findings;
        assert!(over[0].ends_with("(the exception ended on 2026-06-14)"), "{over:?}");
        let useless = judged("1.2.3", VULNERABLE, &exception("2026-12-31")).findings;
        assert_eq!(useless, ["advisories.toml: RUSTSEC-2026-0001 is met by nothing: remove it"]);
        for bad in [
            "[[ignore]]\nid = \"RUSTSEC-2026-0001\"\nuntil = \"2026-12-31\"\n",
            "[[ignore]]\nid = \"RUSTSEC-2026-0001\"\nreason = \" \"\nuntil = \"2026-12-31\"\n",
            "[[ignore]]\nid = \"RUSTSEC-2026-0001\"\nreason = \"x\"\n",
            "[[ignore]]\nid = \"RUSTSEC-2026-0001\"\nreason = \"x\"\nuntil = \"soon\"\n",
        ] {
            assert!(Exceptions::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_advisory_that_cannot_be_read_is_an_error() {
        for bad in ["# No front matter", "```toml\n[advisory]\n```\n", &VULNERABLE.replace(">= 2.0.1", "two")]
        {
            assert!(Advisory::read(bad).is_err(), "{bad}");
        }
    }

    /// The workspace's lock has no open advisory. Checked only if the snapshot is beside the repository.
    #[test]
    fn the_lock_of_this_workspace_has_no_open_advisory() {
        let root = shell::root();
        let snapshot = root.join(SNAPSHOT);
        if snapshot.is_dir() {
            let report = judge_workspace(&root, &snapshot).unwrap();
            assert!(report.findings.is_empty(), "{:#?}", report.findings);
            assert!(report.advisories > 1_000 && report.packages > 100, "{report:?}");
        }
    }
}
