//! JSON-RPC errors: the codes that MCP defines, and the error object on the wire.
//!
//! Refuses, by the type [`Code`], any code of the specification's reserved range that it does not define.

use std::borrow::Cow;

use serde_json::json;

use crate::revision::{Era, Revision};

/// Error codes that this project sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Code {
    ParseError = -32700,
    InvalidRequest = -32600,
    MethodNotFound = -32601,
    InvalidParams = -32602,
    InternalError = -32603,
    /// Legacy only: the resource does not exist.
    ResourceNotFound = -32002,
    /// Legacy only: a session or version problem, sent together with HTTP 4xx.
    Legacy = -32000,
    HeaderMismatch = -32020,
    MissingCapability = -32021,
    UnsupportedVersion = -32022,
}

impl Code {
    #[must_use]
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// Returns the code that a peer of `era` knows: a code of the other era becomes [`Code::InvalidParams`].
    #[must_use]
    pub const fn for_era(self, era: Era) -> Self {
        match (self, era) {
            (Self::HeaderMismatch | Self::MissingCapability | Self::UnsupportedVersion, Era::Legacy) => {
                Self::InvalidParams
            }
            (Self::ResourceNotFound, Era::Modern) => Self::InvalidParams,
            (code, _) => code,
        }
    }
}

/// Error object of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcError {
    pub code: i32,
    pub message: Cow<'static, str>,
    /// Raw JSON.
    pub data: Option<Box<str>>,
}

impl RpcError {
    #[must_use]
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code: code.number(), message: message.into(), data: None }
    }

    /// Sets `data`, which is raw JSON.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<Box<str>>) -> Self {
        self.data = Some(data.into());
        self
    }

    #[must_use]
    pub fn method_not_found(method: &str) -> Self {
        Self::new(Code::MethodNotFound, format!("Method not found: {}", shorten(method)))
    }

    #[must_use]
    pub fn unsupported_version(requested: &str) -> Self {
        let supported: Vec<&str> = Revision::ALL.iter().map(|revision| revision.as_str()).collect();
        let data = json!({ "supported": supported, "requested": requested }).to_string();
        Self::new(Code::UnsupportedVersion, format!("Unsupported protocol version: {}", shorten(requested)))
            .with_data(data)
    }

    /// Builds the error for a missing client capability. `required` is a `ClientCapabilities` object as raw JSON, for
    /// example `{"sampling":{}}`.
    #[must_use]
    pub fn missing_capability(required: &str) -> Self {
        Self::new(
            Code::MissingCapability,
            format!("The client did not declare a capability this needs: {required}"),
        )
        .with_data(format!("{{\"requiredCapabilities\":{required}}}"))
    }

    #[must_use]
    pub fn resource_not_found(uri: &str, era: Era) -> Self {
        Self::new(Code::ResourceNotFound.for_era(era), "Resource not found")
            .with_data(json!({ "uri": uri }).to_string())
    }

    /// Appends the error object without the envelope.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"code\":");
        out.extend_from_slice(self.code.to_string().as_bytes());
        out.extend_from_slice(b",\"message\":");
        crate::write::string(out, &self.message);
        if let Some(data) = &self.data {
            out.extend_from_slice(b",\"data\":");
            out.extend_from_slice(data.as_bytes());
        }
        out.push(b'}');
    }
}

/// Shortens untrusted text for an error message and removes its control characters.
fn shorten(text: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 80;
    let mut shown: String = text.chars().filter(|c| !c.is_control()).take(SHOWN_CHARS_MAX).collect();
    if text.chars().nth(SHOWN_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modern_codes_never_reach_a_legacy_peer_nor_legacy_codes_a_modern_one() {
        assert_eq!(Code::HeaderMismatch.for_era(Era::Legacy), Code::InvalidParams);
        assert_eq!(Code::ResourceNotFound.for_era(Era::Modern), Code::InvalidParams);
        assert_eq!(Code::ResourceNotFound.for_era(Era::Legacy), Code::ResourceNotFound);
    }

    #[test]
    fn an_unsupported_version_error_lists_every_version_and_the_one_asked_for() {
        let error = RpcError::unsupported_version("v999.0.0");
        let data: serde_json::Value = serde_json::from_str(error.data.as_deref().unwrap()).unwrap();
        assert_eq!(data["requested"], "v999.0.0");
        assert_eq!(data["supported"].as_array().unwrap().len(), 5);
    }

    #[test]
    fn an_error_is_written_as_json_whatever_the_message_holds() {
        let mut out = Vec::new();
        RpcError::method_not_found("a\"b\n\u{202e}").write(&mut out);
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value["code"], -32601);
    }
}
