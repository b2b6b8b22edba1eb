//! Journal: what must be durable before the call leaves.
//!
//! There is no store yet, so nothing is recorded. The stage stands so that an intent can be written before a
//! destructive call and nowhere else.

use super::{Call, Cleared, Recorded};
use crate::refusal::Refusal;

impl<'a> Call<'a, Cleared<'a>> {
    pub(super) async fn record(self) -> Result<Call<'a, Recorded<'a>>, Refusal> {
        Ok(self.at(|Cleared(resolved)| Recorded(resolved)))
    }
}
