//! Fetches READMEs of published servers that show a client's configuration file, for clients that the installed
//! packages do not cover (Codex). The packages are only unpacked, because installing them would install a browser as
//! well.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use toolcrib_testkit::deps::Deps;

use super::stamp::Stamp;
use crate::shell::{command, output, run};

/// Packages with version, and the integrity hash of each archive.
const PACKAGES: [(&str, &str); 2] = [
    (
        "@playwright/mcp@0.0.83",
        "sha512-oNcl+Ae2/IAjhfPeP46BfIkSakfmprY+aOtkv5MjrQ4lPav4/yNtPhL0iq8SlIM90oApWgBDUxaNKvktazUKOg==",
    ),
    (
        "@upstash/context7-mcp@4.1.1",
        "sha512-fUARTIZGVKzlzQKDhKUg4aIQ3yEU/12STdfxJDDnLMSN7yyHiPvNHI05iFwxkv3vC8G76Wp27MwK6Jucl/C5pA==",
    ),
];

pub(super) fn install(deps: &Deps) -> Result<()> {
    let recipe: String =
        PACKAGES.iter().map(|(package, integrity)| format!("{package} {integrity}\n")).collect();
    let stamp = Stamp::new(deps.folder(), "client-samples", recipe);
    if stamp.is_current() {
        return Ok(());
    }
    let folder = deps.client_samples();
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    for (at, (package, integrity)) in PACKAGES.iter().enumerate() {
        let archive = pack(&folder, package, integrity)?;
        let into = folder.join(at.to_string());
        std::fs::create_dir_all(&into)?;
        run(command("tar")
            .arg("-xzf")
            .arg(folder.join(&archive))
            .arg("-C")
            .arg(&into)
            .args(["--strip-components=1", "package/README.md"]))?;
        std::fs::remove_file(folder.join(archive))?;
    }
    std::fs::remove_dir_all(folder.join("npm-cache"))?;
    stamp.write()
}

/// Downloads the archive and returns its file name.
fn pack(folder: &Path, package: &str, integrity: &str) -> Result<String> {
    let said = output(
        command("npm")
            .args(["pack", package, "--json", "--loglevel=error", "--ignore-scripts", "--no-update-notifier"])
            .arg("--cache")
            .arg(folder.join("npm-cache"))
            .arg("--pack-destination")
            .arg(folder),
    )?;
    let said: Value = serde_json::from_str(&said).context("what `npm pack` says")?;
    let part = |name: &str| said.pointer(&format!("/0/{name}")).and_then(Value::as_str);
    if part("integrity") != Some(integrity) {
        bail!("{package} is {:?}, not {integrity}", part("integrity"));
    }
    Ok(part("filename").context("`npm pack` names no file")?.to_owned())
}
