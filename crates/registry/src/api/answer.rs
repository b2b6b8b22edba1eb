//! Responses, and the mapping from store errors to status codes.

use toolcrib_contract::Digest;
use toolcrib_contract::json::{ObjectWriter, write_string};
use toolcrib_store::StoreError;
use toolcrib_store::catalogue::ServerRow;

/// HTTP response of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Headers other than the content type.
    pub headers: Vec<(&'static str, String)>,
    /// JSON body, or empty.
    pub body: Vec<u8>,
}

impl Response {
    /// Returns a JSON response.
    #[must_use]
    pub fn json(status: u16, body: String) -> Self {
        Self { status, headers: Vec::new(), body: body.into_bytes() }
    }

    /// Returns the error response `{"error":…}`.
    #[must_use]
    pub fn error(status: u16, message: &str) -> Self {
        let mut out = ObjectWriter::new();
        out.string("error", message);
        Self::json(status, out.finish())
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds an ETag to a successful response, and makes it a 304 if `if_none_match` has that tag.
    pub(super) fn tag(&mut self, if_none_match: Option<&str>) {
        if self.status != 200 {
            return;
        }
        let digest = Digest::of_bytes(&self.body).to_string();
        let tag = format!("\"{}\"", digest.get(7..39).unwrap_or_default());
        let known = if_none_match.is_some_and(|list| {
            list.split(',').map(str::trim).any(|own| own == "*" || own.trim_start_matches("W/") == tag)
        });
        self.headers.push(("etag", tag));
        self.headers.push(("cache-control", "public, max-age=0, must-revalidate".to_owned()));
        if known {
            self.status = 304;
            self.body.clear();
        }
    }
}

impl From<StoreError> for Response {
    fn from(error: StoreError) -> Self {
        // Database errors are logged and not shown to the client.
        tracing::error!(target: "toolcrib", "the registry's store failed: {error}");
        match error {
            StoreError::Busy => Self::error(503, "the registry is busy").with("retry-after", "1"),
            _ => Self::error(500, "the registry's store failed"),
        }
    }
}

/// Renders `{"server":…,"_meta":{"io.modelcontextprotocol.registry/official":…}}`.
pub(super) fn server_response(row: &ServerRow) -> String {
    let mut official = ObjectWriter::new();
    official.string("status", row.status.name());
    if let Some(message) = &row.status_message {
        official.string("statusMessage", message);
    }
    official.string("statusChangedAt", &row.status_changed_at).string("publishedAt", &row.published_at);
    official
        .string("updatedAt", &row.updated_at)
        .raw("isLatest", if row.is_latest { "true" } else { "false" });
    let mut meta = ObjectWriter::new();
    meta.raw("io.modelcontextprotocol.registry/official", &official.finish());
    let mut out = ObjectWriter::new();
    out.raw("server", &row.document).raw("_meta", &meta.finish());
    out.finish()
}

/// Returns a page of `items` with its metadata.
pub(super) fn list(member: &str, items: &[String], next: Option<&str>) -> Response {
    let mut metadata = ObjectWriter::new();
    if let Some(next) = next {
        metadata.string("nextCursor", next);
    }
    metadata.raw("count", &items.len().to_string());
    let mut body = String::with_capacity(items.iter().map(String::len).sum::<usize>() + 64);
    body.push('{');
    write_string(&mut body, member);
    body.push_str(":[");
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            body.push(',');
        }
        body.push_str(item);
    }
    body.push_str("],\"metadata\":");
    body.push_str(&metadata.finish());
    body.push('}');
    Response::json(200, body)
}
