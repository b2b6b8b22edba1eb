//! What an endpoint answers besides MCP: health, metrics, the metadata of authentication.

use std::fmt;

/// An answer to a GET.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub status: u16,
    pub media_type: &'static str,
    pub body: String,
}

/// Pages beside the endpoint. Asked after Host and Origin were checked and before anybody is authenticated: nothing
/// secret may stand on them.
pub trait Side: Send + Sync {
    fn page(&self, path: &str) -> Option<Page>;
}

impl fmt::Debug for dyn Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Side")
    }
}
