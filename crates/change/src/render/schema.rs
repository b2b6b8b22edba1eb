//! JSON Schema of the report that `diff` and `check` print as JSON.

use serde_json::{Value, json};

/// JSON Schema of [`super::json`]. It is closed, so that a test finds any member that is not described here.
pub fn schema() -> Value {
    let count = json!({"type": "integer", "minimum": 0});
    let verdict = json!({"enum": ["compatible", "dangerous", "unknown", "breaking"]});
    let change = json!({
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The rule that found it."},
            "tool": {"type": "string", "description": "By its old name where it has one; SERVER/TOOL where several servers are compared."},
            "path": {"type": "string", "format": "json-pointer", "description": "JSON Pointer into the definition."},
            "direction": {"enum": ["input", "output", "definition"]},
            "verdict": {"$ref": "#/$defs/verdict"},
            "message": {"type": "string", "description": "One sentence on the consequence."},
            "witness": {"description": "A value that one side accepts and the other refuses: the call that used to work, or the answer that was never given before."},
            "notes": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{12}$", "description": "Stable over runs, for waivers."}
        },
        "required": ["id", "tool", "path", "direction", "verdict", "message", "fingerprint"],
        "additionalProperties": false
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The report of toolcrib diff and toolcrib check",
        "description": "What --format json prints. Members stay as they are; one that is added is added here.",
        "type": "object",
        "properties": {
            "verdict": {"$ref": "#/$defs/verdict", "description": "The worst of the changes."},
            "suggested_bump": {"enum": ["none", "patch", "minor", "major"]},
            "summary": {
                "type": "object",
                "properties": {"breaking": count, "dangerous": count, "compatible": count, "unknown": count},
                "required": ["breaking", "dangerous", "compatible", "unknown"],
                "additionalProperties": false
            },
            "changes": {"type": "array", "items": {"$ref": "#/$defs/change"}, "description": "The worst first."},
            "waived": {
                "type": "array",
                "description": "Findings somebody took responsibility for; there where waivers were given.",
                "items": {
                    "type": "object",
                    "properties": {"change": {"$ref": "#/$defs/change"}, "reason": {"type": "string"}},
                    "required": ["change", "reason"],
                    "additionalProperties": false
                }
            },
            "stale_waivers": {
                "type": "array",
                "description": "Waivers that are expired or apply to nothing; there where waivers were given.",
                "items": {"type": "string"}
            }
        },
        "required": ["verdict", "suggested_bump", "summary", "changes"],
        "additionalProperties": false,
        "$defs": {"verdict": verdict, "change": change}
    })
}
