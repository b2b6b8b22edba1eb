//! Election of the latest version of a server.

use super::shelves::Replaces;

/// One version. Candidates are listed in the order in which they were stored.
pub(super) struct Candidate {
    pub(super) id: i64,
    pub(super) version: String,
    pub(super) deleted: bool,
}

/// Returns the id of the newest version that is not deleted, or the newest deleted one if all are.
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
