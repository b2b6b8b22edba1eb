//! The breaking-change gate of publishing: a version may break callers only if it declares that, and may not have
//! schemas that the next version could not be compared with (R6.7, R7.3, R7.6).

use serde_json::json;
use toolcrib_change::{Level, Options, diff, unusable};
use toolcrib_contract::Definition;

use super::Response;
use super::publish::DETAILS_MAX;
use crate::version::is_major_step;

/// Refuses definitions with an unusable schema. No option allows them.
pub(super) fn refuse_unusable(tools: &[Definition]) -> Result<(), Box<Response>> {
    let found = unusable(tools);
    let Some(first) = found.first() else { return Ok(()) };
    let details: Vec<_> = found
        .iter()
        .take(DETAILS_MAX)
        .map(|one| json!({"tool": one.tool, "place": one.path, "rule": "schema.invalid", "message": one.to_string()}))
        .collect();
    let body = json!({"error": format!("a schema is unusable: {first}"), "details": details});
    Err(Box::new(Response::json(400, body.to_string())))
}

/// Refuses a breaking change that the new version does not declare. Runs proofs, so it must not run on an async thread.
pub(super) fn judge(
    old: (&str, &[Definition]),
    new: (&str, &[Definition]),
    allowed: bool,
) -> Result<(), Box<Response>> {
    let ((old_version, old_tools), (new_version, new_tools)) = (old, new);
    // Entries with names only can break callers only by removing names.
    let report = diff(old_tools, new_tools, &Options::default());
    if report.verdict() != Level::Breaking || allowed || is_major_step(old_version, new_version) == Some(true)
    {
        return Ok(());
    }
    let message = format!(
        "{new_version} breaks callers of {old_version} and does not say so: {}; publish a new major version, or add ?breaking=allow",
        report.headline()
    );
    let body = json!({"error": message, "report": report.to_json()});
    Err(Box::new(Response::json(409, body.to_string())))
}
