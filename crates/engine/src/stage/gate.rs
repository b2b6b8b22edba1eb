//! Gate: whether the call may run, and whether somebody has to confirm it first.
//!
//! Nothing is gated yet: no policy is configured, so every checked call is cleared. The stage stands so that the
//! policy, the emergency stop and the ways to ask have one place that no call can pass by.

use super::{Call, Checked, Cleared};
use crate::refusal::Refusal;

impl<'a> Call<'a, Checked<'a>> {
    pub(super) async fn clear(self) -> Result<Call<'a, Cleared<'a>>, Refusal> {
        Ok(self.at(|Checked(resolved)| Cleared(resolved)))
    }
}
