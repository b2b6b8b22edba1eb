//! SHA-256 digests of canonical JSON (R1.9).

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::canonical::{CanonicalError, canonical, canonical_members, canonical_verbatim};
use crate::definition::Definition;
use crate::json::{Node, ObjectWriter, OwnedDocument};

/// SHA-256 of a canonical form, displayed as `sha256:` and 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Digest of bytes that are already canonical.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Digest of a JSON value.
    ///
    /// # Errors
    /// The value contains a number that has no canonical form.
    pub fn of(node: Node<'_>) -> Result<Self, CanonicalError> {
        Ok(Self::of_bytes(canonical(node)?.as_bytes()))
    }

    /// Digest of a JSON value with every number as it is written: 1 and 1.0 differ.
    #[must_use]
    pub fn of_verbatim(node: Node<'_>) -> Self {
        Self::of_bytes(canonical_verbatim(node).as_bytes())
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Error: the text is not a `sha256:` digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a digest is `sha256:` and 64 lower-case hex digits")]
pub struct DigestError;

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let hex = text.strip_prefix("sha256:").ok_or(DigestError)?;
        if hex.len() != 64 || !hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(DigestError);
        }
        let mut bytes = [0; 32];
        for (i, byte) in bytes.iter_mut().enumerate() {
            let pair = hex.get(2 * i..2 * i + 2).ok_or(DigestError)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| DigestError)?;
        }
        Ok(Self(bytes))
    }
}

/// Three digests of a definition, which distinguish a change of prose from a change of contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digests {
    /// Digest of the whole definition.
    pub definition: Digest,
    /// Digest of `description`, `title` and `annotations.title`.
    pub prose: Digest,
    /// Digest of everything except the prose.
    pub contract: Digest,
}

impl Digests {
    /// Digests `definition`.
    ///
    /// # Errors
    /// The definition contains a number that has no canonical form.
    pub fn of(definition: &Definition) -> Result<Self, CanonicalError> {
        let root = definition.root();
        Ok(Self {
            definition: Digest::of(root)?,
            prose: Digest::of_bytes(prose(definition)?.as_bytes()),
            contract: Digest::of_bytes(contract(definition)?.as_bytes()),
        })
    }
}

/// Canonical object of the prose members. An absent member stays absent, so it differs from `""`.
fn prose(definition: &Definition) -> Result<String, CanonicalError> {
    let mut out = ObjectWriter::new();
    if let Some(title) = definition.get("annotations").and_then(|a| a.get("title")) {
        out.raw("annotations.title", &canonical(title)?);
    }
    for key in ["description", "title"] {
        if let Some(text) = definition.get(key) {
            out.raw(key, &canonical(text)?);
        }
    }
    Ok(out.finish())
}

/// Canonical form of the definition without its prose.
fn contract(definition: &Definition) -> Result<String, CanonicalError> {
    let is_prose = |key: &str| matches!(key, "description" | "title");
    let root = definition.root();
    let Some(annotations) = root.get("annotations").filter(|a| a.get("title").is_some()) else {
        return canonical_members(root, |key| !is_prose(key));
    };
    let stripped = canonical_members(annotations, |key| key != "title")?;
    let text = definition.with_member("annotations", &stripped);
    let Ok(document) = OwnedDocument::parse(text, &crate::json::Limits::definition()) else {
        return canonical_members(root, |key| !is_prose(key));
    };
    canonical_members(document.root(), |key| !is_prose(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(text: &str) -> Digests {
        Digests::of(&Definition::parse(text).unwrap()).unwrap()
    }

    /// R1.9: a known digest; a digest in a lock must mean the same in every version.
    #[test]
    fn digest_of_a_known_definition_never_changes() {
        let digest = digests(r#"{"name":"x"}"#).definition;
        assert_eq!(
            digest.to_string(),
            "sha256:0229d37e33daae149bf40543a5ce1db4459d10f830d5139279aa2bfd5f6485a1"
        );
        assert_eq!(digest, Digest::of_bytes(br#"{"name":"x"}"#));
        assert_eq!(digest.to_string().parse(), Ok(digest));
    }

    /// R1.9: the digest covers the whole definition, including vendor fields.
    #[test]
    fn every_member_counts() {
        let base = digests(r#"{"name":"x","inputSchema":{"type":"object"}}"#);
        for other in [
            r#"{"name":"y","inputSchema":{"type":"object"}}"#,
            r#"{"name":"x","inputSchema":{"type":"object"},"x-vendor":null}"#,
            r#"{"name":"x","inputSchema":{"type":"object","maxProperties":9007199254740993}}"#,
            r#"{"name":"x","inputSchema":{"type":"object","maxProperties":9007199254740992}}"#,
            r#"{"name":"x","inputSchema":{"type":"object"},"annotations":{}}"#,
        ] {
            assert_ne!(digests(other).definition, base.definition, "{other}");
            assert_ne!(digests(other).contract, base.contract, "{other}");
            assert_eq!(digests(other).prose, base.prose, "{other}");
        }
    }

    /// R1.9: a change of prose changes the prose digest and not the contract digest.
    #[test]
    fn prose_has_its_own_digest() {
        let base = digests(r#"{"name":"x","annotations":{"readOnlyHint":true}}"#);
        for other in [
            r#"{"name":"x","annotations":{"readOnlyHint":true},"description":""}"#,
            r#"{"name":"x","title":"X","annotations":{"readOnlyHint":true}}"#,
            r#"{"name":"x","annotations":{"title":"X","readOnlyHint":true}}"#,
        ] {
            assert_ne!(digests(other).definition, base.definition);
            assert_ne!(digests(other).prose, base.prose);
            assert_eq!(digests(other).contract, base.contract, "{other}");
        }
    }

    #[test]
    fn other_spellings_of_a_digest_are_refused() {
        let good = Digest::of_bytes(b"").to_string();
        for bad in [
            "",
            "sha256:",
            &good.to_uppercase(),
            &good[7..],
            &format!("{good}0"),
            &good.replace("sha256", "sha1"),
        ] {
            assert_eq!(bad.parse::<Digest>(), Err(DigestError));
        }
    }
}
