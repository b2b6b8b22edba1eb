//! Access of the engine to header fields that mirror the body.

use toolcrib_http1::RequestHead;
use toolcrib_protocol::header::{Field, Headers};

/// Header fields of a request.
pub(crate) struct Mirrors<'a>(pub(crate) &'a RequestHead);

impl Headers for Mirrors<'_> {
    fn field(&self, name: &str) -> Field<'_> {
        let mut values = self.0.values(name);
        match (values.next(), values.next()) {
            (None, _) => Field::Absent,
            (Some(value), None) => Field::One(value),
            (Some(_), Some(_)) => Field::Repeated,
        }
    }
}

/// A head with these fields, for tests.
#[cfg(test)]
pub(crate) fn head_with(fields: &[(&str, &str)]) -> RequestHead {
    let fields = fields.iter().map(|(name, value)| (*name, value.as_bytes()));
    RequestHead::assemble(&http::Method::POST, "/mcp", fields).unwrap()
}
