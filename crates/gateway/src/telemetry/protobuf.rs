//! Encoding of spans as protobuf (`opentelemetry/proto/collector/trace/v1`). Numbers in the code are its field
//! numbers.

use std::collections::BTreeMap;

use toolcrib_engine::trace::{Kind, Span};

/// Encodes one `ExportTraceServiceRequest`.
pub(super) fn request(resource: &BTreeMap<String, String>, spans: &[Span]) -> Vec<u8> {
    let mut request = Message::default();
    request.message(1, |resource_spans| {
        resource_spans.message(1, |out| {
            for (key, value) in resource {
                attribute(out, 1, key, value);
            }
        });
        resource_spans.message(2, |scope_spans| {
            scope_spans.message(1, |scope| {
                scope.bytes(1, b"toolcrib");
                scope.bytes(2, env!("CARGO_PKG_VERSION").as_bytes());
            });
            for span in spans {
                scope_spans.message(2, |out| write(out, span));
            }
        });
    });
    request.0
}

fn write(out: &mut Message, span: &Span) {
    out.bytes(1, span.trace.as_bytes());
    out.bytes(2, span.id.as_bytes());
    if let Some(state) = &span.state {
        out.bytes(3, state.as_bytes());
    }
    if let Some(parent) = &span.parent {
        out.bytes(4, parent.as_bytes());
    }
    out.bytes(5, span.name.as_bytes());
    out.number(
        6,
        match span.kind {
            Kind::Server => 2,
            Kind::Client => 3,
        },
    );
    out.fixed(7, span.start_ns);
    out.fixed(8, span.end_ns);
    for (key, value) in &span.attributes {
        attribute(out, 9, key, value);
    }
    if let Some(error) = span.error {
        attribute(out, 9, "error.type", error);
        out.message(15, |status| status.number(3, 2));
    }
}

fn attribute(out: &mut Message, field: u32, key: &str, value: &str) {
    out.message(field, |pair| {
        pair.bytes(1, key.as_bytes());
        pair.message(2, |any| any.bytes(1, value.as_bytes()));
    });
}

/// A protobuf message that is being written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// Writes a field of wire type 2: text or bytes.
    fn bytes(&mut self, field: u32, value: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    /// Writes a field of wire type 2: a message.
    fn message(&mut self, field: u32, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }

    /// Writes a field of wire type 0: an enumeration.
    fn number(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(value);
    }

    /// Writes a field of wire type 1: eight bytes.
    fn fixed(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3 | 1);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}
