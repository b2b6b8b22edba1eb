//! Which version of a server is its latest.

use super::shelves::Replaces;

/// One version, in the order they were put.
pub(super) struct Candidate {
    pub(super) id: i64,
    pub(super) version: String,
    pub(super) deleted: bool,
}

/// The newest version that is not deleted; the newest deleted one where all are.
pub(super) fn newest(candidates: &[Candidate], replaces: Replaces) -> Option<i64> {
    let mut latest: Option<&Candidate> = None;
    for row in candidates {
        let better = latest.is_none_or(|best| match (best.deleted, row.deleted) {
            (true, false) => true,
            (false, true) => false,
            _ => replaces(&row.version, &best.version),
        });
        if better {
            latest = Some(row);
        }
    }
    latest.map(|best| best.id)
}
