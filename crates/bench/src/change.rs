//! Diff of two versions of a server, and of the whole release history of a real server if its data is available.
//!
//! The baseline is a comparison of digests, which shows only that something changed.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use toolcrib_change::{Options, diff};
use toolcrib_contract::{Definition, Digest};

use crate::race::{Claim, Effort, Race};
use crate::serving::listed;

const TOOLS: usize = 120;
const SERVER_MAX: Duration = Duration::from_millis(200);
const HISTORY_MAX: Duration = Duration::from_secs(5);

pub(crate) fn run(effort: Effort) -> Result<bool> {
    let (old, new) = (version(false)?, version(true)?);
    let report = diff(&old, &new, &Options::default());
    anyhow::ensure!(report.summary().breaking > 0, "the two versions should differ");
    let mut holds = Race::new("two versions of a server of 120 tools, every tool changed")
        .with("are the digests equal", Claim::None, || {
            for (old, new) in old.iter().zip(&new) {
                black_box(Digest::of(old.root()).ok() == Digest::of(new.root()).ok());
            }
        })
        .with("diff, every break with its witness", Claim::TimeAtMost(SERVER_MAX), || {
            black_box(diff(&old, &new, &Options::default()));
        })
        .run(effort);
    match history()? {
        None => println!("\nSKIPPED: no history of a real server beside this clone (../shared/data)"),
        Some(releases) => {
            let title =
                format!("every release of a real server against the next, {} releases", releases.len());
            holds &= Race::new(&title)
                .with("diff", Claim::TimeAtMost(HISTORY_MAX), || {
                    for pair in releases.windows(2) {
                        if let [old, new] = pair {
                            black_box(diff(old, new, &Options::default()));
                        }
                    }
                })
                .run(effort);
        }
    }
    Ok(holds)
}

/// Definitions of a server. Its newer version requires more, and allows fewer states and other limits.
fn version(is_newer: bool) -> Result<Vec<Definition>> {
    (0..TOOLS)
        .map(|number| {
            let (name, description, mut schema) = listed(number);
            if is_newer {
                let states = ["open", "closed", "all"];
                let kept = states.get(..2 + number % 2).unwrap_or_default();
                let mut set = |place: &str, value: Value| {
                    if let Some(slot) = schema.pointer_mut(place) {
                        *slot = value;
                    }
                };
                set("/properties/state/enum", json!(kept));
                set("/properties/limit/maximum", json!(50 + number));
                if number % 3 == 0 {
                    set("/required", json!(["department", "query"]));
                }
            }
            let tool = json!({"name": name, "description": description, "inputSchema": schema});
            Definition::from_value(&tool).context("a definition of the benchmark's own")
        })
        .collect()
}

fn history() -> Result<Option<Vec<Vec<Definition>>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/github-mcp-server");
    if !folder.is_dir() {
        return Ok(None);
    }
    let mut releases = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let numbers: Vec<u32> =
            name.trim_start_matches('v').split('.').map_while(|part| part.parse().ok()).collect();
        let document: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
        let tools = document.get("tools").and_then(Value::as_array).with_context(|| name.clone())?;
        let tools: Result<Vec<_>, _> = tools.iter().map(Definition::from_value).collect();
        releases.push((numbers, tools.with_context(|| name)?));
    }
    releases.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(Some(releases.into_iter().map(|(_, tools)| tools).collect()))
}
