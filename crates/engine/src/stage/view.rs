//! View: which contract the call means, among those this caller sees.
//!
//! Refuses a name that is not in the view exactly like one that does not exist (-32602).

use toolcrib_protocol::{Code, RpcError};

use super::{Call, Known, Resolved};
use crate::refusal::Refusal;
use crate::tool::Arguments;

impl<'a> Call<'a, Known> {
    pub(super) fn resolve(self) -> Result<Call<'a, Resolved<'a>>, Refusal> {
        let params = self.request.params;
        let name = params.string("name")?;
        let arguments = match params.get("arguments") {
            None => Arguments::Sent(self.engine.no_arguments()),
            Some(node) if node.is_object() => Arguments::Sent(node),
            Some(_) => {
                return Err(RpcError::new(Code::InvalidParams, "params.arguments must be an object").into());
            }
        };
        let entry = self
            .engine
            .view_of(self.caller)
            .get(&name)
            .cloned()
            .ok_or_else(|| Refusal::UnknownTool(name.as_ref().into()))?;
        Ok(self.at(|Known| Resolved { entry, arguments }))
    }
}
