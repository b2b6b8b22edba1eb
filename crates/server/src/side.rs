//! Pages of an endpoint besides MCP: health, metrics, authentication metadata.

use std::fmt;

/// Response to a GET.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub status: u16,
    pub media_type: &'static str,
    pub body: String,
}

/// Pages besides the endpoint. Served after the check of Host and Origin and without authentication, so they must not
/// contain secrets.
pub trait Side: Send + Sync {
    fn page(&self, path: &str) -> Option<Page>;
}

impl fmt::Debug for dyn Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Side")
    }
}
