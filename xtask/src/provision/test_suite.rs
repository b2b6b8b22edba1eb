//! Fetches the JSON Schema Test Suite from the source distribution of Python's `jsonschema`, since no registry has it
//! under its own name. pip checks the hash; nothing of the package is installed.

use std::path::Path;

use anyhow::{Context as _, Result};
use toolcrib_testkit::deps::Deps;

use super::stamp::Stamp;
use crate::shell::{command, run};

const VERSION: &str = "4.26.0";
const SHA256: &str = "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326";
/// Folders below `json` in the distribution that the tests read.
const FOLDERS: [&str; 2] = ["tests", "remotes"];

/// Downloads and unpacks the suite. Requires the virtual environment of Python.
pub(super) fn install(deps: &Deps) -> Result<()> {
    let requirement = format!("jsonschema=={VERSION} --hash=sha256:{SHA256}\n");
    let stamp = Stamp::new(deps.folder(), "json-schema-test-suite", requirement.clone());
    if stamp.is_current() {
        return Ok(());
    }
    let suite = deps.folder().join("json-schema-test-suite");
    let download = deps.folder().join("json-schema-test-suite.download");
    empty(&suite)?;
    empty(&download)?;
    let list = download.join("requirements.txt");
    std::fs::write(&list, requirement).context("the requirement")?;
    run(command(deps.python_venv().join("bin/python"))
        .args(["-m", "pip", "download", "--quiet", "--require-hashes", "--no-deps", "--no-binary=:all:"])
        .args(["--no-cache-dir", "--disable-pip-version-check", "--no-input", "--dest"])
        .arg(&download)
        .arg("-r")
        .arg(&list))?;
    let unpacked = format!("jsonschema-{VERSION}");
    run(command("tar")
        .arg("-xzf")
        .arg(download.join(format!("{unpacked}.tar.gz")))
        .arg("-C")
        .arg(&download)
        .args(FOLDERS.map(|folder| format!("{unpacked}/json/{folder}"))))?;
    for folder in FOLDERS {
        std::fs::rename(download.join(&unpacked).join("json").join(folder), suite.join(folder))
            .with_context(|| format!("the suite has no {folder}"))?;
    }
    std::fs::remove_dir_all(&download)?;
    stamp.write()
}

fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))
}
