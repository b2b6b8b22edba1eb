//! Audit: a hash chain with one record per decision (R4.8).
//!
//! Guarantees: an edited, deleted, inserted or moved record breaks the chain at its position. The last record and
//! every thousandth are signed (Ed25519), with a separate domain per purpose, so the log cannot be rewritten without
//! the key and a checkpoint cannot pass as the end. The newest end is also kept outside the database (the anchor),
//! which reveals a truncated log, an emptied table and an older copy of the database. Not detected: an attacker with
//! the key who replaces both the database and the anchor. Keep an export elsewhere.

use std::fmt;

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::limits::AUDIT_CHECKPOINT_RECORDS;

/// Kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A call was allowed and has ended; it needed no intent.
    Call,
    /// A call is about to run.
    Intent,
    /// A call with an intent has ended.
    Outcome,
    /// A call was refused.
    Refused,
    /// A confirmation was asked for.
    Asked,
    /// A token was issued.
    Token,
    /// A token was revoked.
    Revoked,
    /// A person decided about an approval.
    Decided,
    Stop,
    Unlock,
    /// A credential was created or revoked.
    Credential,
    /// The log was restarted; its former records are in a file.
    Restarted,
    /// The oldest records were removed from the database.
    Pruned,
    /// State of a call or token whose earlier records were removed.
    Carried,
}

/// Audit record. Members that do not apply are left out.
#[derive(Debug, Clone, Serialize)]
pub struct Event {
    pub at_ms: u64,
    pub kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Token, approval or answer that cleared the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_us: Option<u64>,
    /// Decider, if it was not the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Of a pruning: `true` if the remaining records tell the state of every call and token that is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete: Option<bool>,
}

impl Event {
    #[must_use]
    pub fn new(at_ms: u64, kind: Kind) -> Self {
        Self {
            at_ms,
            kind,
            caller: None,
            session: None,
            tool: None,
            contract: None,
            arguments: None,
            decision: None,
            rule: None,
            ticket: None,
            intent: None,
            outcome: None,
            latency_us: None,
            by: None,
            note: None,
            complete: None,
        }
    }

    /// Returns the text that is hashed and stored.
    #[must_use]
    pub fn body(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Hash of a record and all records before it.
pub type Link = [u8; 32];

/// Returns the link before the first record of a log that this key signs.
#[must_use]
pub fn genesis(key: &PublicKey) -> Link {
    let mut hasher = Sha256::new();
    hasher.update(b"toolcrib audit 1");
    hasher.update(key.0.as_bytes());
    hasher.finalize().into()
}

/// Returns the link of a record.
#[must_use]
pub fn link(previous: &Link, seq: u64, body: &str) -> Link {
    let mut hasher = Sha256::new();
    hasher.update(previous);
    hasher.update(seq.to_be_bytes());
    hasher.update(body.as_bytes());
    hasher.finalize().into()
}

/// Returns true if the record's link is signed permanently.
#[must_use]
pub const fn is_checkpoint(seq: u64) -> bool {
    seq.is_multiple_of(AUDIT_CHECKPOINT_RECORDS)
}

/// Purpose of a signature. A signature for one purpose does not verify for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Signed record that stays in the log.
    Checkpoint,
    /// Last record.
    Head,
    /// Last record, as kept outside the database.
    Anchor,
    /// Link before the first record that is kept.
    Base,
    /// Last record of an archive.
    Segment,
}

impl Purpose {
    const fn domain(self) -> &'static [u8] {
        match self {
            Self::Checkpoint => b"toolcrib audit checkpoint 2",
            Self::Head => b"toolcrib audit head 2",
            Self::Anchor => b"toolcrib audit anchor 2",
            Self::Base => b"toolcrib audit base 2",
            Self::Segment => b"toolcrib audit segment 2",
        }
    }
}

/// Signing key of the audit.
#[derive(Clone)]
pub struct Signer(SigningKey);

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Signer").field(&self.public().to_string()).finish()
    }
}

impl Signer {
    #[must_use]
    pub fn new(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    #[must_use]
    pub fn sign(&self, purpose: Purpose, seq: u64, link: &Link) -> Checkpoint {
        let signature = self.0.sign(&statement(purpose, seq, link)).to_bytes();
        Checkpoint { seq, link: *link, signature }
    }
}

/// Public key that verifies signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Parses 64 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(Self(VerifyingKey::from_bytes(&from_hex(text.trim())?).ok()?))
    }

    #[must_use]
    pub fn verifies(&self, purpose: Purpose, signed: &Checkpoint) -> bool {
        let statement = statement(purpose, signed.seq, &signed.link);
        self.0.verify_strict(&statement, &Signature::from_bytes(&signed.signature)).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(self.0.as_bytes()))
    }
}

fn statement(purpose: Purpose, seq: u64, link: &Link) -> Vec<u8> {
    let mut out = purpose.domain().to_vec();
    out.extend_from_slice(&seq.to_be_bytes());
    out.extend_from_slice(link);
    out
}

#[must_use]
pub fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or('0');
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

/// Formats a digest as its `Display` does, but faster.
pub(crate) fn digest_text(digest: &toolcrib_contract::Digest) -> String {
    format!("sha256:{}", to_hex(digest.as_bytes()))
}

#[must_use]
pub fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut out = [0; N];
    for (at, byte) in out.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(out)
}

/// Stored record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub seq: u64,
    pub body: String,
    pub link: Link,
}

/// Signed link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    pub seq: u64,
    pub link: Link,
    pub signature: [u8; 64],
}

/// Difference between a log and what was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("record {expected} is missing; {found} follows instead")]
    Missing { expected: u64, found: u64 },
    #[error("record {seq} was changed, or one before it was")]
    Changed { seq: u64 },
    #[error("the signed checkpoint at record {seq} does not fit the records")]
    Checkpoint { seq: u64 },
    #[error("the checkpoint that record {seq} should have is missing")]
    NoCheckpoint { seq: u64 },
    #[error("the log ends at record {last}, but {signed} were signed")]
    CutOff { last: u64, signed: u64 },
    #[error("the end of the log is not signed by this key")]
    Head,
    #[error("the log was signed by another key than this one")]
    OtherKey,
    #[error("what stands before record {first} is not signed by this key")]
    Base { first: u64 },
    #[error("the file audit.anchor is missing, so that nobody can tell whether the end was cut off")]
    NoAnchor,
    #[error("the file audit.anchor was changed: it is not signed by this key")]
    Anchor,
    #[error("the file audit.anchor names another record {seq} than the log has")]
    OtherThanAnchor { seq: u64 },
    #[error("records {first} to {last} are in none of the files")]
    Gap { first: u64, last: u64 },
    #[error("the file that ends at record {last} is not the one that the next record follows")]
    OtherArchive { last: u64 },
    #[error("two files hold record {seq}")]
    Overlap { seq: u64 },
    #[error("the {what} {name} is {kept} in its table, but {told} in the log")]
    State { what: &'static str, name: String, kept: String, told: String },
}

/// Verifier that walks a log from its first record to its last.
#[derive(Debug, Clone)]
pub struct Walk {
    key: PublicKey,
    previous: Link,
    seq: u64,
    anchor: Option<Checkpoint>,
}

impl Walk {
    #[must_use]
    pub fn new(key: PublicKey) -> Self {
        Self { previous: genesis(&key), key, seq: 0, anchor: None }
    }

    /// Begins after `base`: the records before it are kept elsewhere.
    pub fn after(mut self, base: &Checkpoint) -> Result<Self, Broken> {
        if !self.key.verifies(Purpose::Base, base) {
            return Err(Broken::Base { first: base.seq + 1 });
        }
        (self.previous, self.seq) = (base.link, base.seq);
        Ok(self)
    }

    /// Requires the log to reach the anchor's record, with its link.
    pub fn anchored(mut self, anchor: Checkpoint) -> Result<Self, Broken> {
        if !self.key.verifies(Purpose::Anchor, &anchor) {
            return Err(Broken::Anchor);
        }
        self.anchor = Some(anchor);
        Ok(self)
    }

    /// Checks the next record, with its checkpoint if it has one.
    pub fn step(&mut self, record: &Kept, checkpoint: Option<&Checkpoint>) -> Result<(), Broken> {
        let expected = self.seq + 1;
        if record.seq != expected {
            return Err(Broken::Missing { expected, found: record.seq });
        }
        if link(&self.previous, record.seq, &record.body) != record.link {
            return Err(Broken::Changed { seq: record.seq });
        }
        match checkpoint {
            Some(checkpoint) if !self.fits(record, checkpoint) => {
                return Err(Broken::Checkpoint { seq: record.seq });
            }
            None if is_checkpoint(record.seq) => return Err(Broken::NoCheckpoint { seq: record.seq }),
            _ => {}
        }
        let is_other = |anchor: &Checkpoint| anchor.seq == record.seq && anchor.link != record.link;
        if self.anchor.as_ref().is_some_and(is_other) {
            return Err(Broken::OtherThanAnchor { seq: record.seq });
        }
        self.previous = record.link;
        self.seq = record.seq;
        Ok(())
    }

    fn fits(&self, record: &Kept, checkpoint: &Checkpoint) -> bool {
        checkpoint.seq == record.seq
            && checkpoint.link == record.link
            && self.key.verifies(Purpose::Checkpoint, checkpoint)
    }

    /// Checks the signed end of an archive; returns the number of its last record.
    pub fn seal(self, end: &Checkpoint) -> Result<u64, Broken> {
        match end {
            end if !self.key.verifies(Purpose::Segment, end) => Err(Broken::Head),
            end if end.seq != self.seq => Err(Broken::CutOff { last: self.seq, signed: end.seq }),
            end if end.link != self.previous => Err(Broken::Changed { seq: end.seq }),
            _ => Ok(self.seq),
        }
    }

    /// Checks the signed last record; `head` is `None` only for an empty log. Returns the number of the last record.
    pub fn end(self, head: Option<&Checkpoint>) -> Result<u64, Broken> {
        if let Some(anchor) = self.anchor.filter(|anchor| anchor.seq > self.seq) {
            return Err(Broken::CutOff { last: self.seq, signed: anchor.seq });
        }
        match head {
            None if self.seq == 0 => Ok(0),
            None => Err(Broken::Head),
            Some(head) if !self.key.verifies(Purpose::Head, head) => Err(Broken::Head),
            Some(head) if head.seq != self.seq => Err(Broken::CutOff { last: self.seq, signed: head.seq }),
            Some(head) if head.link != self.previous => Err(Broken::Changed { seq: head.seq }),
            Some(_) => Ok(self.seq),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Log {
        key: PublicKey,
        records: Vec<Kept>,
        checkpoints: Vec<Checkpoint>,
        head: Checkpoint,
    }

    fn log(count: u64) -> Log {
        let signer = Signer::new(&[3; 32]);
        let mut previous = genesis(&signer.public());
        let (mut records, mut checkpoints) = (Vec::new(), Vec::new());
        let sign = |purpose, seq, link| signer.sign(purpose, seq, &link);
        for seq in 1..=count {
            let body = Event::new(seq * 7, Kind::Call).body();
            previous = link(&previous, seq, &body);
            records.push(Kept { seq, body, link: previous });
            if is_checkpoint(seq) {
                checkpoints.push(sign(Purpose::Checkpoint, seq, previous));
            }
        }
        Log { key: signer.public(), records, checkpoints, head: sign(Purpose::Head, count, previous) }
    }

    fn verify(log: &Log) -> Result<u64, Broken> {
        let mut walk = Walk::new(log.key);
        for record in &log.records {
            walk.step(record, log.checkpoints.iter().find(|checkpoint| checkpoint.seq == record.seq))?;
        }
        walk.end(Some(&log.head))
    }

    /// R4.8: `audit verify` finds every changed, deleted, duplicated or moved record, and a truncated end.
    #[test]
    fn any_edit_deletion_insertion_or_swap_is_found() {
        let good = log(60);
        assert_eq!(verify(&good), Ok(60));
        for at in 0..60 {
            let broken = |change: &dyn Fn(&mut Vec<Kept>)| {
                let mut log = log(60);
                change(&mut log.records);
                verify(&log)
            };
            assert!(broken(&|records| records[at].body.push(' ')).is_err(), "edit {at}");
            assert!(broken(&|records| records[at].link[5] ^= 1).is_err(), "link {at}");
            assert!(broken(&|records| records[at].seq ^= 1).is_err(), "seq {at}");
            assert!(broken(&|records| drop(records.remove(at))).is_err(), "deletion {at}");
            assert!(broken(&|records| records.insert(at, records[at].clone())).is_err(), "insertion {at}");
            assert!(broken(&|records| records.swap(at, (at + 1) % 60)).is_err(), "swap {at}");
            assert!(broken(&|records| records.truncate(at)).is_err(), "cut {at}");
        }
    }

    /// R4.8, `AUDIT_CHECKPOINT_RECORDS`: every thousandth record is signed permanently, and a missing signature is
    /// found.
    #[test]
    fn every_audit_checkpoint_records_th_record_has_a_signed_checkpoint() {
        let signed =
            |count: u64| log(count).checkpoints.iter().map(|checkpoint| checkpoint.seq).collect::<Vec<_>>();
        assert!(signed(AUDIT_CHECKPOINT_RECORDS - 1).is_empty());
        assert_eq!(signed(2 * AUDIT_CHECKPOINT_RECORDS + 1), [1_000, 2_000]);
        let mut unsigned = log(AUDIT_CHECKPOINT_RECORDS);
        unsigned.checkpoints.clear();
        assert_eq!(verify(&unsigned), Err(Broken::NoCheckpoint { seq: AUDIT_CHECKPOINT_RECORDS }));
    }

    /// R4.8: a signature for one purpose does not verify for another.
    #[test]
    fn a_checkpoint_cannot_stand_for_the_end() {
        let mut cut = log(2_000);
        cut.records.truncate(1_000);
        cut.head = cut.checkpoints.swap_remove(0);
        cut.checkpoints = vec![cut.head.clone()];
        assert_eq!(verify(&cut), Err(Broken::Head));
    }

    /// R4.8: a truncated log, an emptied log and an older copy are found with the anchor.
    #[test]
    fn a_log_that_has_not_reached_its_anchor_is_found() {
        let signer = Signer::new(&[3; 32]);
        let whole = log(60);
        let anchor = |seq: u64, link: &Link| signer.sign(Purpose::Anchor, seq, link);
        let walked = |log: &Log, anchor: Checkpoint| {
            let mut walk = Walk::new(log.key).anchored(anchor)?;
            for record in &log.records {
                walk.step(record, None)?;
            }
            walk.end(Some(&log.head).filter(|head| head.seq > 0))
        };
        let last = anchor(60, &whole.head.link);
        assert_eq!(walked(&whole, last.clone()), Ok(60));
        assert_eq!(walked(&whole, anchor(30, &whole.records[29].link)), Ok(60), "the log may be further");
        for older in [0, 1, 59] {
            let broken = walked(&log(older), last.clone());
            assert_eq!(broken, Err(Broken::CutOff { last: older, signed: 60 }));
        }
        assert_eq!(walked(&whole, anchor(30, &[7; 32])), Err(Broken::OtherThanAnchor { seq: 30 }));
        assert_eq!(walked(&whole, whole.head.clone()), Err(Broken::Anchor), "a head is no anchor");
    }

    /// R4.8: a log whose beginning is archived verifies from its signed base on.
    #[test]
    fn a_log_begins_after_its_signed_base() {
        let signer = Signer::new(&[3; 32]);
        let whole = log(60);
        let walked = |base: &Checkpoint| {
            let mut walk = Walk::new(whole.key).after(base)?;
            for record in &whole.records[20..] {
                walk.step(record, None)?;
            }
            walk.end(Some(&whole.head))
        };
        assert_eq!(walked(&signer.sign(Purpose::Base, 20, &whole.records[19].link)), Ok(60));
        let forged = signer.sign(Purpose::Checkpoint, 20, &whole.records[19].link);
        assert_eq!(walked(&forged), Err(Broken::Base { first: 21 }));
        let other = signer.sign(Purpose::Base, 20, &whole.records[18].link);
        assert_eq!(walked(&other), Err(Broken::Changed { seq: 21 }));
    }

    /// R4.8: a log rewritten without the key is found by its signatures.
    #[test]
    fn a_log_that_another_key_signed_is_found() {
        let mut forged = log(2_000);
        assert_eq!(verify(&forged), Ok(2_000));
        let other = Signer::new(&[4; 32]);
        forged.head = other.sign(Purpose::Head, forged.head.seq, &forged.head.link);
        assert_eq!(verify(&forged), Err(Broken::Head));
        let mut forged = log(2_000);
        forged.checkpoints.remove(0);
        assert_eq!(verify(&forged), Err(Broken::NoCheckpoint { seq: 1_000 }));
        forged.checkpoints.clear();
        forged.checkpoints.push(Checkpoint { seq: 1_000, link: [0; 32], signature: [0; 64] });
        assert_eq!(verify(&forged), Err(Broken::Checkpoint { seq: 1_000 }));
    }
}
