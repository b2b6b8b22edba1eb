//! Check: the arguments against the contract, and the headers that repeat some of them.
//!
//! Guarantees: what goes on keeps the input schema, unless the operator wants it passed on. The arguments are checked in place, in the text the client sent.

use super::{Call, Checked, Resolved};
use crate::engine::Fault;
use crate::refusal::Refusal;
use crate::validation::Strictness;

impl<'a> Call<'a, Resolved<'a>> {
    #[inline(always)]
    pub(super) fn check(self) -> Result<Call<'a, Checked<'a>>, Refusal> {
        let Resolved { entry, arguments, inner, .. } = &self.stage;
        // Headers repeat the arguments of the tool that the request names, which is not the inner one.
        if let (Some(headers), false) = (self.caller.headers, *inner || entry.param_headers().is_empty()) {
            entry.param_headers().check(headers, Some(arguments.node()))?;
        }
        match (entry.validation().input, entry.contract()) {
            (Strictness::Off, _) => {}
            (Strictness::Enforce, contract) => {
                contract.check_input(arguments.node()).map_err(Refusal::BadArguments)?;
            }
            (Strictness::Warn, contract) => {
                if let Err(violations) = contract.check_input(arguments.node()) {
                    self.engine.report(&Fault::InputInvalid { tool: entry.name(), violations: &violations });
                }
            }
        }
        Ok(self.at(Checked))
    }
}
