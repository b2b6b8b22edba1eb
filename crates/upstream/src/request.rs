//! A request as a server of either era wants it.
//!
//! Guarantees: what the client sent is copied token by token; the gateway's own members are added, none of the
//! client's protocol members (version, capabilities, identity, progress token) are passed on as they were.

use std::sync::atomic::{AtomicU64, Ordering};

use toolcrib_contract::json::{Node, ObjectWriter};
use toolcrib_engine::Context;
use toolcrib_engine::trace::Open;
use toolcrib_protocol::{Capability, Era, Level, Revision, meta, write};

/// Whose question an answer belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Asker(pub(crate) Box<str>);

/// One request before it has an id.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    /// What `Mcp-Name` repeats.
    pub(crate) name: Option<Box<str>>,
    /// `Mcp-Param-*`, names in lower case.
    pub(crate) headers: Vec<(Box<str>, String)>,
    /// Members of `params`, raw and without braces.
    pub(crate) params: String,
    /// Further members of `params` that a modern server alone is sent.
    pub(crate) modern_params: String,
    /// Members of `_meta` that pass through, raw and without braces.
    pub(crate) meta: String,
    /// Raw JSON; what a modern server may ask for.
    pub(crate) capabilities: Option<Box<str>>,
    pub(crate) log_level: Option<Level>,
    pub(crate) wants_progress: bool,
    /// Who can be asked; nobody if absent.
    pub(crate) asker: Option<Asker>,
}

impl Request {
    pub(crate) fn new(method: &'static str) -> Self {
        Self { method, ..Self::default() }
    }

    /// Adds a member of `params`, raw.
    pub(crate) fn raw(mut self, key: &str, value: &str) -> Self {
        push(&mut self.params, key, value);
        self
    }

    /// Adds one that a legacy server does not know, raw.
    pub(crate) fn modern_raw(mut self, key: &str, value: &str) -> Self {
        push(&mut self.modern_params, key, value);
        self
    }

    pub(crate) fn string(self, key: &str, value: &str) -> Self {
        self.raw(key, &write::quoted(value))
    }

    /// Everything of a call's context that a server should know.
    pub(crate) fn for_caller(mut self, context: &Context, params: Option<Node<'_>>) -> Self {
        self.capabilities = Some(capabilities(context).into());
        self.log_level = wanted_level(context);
        self.wants_progress = context.progress_token().is_some();
        self.asker = Some(asker(context));
        let is_traced = toolcrib_engine::trace::current().is_some();
        for (key, value) in params.and_then(|params| params.get("_meta")).into_iter().flat_map(Node::members)
        {
            let name = key.as_str().unwrap_or_default();
            // A span of our own stands between the client and the server.
            let is_replaced = is_traced && matches!(&*name, "traceparent" | "tracestate");
            if !is_protocol(&name) && !is_replaced {
                push_raw(&mut self.meta, key.raw(), &value.to_compact());
            }
        }
        self
    }

    /// Names the span that this request is part of.
    pub(crate) fn traced(mut self, span: Option<&Open>, state: Option<&str>) -> Self {
        if let Some(span) = span {
            push(&mut self.meta, "traceparent", &write::quoted(&span.traceparent()));
            if let Some(state) = state {
                push(&mut self.meta, "tracestate", &write::quoted(state));
            }
        }
        self
    }

    /// The whole message.
    pub(crate) fn write(&self, id: u64, revision: Revision, client_info: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.params.len() + self.meta.len() + 400);
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        out.extend_from_slice(id.to_string().as_bytes());
        out.extend_from_slice(b",\"method\":\"");
        out.extend_from_slice(self.method.as_bytes());
        out.extend_from_slice(b"\",\"params\":{");
        out.extend_from_slice(self.params.as_bytes());
        let modern = revision.era() == Era::Modern;
        let mut is_empty = self.params.is_empty();
        if modern && !self.modern_params.is_empty() {
            if !is_empty {
                out.push(b',');
            }
            out.extend_from_slice(self.modern_params.as_bytes());
            is_empty = false;
        }
        if modern || !self.meta.is_empty() || self.wants_progress {
            if !is_empty {
                out.push(b',');
            }
            out.extend_from_slice(b"\"_meta\":{");
            self.write_meta(&mut out, id, revision, client_info);
            out.push(b'}');
        }
        out.extend_from_slice(b"}}");
        out
    }

    fn write_meta(&self, out: &mut Vec<u8>, id: u64, revision: Revision, client_info: &str) {
        let mut comma: &[u8] = b"";
        let mut member = |key: &str, value: &str| {
            out.extend_from_slice(comma);
            out.push(b'"');
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(b"\":");
            out.extend_from_slice(value.as_bytes());
            comma = b",";
        };
        if revision.era() == Era::Modern {
            member(meta::PROTOCOL_VERSION, &format!("\"{revision}\""));
            member(meta::CLIENT_CAPABILITIES, self.capabilities.as_deref().unwrap_or("{}"));
            member(meta::CLIENT_INFO, client_info);
            if let Some(level) = self.log_level {
                member(meta::LOG_LEVEL, &format!("\"{}\"", level.as_str()));
            }
        }
        if self.wants_progress {
            member("progressToken", &id.to_string());
        }
        if !self.meta.is_empty() {
            out.extend_from_slice(comma);
            out.extend_from_slice(self.meta.as_bytes());
        }
    }
}

fn push(out: &mut String, key: &str, value: &str) {
    push_raw(out, &write::quoted(key), value);
}

fn push_raw(out: &mut String, key: &str, value: &str) {
    if !out.is_empty() {
        out.push(',');
    }
    out.push_str(key);
    out.push(':');
    out.push_str(value);
}

/// Members of `_meta` that are about one connection and never pass through a gateway.
fn is_protocol(key: &str) -> bool {
    key == "progressToken" || key.starts_with("io.modelcontextprotocol/")
}

/// What the caller's client can be asked, and nothing else: an extension it speaks would end here.
pub(crate) fn capabilities(context: &Context) -> String {
    let mut object = ObjectWriter::new();
    let (form, url) = (context.can(Capability::ElicitationForm), context.can(Capability::ElicitationUrl));
    match (form, url) {
        (true, true) => object.raw("elicitation", r#"{"form":{},"url":{}}"#),
        (true, false) => object.raw("elicitation", r#"{"form":{}}"#),
        (false, true) => object.raw("elicitation", r#"{"url":{}}"#),
        (false, false) => &mut object,
    };
    if context.can(Capability::Sampling) {
        object.raw("sampling", "{}");
    }
    if context.can(Capability::Roots) {
        object.raw("roots", "{}");
    }
    object.finish()
}

/// The least level the client wants to hear of.
fn wanted_level(context: &Context) -> Option<Level> {
    Level::ALL.into_iter().find(|level| context.peer().logs(*level))
}

static CALL_LAST: AtomicU64 = AtomicU64::new(0);

/// Two calls of one asker reach the same person; a modern client is asked call by call.
pub(crate) fn asker(context: &Context) -> Asker {
    let key = match context.peer().session() {
        Some(session) => format!("session {:p}", std::sync::Arc::as_ptr(session)),
        None => format!("call {}", CALL_LAST.fetch_add(1, Ordering::Relaxed)),
    };
    Asker(key.into())
}
