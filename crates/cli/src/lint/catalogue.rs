//! Lint of a whole catalogue file: its format, `tools` against `tool_definitions`, and its size.

use std::path::Path;

use toolcrib_contract::json::{Document, Limits, Node, Pointer};
use toolcrib_registry::budget::{Target, extension_bytes};
use toolcrib_registry::convert::json_text;
use toolcrib_registry::{Fault, Format, Level, Report, pretty, strict, sync};

use super::Args;
use crate::convert::{read, tell};
use crate::exit::{Exit, Failure};
use crate::{registry, written};

/// Reports findings and repairs the file with `--fix`. Returns true if the run fails.
pub(super) fn lint(path: &Path, args: &Args) -> Result<bool, Failure> {
    let bytes = read(path)?;
    let Ok(text) = json_text(&bytes) else { return Ok(false) };
    let Ok(document) = Document::parse(text.as_bytes(), &Limits::file()) else { return Ok(false) };
    let root = document.root();
    let Some(format @ (Format::Toolhive | Format::Upstream | Format::Server)) = Format::detect(root) else {
        return Ok(false);
    };
    let mut report = strict::check(format, root);
    for issue in sync::lint(format, root).issues() {
        report.push(issue.clone());
    }
    if let Some(target) = &args.target {
        budgets(format, root, &registry::target(target)?, &mut report);
    }
    tell(&path.display().to_string(), &report);
    let out_of_sync = |issue: &&toolcrib_registry::Issue| matches!(issue.fault, Fault::OutOfSync { .. });
    if !args.fix {
        return Ok(report.issues().iter().any(|issue| issue.level() == Level::Error || out_of_sync(&issue)));
    }
    let (repaired, found) = sync::repaired(format, root);
    if !found.is_empty() {
        let document = Document::parse(repaired.as_bytes(), &Limits::file())
            .map_err(|error| Failure::new(Exit::Internal, error))?;
        if !args.no_backup {
            written::back_up(path)?;
        }
        written::replace(path, &pretty(document.root()))?;
        for mismatch in &found {
            eprintln!(
                "fixed   {}#{}: {} added, {} removed",
                path.display(),
                mismatch.pointer.as_str(),
                mismatch.missing.len(),
                mismatch.extra.len()
            );
        }
    }
    Ok(report.first_error().is_some())
}

fn budgets(format: Format, root: Node<'_>, target: &Target, report: &mut Report) {
    let servers: Vec<(Pointer, Node<'_>)> = match format {
        Format::Server => vec![(Pointer::root(), root)],
        Format::Upstream => {
            let place = Pointer::root().join("data").join("servers");
            let list = root.get("data").and_then(|data| data.get("servers"));
            list.into_iter()
                .flat_map(Node::elements)
                .enumerate()
                .map(|(at, node)| (place.join(at.to_string()), node))
                .collect()
        }
        // ToolHive's own files have no extension; their entries get one in a conversion.
        Format::Toolhive | Format::Tools => Vec::new(),
    };
    for (place, server) in servers {
        let found = extension_bytes(server);
        if found > target.bytes_max {
            let fault = Fault::OverBudget { found, limit: target.bytes_max, target: target.name.clone() };
            report.note(place.join("_meta"), fault);
        }
    }
}
