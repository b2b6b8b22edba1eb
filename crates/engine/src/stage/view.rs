//! View stage: finds the contract that the call names, among those in the caller's view.
//!
//! Refuses a name outside the view exactly like a name that does not exist (-32602). `call_tool` is replaced here by
//! the tool it names, among all that the caller can reach. Every later stage judges that inner tool; only
//! [`Resolved::inner`] tells that it was named by `call_tool`.

use std::sync::Arc;

use toolcrib_contract::json::Node;
use toolcrib_protocol::frame::text_of;
use toolcrib_protocol::{Code, RpcError};

use super::{Call, Known, Resolved};
use crate::discovery::Meta;
use crate::entry::Entry;
use crate::refusal::Refusal;
use crate::safety::property;
use crate::tool::Arguments;

impl<'a> Call<'a, Known> {
    #[inline(always)]
    pub(super) fn resolve(self) -> Result<Call<'a, Resolved<'a>>, Refusal> {
        let params = &self.request.params;
        let name = text_of("name", params.name)?;
        let arguments = match params.arguments {
            None => self.engine.no_arguments(),
            Some(node) if node.is_object() => node,
            Some(_) => {
                return Err(RpcError::new(Code::InvalidParams, "params.arguments must be an object").into());
            }
        };
        let entry = self.engine.seen(self.caller, &name).ok_or_else(|| unknown(&name))?;
        let resolved = if entry.meta() == Some(Meta::Call) {
            entry.contract().check_input(arguments).map_err(Refusal::BadArguments)?;
            self.resolve_inner(arguments)?
        } else {
            self.resolved(entry, arguments, false)
        };
        Ok(self.at(|Known| resolved))
    }

    /// Finds the tool that `call_tool` names; it cannot name itself.
    fn resolve_inner(&self, outer: Node<'a>) -> Result<Resolved<'a>, Refusal> {
        let name = outer.get("name").and_then(Node::as_str).unwrap_or_default();
        let arguments = outer.get("arguments").unwrap_or_else(|| self.engine.no_arguments());
        let entry =
            self.engine.reachable(self.caller, &name).filter(|entry| entry.meta() != Some(Meta::Call));
        let entry = entry.ok_or_else(|| unknown(&name))?;
        Ok(self.resolved(entry, arguments, true))
    }

    /// Removes the confirmation token from the arguments of a tool that may carry one, before anything else reads
    /// them.
    fn resolved(&self, entry: Arc<Entry>, arguments: Node<'a>, inner: bool) -> Resolved<'a> {
        let judged = entry.judged();
        let is_watched = self.engine.safety().is_some();
        let (arguments, token) = if is_watched && (!judged.effect.read_only || judged.takes_token()) {
            property::take(&entry, arguments)
        } else {
            (Arguments::Sent(arguments), None)
        };
        Resolved { entry, arguments, inner, token }
    }
}

fn unknown(name: &str) -> Refusal {
    Refusal::UnknownTool(name.into())
}
