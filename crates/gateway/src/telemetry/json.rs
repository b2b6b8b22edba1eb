//! Encoding of spans as OTLP/JSON: ids in hexadecimal, times as decimal text, enumerations as numbers.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolcrib_engine::trace::{Kind, Span};

/// Encodes one `ExportTraceServiceRequest`.
pub(super) fn request(resource: &BTreeMap<String, String>, spans: &[Span]) -> Value {
    let spans: Vec<Value> = spans.iter().map(span).collect();
    let resource: Vec<Value> = resource.iter().map(|(key, value)| attribute(key, value)).collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": {"name": "toolcrib", "version": env!("CARGO_PKG_VERSION")}, "spans": spans}],
    }]})
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

fn span(span: &Span) -> Value {
    let mut attributes: Vec<Value> =
        span.attributes.iter().map(|(key, value)| attribute(key, value)).collect();
    attributes.extend(span.error.map(|error| attribute("error.type", error)));
    let mut out = json!({
        "traceId": span.trace.to_string(),
        "spanId": span.id.to_string(),
        "name": span.name,
        "kind": match span.kind { Kind::Server => 2, Kind::Client => 3 },
        "startTimeUnixNano": span.start_ns.to_string(),
        "endTimeUnixNano": span.end_ns.to_string(),
        "attributes": attributes,
        "status": if span.error.is_some() { json!({"code": 2}) } else { json!({}) },
    });
    if let Some(members) = out.as_object_mut() {
        members.extend(span.parent.map(|parent| ("parentSpanId".to_owned(), json!(parent.to_string()))));
        members.extend(span.state.as_ref().map(|state| ("traceState".to_owned(), json!(state))));
    }
    out
}
