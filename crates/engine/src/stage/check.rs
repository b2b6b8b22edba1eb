//! Check: the arguments against the contract, and the headers that repeat some of them.
//!
//! Guarantees: what goes on keeps the input schema. The arguments are checked in place, in the text the client sent.

use super::{Call, Checked, Resolved};
use crate::refusal::Refusal;

impl<'a> Call<'a, Resolved<'a>> {
    pub(super) fn check(self) -> Result<Call<'a, Checked<'a>>, Refusal> {
        let Resolved { entry, arguments, inner, .. } = &self.stage;
        // Headers repeat the arguments of the tool that the request names, which is not the inner one.
        if let (Some(headers), false) = (self.caller.headers, *inner || entry.param_headers().is_empty()) {
            entry.param_headers().check(headers, Some(arguments.node()))?;
        }
        entry.contract().check_input(arguments.node()).map_err(Refusal::BadArguments)?;
        Ok(self.at(Checked))
    }
}
