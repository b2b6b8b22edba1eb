//! Trace spans of requests, for an exporter (R5.10).
//!
//! Guarantees: without a sink nothing is done; a client's own trace is continued (`_meta.traceparent`, as MCP defines
//! it, or the header of that name) and passed to the upstream server; a trace that the client does not sample is not
//! recorded; no span holds an argument, an answer or a secret. A sink never blocks: it drops and counts what it
//! cannot take.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use toolcrib_contract::json::Node;
use toolcrib_protocol::Request;
use toolcrib_protocol::header::{Field, Headers};

use crate::caller::Caller;
use crate::ending::Ending;
use crate::limits::TRACESTATE_CHARS_MAX;
use crate::refusal::Refusal;

tokio::task_local! {
    /// Request that this task works on.
    static CURRENT: Arc<Active>;
}

/// Collector of spans.
pub trait SpanSink: fmt::Debug + Send + Sync {
    /// Called when a span has ended, on the task that did the work: must not block.
    fn ended(&self, span: Span);
}

/// Side of a request that a span is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Server,
    Client,
}

/// Span that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub trace: TraceId,
    pub id: SpanId,
    pub parent: Option<SpanId>,
    pub state: Option<Box<str>>,
    pub name: String,
    pub kind: Kind,
    pub start_ns: u64,
    pub end_ns: u64,
    pub attributes: Vec<(&'static str, String)>,
    /// Kind of the failure, in one word.
    pub error: Option<&'static str>,
}

/// Trace id of W3C Trace Context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId([u8; 16]);

/// Span id of W3C Trace Context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanId([u8; 8]);

impl TraceId {
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl SpanId {
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl From<[u8; 16]> for TraceId {
    fn from(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl From<[u8; 8]> for SpanId {
    fn from(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }
}

impl SpanId {
    fn random() -> Self {
        let mut bytes = [0; 8];
        // If the random source fails, the trace is broken but the call goes on.
        let _ = getrandom::fill(&mut bytes);
        Self(bytes)
    }
}

/// Trace context of a request, as in W3C Trace Context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Origin {
    trace: TraceId,
    parent: Option<SpanId>,
    sampled: bool,
}

impl Origin {
    fn fresh() -> Self {
        let mut bytes = [0; 16];
        let _ = getrandom::fill(&mut bytes);
        Self { trace: TraceId(bytes), parent: None, sampled: true }
    }

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let [version] = bytes::<1>(version)?;
        // A later version may have further fields; version 0 has none.
        if version == 0xff || (version == 0 && parts.next().is_some()) {
            return None;
        }
        let (trace, parent, [flags]) = (bytes::<16>(trace)?, bytes::<8>(parent)?, bytes::<1>(flags)?);
        let is_named = trace != [0; 16] && parent != [0; 8];
        is_named.then_some(Self {
            trace: TraceId(trace),
            parent: Some(SpanId(parent)),
            sampled: flags & 1 == 1,
        })
    }
}

/// Parses exactly `2 * N` lower-case hexadecimal digits.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut out = [0; N];
    let digits = text.as_bytes();
    if digits.len() != N * 2 {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = digit(*high)? * 16 + digit(*low)?;
    }
    Some(out)
}

/// Request in flight that is traced.
pub struct Active {
    sink: Arc<dyn SpanSink>,
    trace: TraceId,
    span: SpanId,
    state: Option<Box<str>>,
    sampled: bool,
    /// Ending of the call, if the request is a tool call.
    ending: OnceLock<Ending>,
}

/// Returns the traced request that this task works on.
#[must_use]
pub fn current() -> Option<Arc<Active>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// Open span; it ends when dropped.
pub struct Open {
    active: Arc<Active>,
    id: SpanId,
    parent: Option<SpanId>,
    name: String,
    kind: Kind,
    begun: Instant,
    start_ns: u64,
    attributes: Vec<(&'static str, String)>,
    error: Option<&'static str>,
}

impl Active {
    /// Opens a client span for a request to another server on behalf of this one.
    #[must_use]
    pub fn client(self: &Arc<Self>, name: String, attributes: Vec<(&'static str, String)>) -> Open {
        Open::new(self.clone(), SpanId::random(), Some(self.span), name, Kind::Client, attributes)
    }

    /// Sets the ending of the call.
    pub(crate) fn end_as(&self, ending: Ending) {
        let _ = self.ending.set(ending);
    }

    /// Returns the `tracestate` that the client sent.
    #[must_use]
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }
}

impl Open {
    fn new(
        active: Arc<Active>,
        id: SpanId,
        parent: Option<SpanId>,
        name: String,
        kind: Kind,
        attributes: Vec<(&'static str, String)>,
    ) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let start_ns = u64::try_from(since.as_nanos()).unwrap_or_default();
        Self { active, id, parent, name, kind, begun: Instant::now(), start_ns, attributes, error: None }
    }

    /// Returns the `traceparent` for the request to the other server.
    #[must_use]
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-{:02x}", self.active.trace, self.id, u8::from(self.active.sampled))
    }

    /// Marks the span as failed.
    pub fn fail(&mut self, error: &'static str) {
        self.error = Some(error);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.active.sampled {
            return;
        }
        let took = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or_default();
        self.active.sink.ended(Span {
            trace: self.active.trace,
            id: self.id,
            parent: self.parent,
            state: self.active.state.clone(),
            name: std::mem::take(&mut self.name),
            kind: self.kind,
            start_ns: self.start_ns,
            end_ns: self.start_ns.saturating_add(took),
            attributes: std::mem::take(&mut self.attributes),
            error: self.error,
        });
    }
}

/// Returns true for requests that reach a tool, a prompt or a resource.
pub(crate) fn is_followed(method: &str) -> bool {
    matches!(method, "tools/call" | "prompts/get" | "resources/read")
}

/// Runs the work of a request inside its span.
pub(crate) async fn follow<T>(
    sink: &Arc<dyn SpanSink>,
    caller: &Caller<'_>,
    request: &Request<'_>,
    work: impl Future<Output = Result<T, Refusal>>,
) -> Result<T, Refusal> {
    let mut open = begin(sink, caller, request);
    let outcome = CURRENT.scope(open.active.clone(), work).await;
    match open.active.ending.get().copied() {
        Some(ending) => {
            open.attributes.push(("toolcrib.ending", ending.word().to_owned()));
            if ending.is_trouble() {
                open.fail(ending.word());
            }
        }
        None => {
            if outcome.as_ref().is_err_and(|refusal| !matches!(refusal, Refusal::Asks(_))) {
                open.fail("failed");
            }
        }
    }
    outcome
}

fn begin(sink: &Arc<dyn SpanSink>, caller: &Caller<'_>, request: &Request<'_>) -> Open {
    let headers = caller.headers.map(|headers| headers as &dyn Headers);
    let origin = member(request, headers, "traceparent").and_then(|text| Origin::read(&text));
    let state = origin.and_then(|_| member(request, headers, "tracestate"));
    let origin = origin.unwrap_or_else(Origin::fresh);
    let active = Arc::new(Active {
        sink: sink.clone(),
        trace: origin.trace,
        span: SpanId::random(),
        state: state.filter(|state| is_handed_on(state)).map(Into::into),
        sampled: origin.sampled,
        ending: OnceLock::new(),
    });
    let target = request.params.string("name").or_else(|_| request.params.string("uri")).unwrap_or_default();
    let mut attributes = vec![
        ("mcp.method.name", request.method.to_string()),
        ("mcp.protocol.version", caller.peer.revision().as_str().to_owned()),
        ("jsonrpc.request.id", request.id.trim_matches('"').to_owned()),
    ];
    attributes.push(match &*request.method {
        "tools/call" => ("gen_ai.tool.name", target.to_string()),
        "prompts/get" => ("gen_ai.prompt.name", target.to_string()),
        _ => ("mcp.resource.uri", target.to_string()),
    });
    // URIs are unbounded in length and number, so they are an attribute and not part of the span's name.
    let name = match &*request.method {
        "resources/read" => request.method.to_string(),
        method => format!("{method} {target}"),
    };
    Open::new(active.clone(), active.span, origin.parent, name, Kind::Server, attributes)
}

/// Returns true if `tracestate` may be passed on. A longer one is left out: cut, it would have another meaning.
fn is_handed_on(state: &str) -> bool {
    state.chars().count() <= TRACESTATE_CHARS_MAX
}

fn member(request: &Request<'_>, headers: Option<&dyn Headers>, name: &str) -> Option<String> {
    let own = request.params.get("_meta").and_then(|meta| meta.get(name)).and_then(Node::as_str);
    if let Some(text) = own {
        return Some(text.into_owned());
    }
    match headers?.field(name) {
        Field::One(text) => std::str::from_utf8(text).ok().map(|text| text.trim().to_owned()),
        Field::Absent | Field::Repeated => None,
    }
}

impl fmt::Debug for Active {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Active").field("trace", &self.trace).field("span", &self.span).finish_non_exhaustive()
    }
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Open").field("id", &self.id).field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R5.10: the examples of W3C Trace Context, and the values that it says to ignore.
    #[test]
    fn a_traceparent_is_read_strictly() {
        let whole = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let origin = Origin::read(whole).unwrap();
        assert_eq!(origin.trace.to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(origin.parent.unwrap().to_string(), "b7ad6b7169203331");
        assert!(origin.sampled);
        assert!(!Origin::read(&whole.replace("-01", "-00")).unwrap().sampled);
        assert!(Origin::read(&whole.replace("00-0af", "cc-0af").replace("-01", "-01-what")).is_some());
        for wrong in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333-01",
        ] {
            assert_eq!(Origin::read(wrong), None, "{wrong}");
        }
    }

    /// R5.10: OpenTelemetry traces.
    #[test]
    fn a_tracestate_over_tracestate_chars_max_is_left_out() {
        let state = |chars: usize| format!("a={}", "é".repeat(chars - 2));
        assert!(is_handed_on(&state(TRACESTATE_CHARS_MAX)));
        assert!(!is_handed_on(&state(TRACESTATE_CHARS_MAX + 1)));
    }
}
