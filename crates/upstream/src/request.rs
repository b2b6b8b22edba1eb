//! A request, written for a server of either era.
//!
//! Guarantees: the client's members are copied token by token, and the gateway's own are added. The client's protocol
//! members (version, capabilities, identity, progress token) are never passed on.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::LazyLock;

use toolcrib_contract::json::Node;
use toolcrib_engine::Context;
use toolcrib_engine::by_thread::thread;
use toolcrib_engine::safety::vouch;
use toolcrib_engine::trace::Open;
use toolcrib_protocol::{Capability, Era, Level, Revision, meta, write};

use crate::called::{self, Called};
use crate::connection::CLIENT_INFO;

/// Identity of the client that a question belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Asker {
    /// A legacy session, by its address in memory.
    Session(usize),
    Call(u64),
}

/// One request before it has an id.
#[derive(Debug, Default)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'static str,
    /// Value of `Mcp-Name`.
    pub(crate) name: Option<Cow<'a, str>>,
    /// The called tool and its raw arguments.
    call: Option<(&'a Called, Cow<'a, str>)>,
    /// `Mcp-Param-*` headers; names in lower case.
    pub(crate) headers: Vec<(Box<str>, String)>,
    /// Members of `params`, raw and without braces.
    params: String,
    /// Further members of `params` for modern servers only.
    modern_params: String,
    /// Members of `_meta` that are passed through, raw and without braces.
    meta: String,
    /// Capabilities that a modern server may use.
    capabilities: Capabilities,
    pub(crate) log_level: Option<Level>,
    wants_progress: bool,
    /// Client that can be asked; `None` if nobody can.
    pub(crate) asker: Option<Asker>,
    /// `true` if the request contains something valid once: it is not repeated after the server may have seen it.
    pub(crate) once: bool,
}

impl<'a> Request<'a> {
    pub(crate) fn new(method: &'static str) -> Self {
        Self { method, ..Self::default() }
    }

    /// A call with these raw arguments.
    pub(crate) fn call(called: &'a Called, arguments: impl Into<Cow<'a, str>>) -> Self {
        let name = Some(Cow::Borrowed(&*called.name));
        Self { method: called::METHOD, name, call: Some((called, arguments.into())), ..Self::default() }
    }

    /// Returns the server's name of the called tool, and the raw arguments.
    pub(crate) fn called(&self) -> Option<(&str, &str)> {
        self.call.as_ref().map(|(called, arguments)| (&*called.name, &**arguments))
    }

    /// Adds the gateway's signed statement that this call was confirmed. If a person confirmed it, the server may also
    /// ask, and the gateway answers for the person.
    pub(crate) fn vouched(&mut self, statement: &str, by_person: bool) {
        push(&mut self.meta, vouch::STATEMENT, statement);
        self.capabilities.form |= by_person;
        self.once = true;
    }

    /// Adds a raw member of `params`; its name needs no escaping.
    pub(crate) fn raw(mut self, key: &'static str, value: &str) -> Self {
        self.push(key, value);
        self
    }

    /// Adds a raw member of `params` in place.
    pub(crate) fn push(&mut self, key: &'static str, value: &str) {
        push(&mut self.params, key, value);
    }

    /// Adds a raw member of `params` that is sent to modern servers only.
    pub(crate) fn push_modern(&mut self, key: &'static str, value: &str) {
        push(&mut self.modern_params, key, value);
    }

    pub(crate) fn string(self, key: &'static str, value: &str) -> Self {
        self.raw(key, &write::quoted(value))
    }

    /// Copies a member of `params` as the client wrote it.
    pub(crate) fn copy(&mut self, key: Node<'_>, value: Node<'_>) {
        copy(&mut self.params, key, value);
    }

    /// Adds a member of `params` with the client's key and another value.
    pub(crate) fn replace(&mut self, key: Node<'_>, value: &str) {
        open(&mut self.params, key.raw());
        self.params.push_str(value);
    }

    /// Adds everything about the caller that a server should know.
    pub(crate) fn for_caller(&mut self, context: &Context, meta: Option<Node<'_>>) {
        self.capabilities = Capabilities::of(context);
        self.log_level = Level::ALL.into_iter().find(|level| context.peer().logs(*level));
        self.wants_progress = context.progress_token().is_some();
        self.asker = Some(asker(context));
        let Some(meta) = meta else { return };
        for (key, value) in meta.members() {
            let name = key.as_str().unwrap_or_default();
            // The trace context is replaced by that of the gateway's own span.
            let is_replaced = || {
                matches!(&*name, "traceparent" | "tracestate") && toolcrib_engine::trace::current().is_some()
            };
            if !is_protocol(&name) && !is_replaced() {
                copy(&mut self.meta, key, value);
            }
        }
    }

    /// Sets the trace context to this span.
    pub(crate) fn traced(mut self, span: &Open, state: Option<&str>) -> Self {
        push(&mut self.meta, "traceparent", &write::quoted(&span.traceparent()));
        if let Some(state) = state {
            push(&mut self.meta, "tracestate", &write::quoted(state));
        }
        self
    }

    /// Appends the header fields that repeat members of the body.
    pub(crate) fn write_fields(&self, out: &mut Vec<u8>) {
        match &self.call {
            Some((called, _)) => out.extend_from_slice(called.fields.as_bytes()),
            None => out.extend_from_slice(called::fields(self.method, self.name.as_deref()).as_bytes()),
        }
        for (name, value) in &self.headers {
            out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
    }

    /// Writes the whole message.
    pub(crate) fn write(&self, id: u64, revision: Revision) -> Vec<u8> {
        let call = self.call.as_ref().map_or(0, |(called, arguments)| called.member.len() + arguments.len());
        let mut out = Vec::with_capacity(
            call + self.params.len() + self.modern_params.len() + self.meta.len() + FRAME_BYTES_ABOUT,
        );
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        write::number(&mut out, id);
        out.extend_from_slice(b",\"method\":\"");
        out.extend_from_slice(self.method.as_bytes());
        out.extend_from_slice(b"\",\"params\":{");
        let mut comma: &[u8] = b"";
        if let Some((called, arguments)) = &self.call {
            for part in [&*called.member, ",\"arguments\":", &**arguments] {
                out.extend_from_slice(part.as_bytes());
            }
            comma = b",";
        }
        let modern = revision.era() == Era::Modern;
        for members in [&*self.params, if modern { &*self.modern_params } else { "" }] {
            if !members.is_empty() {
                out.extend_from_slice(comma);
                out.extend_from_slice(members.as_bytes());
                comma = b",";
            }
        }
        if modern || !self.meta.is_empty() || self.wants_progress {
            out.extend_from_slice(comma);
            out.extend_from_slice(b"\"_meta\":{");
            self.write_meta(&mut out, id, revision);
            out.push(b'}');
        }
        out.extend_from_slice(b"}}");
        out
    }

    fn write_meta(&self, out: &mut Vec<u8>, id: u64, revision: Revision) {
        let mut comma: &[u8] = b"";
        if revision.era() == Era::Modern {
            let Own { before_version, before_capabilities } = &*OWN;
            for part in [before_version, revision.as_str(), before_capabilities, self.capabilities.as_json()]
            {
                out.extend_from_slice(part.as_bytes());
            }
            if let Some(level) = self.log_level {
                for part in [",\"", meta::LOG_LEVEL, "\":\"", level.as_str(), "\""] {
                    out.extend_from_slice(part.as_bytes());
                }
            }
            comma = b",";
        }
        if self.wants_progress {
            out.extend_from_slice(comma);
            out.extend_from_slice(b"\"progressToken\":");
            write::number(out, id);
            comma = b",";
        }
        if !self.meta.is_empty() {
            out.extend_from_slice(comma);
            out.extend_from_slice(self.meta.as_bytes());
        }
    }
}

/// Members that every modern request has about this gateway, formatted once.
struct Own {
    before_version: String,
    before_capabilities: String,
}

static OWN: LazyLock<Own> = LazyLock::new(|| Own {
    before_version: format!("\"{}\":{CLIENT_INFO},\"{}\":\"", meta::CLIENT_INFO, meta::PROTOCOL_VERSION),
    before_capabilities: format!("\",\"{}\":", meta::CLIENT_CAPABILITIES),
});

/// Approximate bytes of a message beside the client's own parts.
const FRAME_BYTES_ABOUT: usize = 400;

fn push(out: &mut String, key: &'static str, value: &str) {
    if !out.is_empty() {
        out.push(',');
    }
    out.push('"');
    out.push_str(key);
    out.push_str("\":");
    out.push_str(value);
}

fn copy(out: &mut String, key: Node<'_>, value: Node<'_>) {
    open(out, key.raw());
    value.write_compact(out);
}

fn open(out: &mut String, key: &str) {
    if !out.is_empty() {
        out.push(',');
    }
    out.push_str(key);
    out.push(':');
}

/// Returns `true` for members of `_meta` that are about one connection and are never passed through a gateway.
fn is_protocol(key: &str) -> bool {
    key == "progressToken" || key == vouch::STATEMENT || key.starts_with("io.modelcontextprotocol/")
}

/// Capabilities of the caller's client that are passed on. Extensions are left out, because the gateway does not relay
/// them.
#[derive(Debug, Clone, Copy, Default)]
struct Capabilities {
    form: bool,
    url: bool,
    sampling: bool,
    roots: bool,
}

impl Capabilities {
    fn of(context: &Context) -> Self {
        Self {
            form: context.can(Capability::ElicitationForm),
            url: context.can(Capability::ElicitationUrl),
            sampling: context.can(Capability::Sampling),
            roots: context.can(Capability::Roots),
        }
    }

    const fn as_json(self) -> &'static str {
        match (self.form, self.url, self.sampling, self.roots) {
            (false, false, false, false) => "{}",
            (false, false, false, true) => r#"{"roots":{}}"#,
            (false, false, true, false) => r#"{"sampling":{}}"#,
            (false, false, true, true) => r#"{"sampling":{},"roots":{}}"#,
            (false, true, false, false) => r#"{"elicitation":{"url":{}}}"#,
            (false, true, false, true) => r#"{"elicitation":{"url":{}},"roots":{}}"#,
            (false, true, true, false) => r#"{"elicitation":{"url":{}},"sampling":{}}"#,
            (false, true, true, true) => r#"{"elicitation":{"url":{}},"sampling":{},"roots":{}}"#,
            (true, false, false, false) => r#"{"elicitation":{"form":{}}}"#,
            (true, false, false, true) => r#"{"elicitation":{"form":{}},"roots":{}}"#,
            (true, false, true, false) => r#"{"elicitation":{"form":{}},"sampling":{}}"#,
            (true, false, true, true) => r#"{"elicitation":{"form":{}},"sampling":{},"roots":{}}"#,
            (true, true, false, false) => r#"{"elicitation":{"form":{},"url":{}}}"#,
            (true, true, false, true) => r#"{"elicitation":{"form":{},"url":{}},"roots":{}}"#,
            (true, true, true, false) => r#"{"elicitation":{"form":{},"url":{}},"sampling":{}}"#,
            (true, true, true, true) => r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#,
        }
    }
}

thread_local! {
    /// Number of the last call of this thread.
    static CALL_LAST: Cell<u64> = const { Cell::new(0) };
}

/// Call numbers reserved per thread.
const CALLS_OF_A_THREAD: u64 = 1 << 40;

/// Returns a number that no other call has.
fn call_number() -> u64 {
    let last = CALL_LAST.get();
    CALL_LAST.set(last + 1);
    (thread() as u64).wrapping_mul(CALLS_OF_A_THREAD).wrapping_add(last)
}

/// Returns the identity of the client: two calls of one legacy session reach the same person, a modern client is asked
/// per call.
fn asker(context: &Context) -> Asker {
    match context.peer().session() {
        Some(session) => Asker::Session(std::sync::Arc::as_ptr(session).addr()),
        None => Asker::Call(call_number()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_members_that_its_era_wants() {
        let called = Called::new("x");
        let mut request = Request::call(&called, "{}").raw("more", "1");
        request.push_modern("inputResponses", "{}");
        assert_eq!(
            String::from_utf8(request.write(1_203, Revision::V2025_11_25)).unwrap(),
            r#"{"jsonrpc":"2.0","id":1203,"method":"tools/call","params":{"name":"x","arguments":{},"more":1}}"#
        );
        let modern = String::from_utf8(request.write(0, Revision::V2026_07_28)).unwrap();
        assert_eq!(
            modern,
            format!(
                r#"{{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{{"name":"x","arguments":{{}},"more":1,"inputResponses":{{}},"_meta":{{"io.modelcontextprotocol/clientInfo":{CLIENT_INFO},"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
            )
        );
    }
}
