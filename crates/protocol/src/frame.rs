//! JSON-RPC frame: one message, borrowed from the text it was read from.
//!
//! Guarantees: an id keeps its exact text and is echoed unchanged; parameters stay nodes of the same tape. Refuses
//! everything but a JSON-RPC 2.0 request, notification or response, and names the wrong member.

use std::borrow::Cow;

use toolcrib_contract::json::{Keys, Kind, Node, Number};

use crate::error::{Code, RpcError};
use crate::meta::KnownMeta;

static ENVELOPE: Keys<6> = Keys::new(["jsonrpc", "id", "method", "params", "result", "error"]);
static PARAMS: Keys<5> = Keys::new(["name", "arguments", "requestState", "inputResponses", "_meta"]);

/// One JSON-RPC message.
#[derive(Debug, Clone)]
pub enum Frame<'a> {
    Request(Request<'a>),
    Notification(Notification<'a>),
    Response(Response<'a>),
}

/// Message with an id, which expects a response.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// Exact text of the id: an integer or a quoted string.
    pub id: &'a str,
    pub method: Cow<'a, str>,
    pub params: Params<'a>,
}

/// Message without an id, which expects no response.
#[derive(Debug, Clone)]
pub struct Notification<'a> {
    pub method: Cow<'a, str>,
    pub params: Params<'a>,
}

/// Answer to a request.
#[derive(Debug, Clone)]
pub struct Response<'a> {
    /// Exact text of the id; `None` for `null`, which belongs to no request.
    pub id: Option<&'a str>,
    pub outcome: Outcome<'a>,
}

#[derive(Debug, Clone, Copy)]
pub enum Outcome<'a> {
    Result(Node<'a>),
    Error(Node<'a>),
}

/// The `params` object, which may be absent. Members that every call needs are looked up once, when the frame is
/// read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Params<'a> {
    node: Option<Node<'a>>,
    pub name: Option<Node<'a>>,
    pub arguments: Option<Node<'a>>,
    /// State that the client returns from an earlier `input_required` result.
    pub request_state: Option<Node<'a>>,
    pub input_responses: Option<Node<'a>>,
    pub meta: Option<Node<'a>>,
    pub(crate) known_meta: KnownMeta<'a>,
}

impl<'a> Params<'a> {
    fn new(node: Node<'a>) -> Self {
        let [name, arguments, request_state, input_responses, meta] = node.pick(&PARAMS);
        let known_meta = meta.map(KnownMeta::pick).unwrap_or_default();
        Self { node: Some(node), name, arguments, request_state, input_responses, meta, known_meta }
    }

    #[must_use]
    pub fn node(self) -> Option<Node<'a>> {
        self.node
    }

    #[inline]
    #[must_use]
    pub fn get(self, name: &str) -> Option<Node<'a>> {
        self.node.and_then(|node| node.get(name))
    }

    /// Returns a member that must be present and a string.
    pub fn string(self, name: &'static str) -> Result<Cow<'a, str>, RpcError> {
        text_of(name, self.get(name))
    }

    /// Returns a member that must be a string if it is present.
    pub fn optional_string(self, name: &'static str) -> Result<Option<Cow<'a, str>>, RpcError> {
        self.get(name).map(|_| self.string(name)).transpose()
    }

    /// Exact text of the progress token, if the client wants progress.
    #[must_use]
    pub fn progress_token(self) -> Option<&'a str> {
        self.known_meta.progress_token.and_then(id_text)
    }
}

/// Returns the text of a member of `params` that must be present and a string.
pub fn text_of<'a>(name: &'static str, member: Option<Node<'a>>) -> Result<Cow<'a, str>, RpcError> {
    let wrong = |what: &str| RpcError::new(Code::InvalidParams, format!("params.{name} {what}"));
    let member = member.ok_or_else(|| wrong("is missing"))?;
    member.as_str().ok_or_else(|| wrong("must be a string"))
}

/// Error of reading a message, with the id to answer to if it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    pub id: Option<Box<str>>,
    pub error: RpcError,
}

impl<'a> Frame<'a> {
    /// Reads one message; the caller splits a batch.
    pub fn read(node: Node<'a>) -> Result<Self, Malformed> {
        if !node.is_object() {
            return Err(invalid(None, "a message must be a JSON object"));
        }
        let [version, id_node, method, params, result, error] = node.pick(&ENVELOPE);
        let id = id_node.and_then(id_text);
        if !version.is_some_and(|version| version.is_text("2.0")) {
            return Err(invalid(id, "jsonrpc must be \"2.0\""));
        }
        match method {
            Some(method) => {
                let Some(method) = method.as_str() else {
                    return Err(invalid(id, "method must be a string"));
                };
                let params = match params {
                    None => Params::default(),
                    Some(params) if params.is_object() => Params::new(params),
                    Some(_) => {
                        let error =
                            RpcError::new(Code::InvalidParams, "Invalid params: params must be an object");
                        return Err(Malformed { id: id.map(Into::into), error });
                    }
                };
                match (id_node, id) {
                    (None, _) => Ok(Self::Notification(Notification { method, params })),
                    (Some(_), Some(id)) => Ok(Self::Request(Request { id, method, params })),
                    (Some(_), None) => Err(invalid(None, "id must be a string or an integer")),
                }
            }
            None => Self::read_response(result, error, id_node, id),
        }
    }

    fn read_response(
        result: Option<Node<'a>>,
        error: Option<Node<'a>>,
        id_node: Option<Node<'a>>,
        id: Option<&'a str>,
    ) -> Result<Self, Malformed> {
        let outcome = match (result, error) {
            (Some(result), None) => Outcome::Result(result),
            (None, Some(error)) if error.is_object() => Outcome::Error(error),
            (None, Some(_)) => return Err(invalid(id, "error must be an object")),
            (Some(_), Some(_)) => return Err(invalid(id, "a response has a result or an error, not both")),
            (None, None) => return Err(invalid(id, "method is missing")),
        };
        let answered = id_node.is_some_and(|node| id.is_some() || node.kind() == Kind::Null);
        if !answered {
            return Err(invalid(None, "id must be a string or an integer"));
        }
        Ok(Self::Response(Response { id, outcome }))
    }
}

/// Returns the text of a valid MCP request id: a string or an integer, not null.
fn id_text(node: Node<'_>) -> Option<&str> {
    match (node.kind(), node.as_number()) {
        (Kind::String, _) | (_, Some(Number::Integer(..) | Number::Large(_))) => Some(node.raw()),
        _ => None,
    }
}

fn invalid(id: Option<&str>, message: &'static str) -> Malformed {
    Malformed {
        id: id.map(Into::into),
        error: RpcError::new(Code::InvalidRequest, format!("Invalid request: {message}")),
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::json::{Document, Limits};

    use super::*;

    fn refused(text: &str) -> Malformed {
        let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
        Frame::read(document.root()).unwrap_err()
    }

    #[test]
    fn an_id_keeps_its_exact_text() {
        let text = r#"{"jsonrpc":"2.0","id":"a\u0041","method":"ping"}"#;
        let document = Document::parse(text.as_bytes(), &Limits::message()).unwrap();
        let Frame::Request(request) = Frame::read(document.root()).unwrap() else { panic!("no request") };
        assert_eq!(request.id, r#""a\u0041""#);
    }

    #[test]
    fn a_wrong_envelope_is_refused_with_the_member_that_is_wrong() {
        for (text, says) in [
            ("[]", "object"),
            (r#"{"id":1,"method":"x"}"#, "jsonrpc"),
            (r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, "jsonrpc"),
            (r#"{"jsonrpc":"2.0","id":1}"#, "method"),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "method"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, "id"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, "id"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, "id"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, "both"),
            (r#"{"jsonrpc":"2.0","result":{}}"#, "id"),
            (r#"{"jsonrpc":"2.0","id":1,"error":3}"#, "error"),
        ] {
            let malformed = refused(text);
            assert_eq!(malformed.error.code, -32600, "{text}");
            assert!(malformed.error.message.contains(says), "{text}: {}", malformed.error.message);
        }
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}"#).error.code, -32602);
        assert_eq!(refused(r#"{"jsonrpc":"1.0","id":41,"method":"x"}"#).id.as_deref(), Some("41"));
    }
}
