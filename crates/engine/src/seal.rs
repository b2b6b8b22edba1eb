//! [`Sealer`]: encrypts state that travels through the client and comes back unchanged or is refused.
//!
//! Guarantees: sealed text is encrypted and authenticated (XChaCha20-Poly1305, random nonce) and bound to its
//! purpose; an altered bit, another binding or another key does not open it. Sealed text can be replayed: a caller
//! that needs single use must keep a record of it.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};

const NONCE_BYTES: usize = 24;
const KEY_BYTES: usize = 32;

/// The system's random source failed; nothing can be sealed safely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system's random source failed")]
pub struct NoRandomness;

/// Seals with its first key, opens with any.
#[derive(Clone)]
pub struct Sealer {
    ciphers: Vec<XChaCha20Poly1305>,
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").field("keys", &self.ciphers.len()).finish_non_exhaustive()
    }
}

impl Sealer {
    /// Creates a sealer with a random key that is never stored: a restart invalidates what it sealed.
    pub fn random() -> Result<Self, NoRandomness> {
        Ok(Self::with_keys(&[random_bytes::<KEY_BYTES>()?]))
    }

    /// Creates a sealer with keys shared between replicas, the current key first.
    #[must_use]
    pub fn with_keys(keys: &[[u8; KEY_BYTES]]) -> Self {
        Self { ciphers: keys.iter().map(|key| XChaCha20Poly1305::new(key.into())).collect() }
    }

    /// Seals `plain` for exactly this `binding`.
    pub fn seal(&self, binding: &[&str], plain: &[u8]) -> Result<String, NoRandomness> {
        let nonce = random_bytes::<NONCE_BYTES>()?;
        let aad = associated(binding);
        let cipher = self.ciphers.first().ok_or(NoRandomness)?;
        let sealed = cipher
            .encrypt(XNonce::from_slice(&nonce), Payload { msg: plain, aad: &aad })
            .map_err(|_| NoRandomness)?;
        let mut bytes = nonce.to_vec();
        bytes.extend_from_slice(&sealed);
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Returns the plain bytes if `sealed` was sealed for this `binding` and is unaltered.
    #[must_use]
    pub fn open(&self, binding: &[&str], sealed: &str) -> Option<Vec<u8>> {
        let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, body) = bytes.split_at_checked(NONCE_BYTES)?;
        let aad = associated(binding);
        self.ciphers.iter().find_map(|cipher| {
            cipher.decrypt(XNonce::from_slice(nonce), Payload { msg: body, aad: &aad }).ok()
        })
    }
}

/// Joins the parts with their lengths, so that different bindings have different bytes.
fn associated(binding: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in binding {
        out.extend_from_slice(&(part.len() as u64).to_be_bytes());
        out.extend_from_slice(part.as_bytes());
    }
    out
}

/// Returns 32 random bytes, for a key.
pub fn fresh() -> Result<[u8; 32], NoRandomness> {
    random_bytes()
}

pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0u8; N];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_text_opens_only_untouched_and_only_for_its_binding() {
        let sealer = Sealer::random().unwrap();
        let sealed = sealer.seal(&["a", "bc"], b"secret").unwrap();
        assert_eq!(sealer.open(&["a", "bc"], &sealed).as_deref(), Some(&b"secret"[..]));
        assert_eq!(sealer.open(&["ab", "c"], &sealed), None);
        assert_eq!(sealer.open(&["a"], &sealed), None);
        assert_eq!(Sealer::random().unwrap().open(&["a", "bc"], &sealed), None);
        assert_eq!(sealer.open(&["a", "bc"], ""), None);
        assert_eq!(sealer.open(&["a", "bc"], "no base64!"), None);
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let sealer = Sealer::random().unwrap();
        let sealed = sealer.seal(&["x"], b"0123456789").unwrap();
        let bytes = URL_SAFE_NO_PAD.decode(&sealed).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut forged = bytes.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(sealer.open(&["x"], &URL_SAFE_NO_PAD.encode(forged)), None, "bit {bit}");
        }
    }

    #[test]
    fn an_old_key_still_opens_after_rotation() {
        let (old, new) = ([1u8; 32], [2u8; 32]);
        let sealed = Sealer::with_keys(&[old]).seal(&["x"], b"s").unwrap();
        assert!(Sealer::with_keys(&[new, old]).open(&["x"], &sealed).is_some());
        assert!(Sealer::with_keys(&[new]).open(&["x"], &sealed).is_none());
    }
}
