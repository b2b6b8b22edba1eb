//! Fingerprint: the identity of a change across runs, 12 hex digits over rule, tool, direction, pointer and the
//! digests of the old and new part. It never depends on rendered text.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_contract::json::{Limits, OwnedDocument};
use toolcrib_contract::{Digest, canonical};

/// Identity of a change: twelve hex digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fingerprint(String);

impl Fingerprint {
    pub(crate) fn of(
        rule: &str,
        tool: &str,
        direction: &str,
        path: &str,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Fingerprint {
        let parts = [
            rule.to_owned(),
            tool.to_owned(),
            direction.to_owned(),
            path.to_owned(),
            old.map_or_else(String::new, |value| digest(value).to_string()),
            new.map_or_else(String::new, |value| digest(value).to_string()),
        ];
        let text = digest(&Value::from(parts.to_vec())).to_string();
        Fingerprint(text.chars().skip("sha256:".len()).take(12).collect())
    }

    /// The twelve hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Digest of the canonical form, or of the plain text if a number has no canonical form.
pub(crate) fn digest(value: &Value) -> Digest {
    let text = value.to_string();
    let canonical = OwnedDocument::parse(text.as_str(), &Limits::definition())
        .ok()
        .and_then(|document| canonical(document.root()).ok());
    Digest::of_bytes(canonical.unwrap_or(text).as_bytes())
}
