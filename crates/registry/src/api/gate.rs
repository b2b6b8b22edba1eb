//! The breaking-change gate: a version may break callers only if it says so, and may not hold schemas that nobody could
//! judge the next version by (R6.7, R7.3, R7.6).

use serde_json::json;
use toolcrib_change::{Level, Options, diff, unusable};
use toolcrib_contract::Definition;

use super::Response;
use super::publish::DETAILS_MAX;
use crate::version::is_major_step;

/// Refuses definitions with a schema that is none; nothing allows these.
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

/// Refuses a step that breaks while its version does not say so. Costs what the proofs cost: not for an async thread.
pub(super) fn judge(
    old: (&str, &[Definition]),
    new: (&str, &[Definition]),
    allowed: bool,
) -> Result<(), Box<Response>> {
    let ((old_version, old_tools), (new_version, new_tools)) = (old, new);
    // Names alone say nothing that could break but their going.
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
