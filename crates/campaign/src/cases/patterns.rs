//! Schemas with regular expressions that are costly to compile, at the start of a server and after a change of its
//! list.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::case::{Attack, Case, Phase, Setting, Target};
use crate::upstream::{Offer, Upstream};

/// Patterns per tool.
const PATTERNS: usize = 250;

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("patterns", "one-tool", |setting| at_start(setting.size(1, 1), setting)),
        Case::new("patterns", "twenty-tools-at-start", |setting| at_start(setting.size(20, 2), setting)),
        Case::new("patterns", "forty-tools-by-list-changed", |setting| {
            let tools = setting.size(40, 2);
            let patterns = setting.size(PATTERNS, 10);
            let bad = Upstream::hostile(&costly(0, 1, 1))?;
            let entry = bad.entry("bad");
            let salt = AtomicUsize::new(1);
            let bad = std::sync::Arc::new(bad);
            let own = bad.clone();
            Ok(Attack::storm(move |_, phase| {
                // Other patterns each time, because equal ones might be cached.
                own.change(&costly(salt.fetch_add(1, Ordering::Relaxed), tools, patterns));
                phase.pause(Duration::from_secs(60));
                Ok(1)
            })
            .with_server(entry, bad)
            .with_phases(4))
        }),
    ]
}

/// Attack: a server with `tools` costly tools joins in every phase and leaves at its end.
fn at_start(tools: usize, setting: &Setting) -> Result<Attack> {
    let patterns = setting.size(PATTERNS, 10);
    let salt = AtomicUsize::new(0);
    Ok(Attack::storm(move |target: &Target<'_>, phase: &Phase| {
        let bad = Upstream::hostile(&costly(salt.fetch_add(1, Ordering::Relaxed), tools, patterns))?;
        target.gateway.configure(&[bad.entry("bad")])?;
        phase.pause(Duration::from_secs(60));
        target.gateway.configure(&[])?;
        Ok(1)
    })
    .with_phases(4))
}

/// Tools with patterns like `^(\p{L}{2}|…)$`, about 17 KB each.
fn costly(salt: usize, tools: usize, patterns: usize) -> Offer {
    let tool = |tool: usize| {
        let property = |number: usize| {
            let pattern = format!("^(\\p{{L}}{{2}}|{salt}-{tool}-{number})$");
            (format!("property_{number}"), json!({"type": "string", "pattern": pattern}))
        };
        let properties: serde_json::Map<String, Value> = (0..patterns).map(property).collect();
        json!({"name": format!("t{tool}"), "inputSchema": {"type": "object", "properties": properties}})
    };
    Offer { tools: (0..tools).map(tool).collect(), ..Offer::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forty_tools_are_680_kilobytes() {
        let bytes = Value::Array(costly(1, 40, PATTERNS).tools).to_string().len();
        assert!((600_000..760_000).contains(&bytes), "{bytes}");
    }
}
