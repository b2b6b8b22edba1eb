//! Reply stage: writes the answer in the form of the client's revision.

use toolcrib_contract::json::{Document, Limits};
use toolcrib_protocol::convert::result;
use toolcrib_protocol::{Era, Revision, write};

use super::{Call, Outcome, Verified};
use crate::answer::{Answer, ToolResult};
use crate::engine::Engine;
use crate::limits::ANSWER_BYTES_MAX;
use crate::reply::Reply;

impl Call<'_, Verified> {
    #[inline(always)]
    pub(super) fn reply(self) -> Reply {
        let id = self.request.id;
        let revision = self.caller.peer.revision();
        match self.stage.0 {
            Outcome::Answer(Answer::Built(result)) => tool_result(self.engine, id, revision, &result),
            Outcome::Answer(Answer::Raw(raw)) => {
                let limits = Limits::message().with_bytes_max(ANSWER_BYTES_MAX);
                match Document::parse(raw.as_bytes(), &limits) {
                    Ok(document) => {
                        Reply::result(id, result::convert(document.root(), revision, None).as_bytes())
                    }
                    Err(_) => Reply::result(id, raw.as_bytes()),
                }
            }
            Outcome::Answer(Answer::Forwarded(forwarded)) => Reply::forwarded(id, forwarded, revision, None),
            Outcome::Asks(required) => input_required(self.engine, id, required),
        }
    }
}

/// Closes an `input_required` result with the server's own `_meta`.
pub(super) fn input_required(engine: &Engine, id: &str, mut required: Vec<u8>) -> Reply {
    required.extend_from_slice(b",\"_meta\":");
    required.extend_from_slice(engine.meta().as_bytes());
    required.push(b'}');
    Reply::result(id, &required)
}

/// Writes a tool result in the form of a revision.
pub(crate) fn tool_result(engine: &Engine, id: &str, revision: Revision, result: &ToolResult) -> Reply {
    let modern = revision.era() == Era::Modern;
    let size: usize = result.content.iter().map(|content| content.as_json().len() + 1).sum();
    let structured = result
        .structured
        .as_deref()
        .filter(|raw| modern || (revision.has_structured_content() && raw.starts_with('{')));
    let mut out =
        Vec::with_capacity(size + structured.map_or(0, str::len) + engine.meta().len() + id.len() + 160);
    write::open_result(&mut out, id);
    out.push(b'{');
    if modern {
        out.extend_from_slice(b"\"resultType\":\"complete\",");
    }
    out.extend_from_slice(b"\"content\":[");
    for (index, content) in result.content.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        content.write(&mut out, revision);
    }
    out.push(b']');
    if let Some(structured) = structured {
        out.extend_from_slice(b",\"structuredContent\":");
        out.extend_from_slice(structured.as_bytes());
    }
    if result.is_error {
        out.extend_from_slice(b",\"isError\":true");
    }
    meta(&mut out, engine, modern, result.meta.as_deref());
    out.extend_from_slice(b"}}");
    Reply::whole(out)
}

/// Writes the handler's `_meta`, the server's own, or both merged into one object.
fn meta(out: &mut Vec<u8>, engine: &Engine, modern: bool, own: Option<&str>) {
    let own = own.filter(|raw| *raw != "{}");
    match (modern, own) {
        (false, None) => {}
        (false, Some(own)) => {
            out.extend_from_slice(b",\"_meta\":");
            out.extend_from_slice(own.as_bytes());
        }
        (true, None) => {
            out.extend_from_slice(b",\"_meta\":");
            out.extend_from_slice(engine.meta().as_bytes());
        }
        (true, Some(own)) => {
            out.extend_from_slice(b",\"_meta\":");
            out.extend_from_slice(own.strip_suffix('}').unwrap_or(own).as_bytes());
            out.push(b',');
            out.extend_from_slice(engine.meta().strip_prefix('{').unwrap_or_default().as_bytes());
        }
    }
}
