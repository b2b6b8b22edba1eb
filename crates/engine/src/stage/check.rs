//! Check stage: arguments against the input schema, and `Mcp-Param-*` headers against the arguments they repeat.
//!
//! Guarantees: arguments that pass keep the input schema, unless the operator set validation to `warn` or `off`. They
//! are checked in place, in the text that the client sent. A check that exceeds its budget on the serving thread is
//! repeated on the long-work thread.

use std::sync::Arc;

use toolcrib_contract::Violations;
use toolcrib_contract::json::{Document, Limits, Node};

use super::{Briefly, Call, Checked, Resolved};
use crate::engine::Fault;
use crate::entry::Entry;
use crate::long_work::{self, LongWorkError};
use crate::refusal::Refusal;
use crate::validation::Strictness;

impl<'a> Call<'a, Resolved<'a>> {
    #[inline(always)]
    pub(super) fn check(self) -> Result<Briefly<Call<'a, Checked<'a>>, Self>, Refusal> {
        let Resolved { entry, arguments, inner, .. } = &self.stage;
        // Headers repeat the arguments of the tool that the request names, which is `call_tool` and not the inner
        // tool.
        if let (Some(headers), false) = (self.caller.headers, *inner || entry.param_headers().is_empty()) {
            entry.param_headers().check(headers, Some(arguments.node()))?;
        }
        if entry.validation().input != Strictness::Off
            && let Err(violations) = entry.contract().check_input_briefly(arguments.node())
        {
            if violations.is_unfinished() {
                return Ok(Briefly::Unfinished(self));
            }
            self.refuse_arguments(violations)?;
        }
        Ok(Briefly::Done(self.at(Checked)))
    }

    /// Checks the arguments on the long-work thread, with the full budget of a check.
    pub(super) async fn check_at_length(self) -> Result<Call<'a, Checked<'a>>, Refusal> {
        let Resolved { entry, arguments, .. } = &self.stage;
        let checked = at_length(entry.clone(), arguments.node()).await.map_err(Refusal::LongWork)?;
        if let Err(violations) = checked {
            self.refuse_arguments(violations)?;
        }
        Ok(self.at(Checked))
    }

    fn refuse_arguments(&self, violations: Violations) -> Result<(), Refusal> {
        let entry = &self.stage.entry;
        if entry.validation().input == Strictness::Warn {
            self.engine.report(&Fault::InputInvalid { tool: entry.name(), violations: &violations });
            return Ok(());
        }
        Err(Refusal::BadArguments(violations))
    }
}

/// Checks a tool's arguments here if that fits the short budget, otherwise on the long-work thread.
pub(crate) async fn check_input(
    entry: &Arc<Entry>,
    arguments: Node<'_>,
) -> Result<Result<(), Violations>, LongWorkError> {
    match entry.contract().check_input_briefly(arguments) {
        Err(violations) if violations.is_unfinished() => at_length(entry.clone(), arguments).await,
        checked => Ok(checked),
    }
}

async fn at_length(entry: Arc<Entry>, arguments: Node<'_>) -> Result<Result<(), Violations>, LongWorkError> {
    let text: Box<str> = arguments.raw().into();
    let checked = long_work::run(move || {
        let limits = Limits::message().with_bytes_max(usize::MAX);
        let document = Document::parse(text.as_bytes(), &limits).ok()?;
        Some(entry.contract().check_input(document.root()))
    });
    // The same text was parsed before, so this cannot fail on bad JSON.
    checked.await?.ok_or(LongWorkError::Failed)
}
