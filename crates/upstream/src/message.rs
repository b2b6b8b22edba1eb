//! One message from a server, parsed once and kept with its text.

use toolcrib_contract::json::{Limits, Node, OwnedDocument, ReadError, ReadErrorKind, Spot};
use toolcrib_engine::Forwarded;
use toolcrib_engine::long_work::{self, is_long_to_read};
use toolcrib_protocol::{Code, Frame, Outcome, Response, RpcError};

use crate::error::Cause;
use crate::limits::{UPSTREAM_MESSAGE_BYTES_MAX, UPSTREAM_MESSAGE_NODES_MAX};

/// A parsed message and its kind.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    document: OwnedDocument,
    kind: Kind,
    /// Place of the result, in a successful response.
    result: Option<Spot>,
}

/// Kind of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A response with its id; `None` for `null` or an id that is not one of ours.
    Response(Option<u64>),
    Notification,
    /// A request with its raw id.
    Request(Box<str>),
}

impl Message {
    pub(crate) fn read(text: String) -> Result<Self, Cause> {
        if text.len() > UPSTREAM_MESSAGE_BYTES_MAX {
            return Err(too_large());
        }
        Self::of(OwnedDocument::parse_passing(text, &limits()))
    }

    fn of(document: Result<OwnedDocument, ReadError>) -> Result<Self, Cause> {
        let document = document.map_err(|error| unreadable(&error.kind))?;
        let (kind, result) = match Frame::read(document.root()) {
            Ok(Frame::Response(Response { id, outcome })) => {
                let result = match outcome {
                    Outcome::Result(result) => Some(result.spot()),
                    Outcome::Error(_) => None,
                };
                (Kind::Response(id.and_then(|id| id.parse().ok())), result)
            }
            Ok(Frame::Notification(_)) => (Kind::Notification, None),
            Ok(Frame::Request(request)) => (Kind::Request(request.id.into()), None),
            Err(_) => return Err(Cause::Garbage("it is no JSON-RPC message")),
        };
        Ok(Self { document, kind, result })
    }

    /// Parses a message from a server; a large one on the thread for long work.
    pub(crate) async fn receive(text: String) -> Result<Self, Cause> {
        if !is_long_to_read(text.len()) || text.len() > UPSTREAM_MESSAGE_BYTES_MAX {
            return Self::read(text);
        }
        // Boxed, so that an ordinary message has a smaller future.
        let read = Box::pin(long_work::read(text.into_bytes(), limits())).await;
        Self::of(read.map_err(Cause::Unread)?)
    }

    pub(crate) async fn receive_bytes(bytes: Vec<u8>) -> Result<Self, Cause> {
        let text = String::from_utf8(bytes).map_err(|_| Cause::Garbage("it is not UTF-8"))?;
        Self::receive(text).await
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }

    pub(crate) fn is_response(&self) -> bool {
        matches!(self.kind, Kind::Response(_))
    }

    /// Returns the bytes of the message's text.
    pub(crate) fn bytes(&self) -> usize {
        self.root().raw().len()
    }

    pub(crate) fn root(&self) -> Node<'_> {
        self.document.root()
    }

    pub(crate) fn method(&self) -> String {
        self.root().get("method").and_then(Node::as_str).unwrap_or_default().into_owned()
    }

    pub(crate) fn params(&self) -> Option<Node<'_>> {
        self.root().get("params")
    }

    pub(crate) fn into_document(self) -> OwnedDocument {
        self.document
    }

    /// Returns the result for forwarding; `None` if the message has no result object.
    pub(crate) fn into_forwarded(self) -> Option<Forwarded> {
        Forwarded::at(self.document, self.result?)
    }

    /// Returns the result of a response, or its error.
    pub(crate) fn result(&self) -> Result<Node<'_>, RpcError> {
        self.result.map(|spot| self.document.at(spot)).ok_or_else(|| match self.root().get("error") {
            Some(error) if self.is_response() => rpc_error(error),
            _ => RpcError::new(Code::InternalError, "no response"),
        })
    }

    /// Returns the token of the request that a progress notification reports on.
    pub(crate) fn progress_token(&self) -> Option<u64> {
        self.params()?.get("progressToken")?.raw().parse().ok()
    }
}

fn limits() -> Limits {
    Limits::message().with_bytes_max(UPSTREAM_MESSAGE_BYTES_MAX).with_nodes_max(UPSTREAM_MESSAGE_NODES_MAX)
}

fn unreadable(error: &ReadErrorKind) -> Cause {
    match *error {
        ReadErrorKind::Depth { limit: max } => {
            Cause::TooMuch { limit: "JSON_DEPTH_MAX", max, what: "containers inside each other" }
        }
        ReadErrorKind::Nodes { limit: max } => Cause::TooMuch {
            limit: "UPSTREAM_MESSAGE_NODES_MAX",
            max,
            what: "values and keys in one message",
        },
        _ => Cause::Garbage("it is no valid JSON"),
    }
}

pub(crate) fn too_large() -> Cause {
    Cause::TooLarge { limit: "UPSTREAM_MESSAGE_BYTES_MAX", max: UPSTREAM_MESSAGE_BYTES_MAX }
}

/// Copies a server's error unchanged: code, message and data.
fn rpc_error(error: Node<'_>) -> RpcError {
    let code = error.get("code").and_then(Node::as_i64).and_then(|code| i32::try_from(code).ok());
    let message = error.get("message").and_then(Node::as_str).unwrap_or_default();
    RpcError {
        code: code.unwrap_or(Code::InternalError.number()),
        message: message.into_owned().into(),
        data: error.get("data").map(|data| data.to_compact().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_told_by_its_members_and_keeps_its_text() {
        let response = Message::read(r#"{"jsonrpc":"2.0","id":7,"result":{"x":0.60}}"#.into()).unwrap();
        assert_eq!(response.kind(), &Kind::Response(Some(7)));
        assert_eq!(response.result().unwrap().raw(), r#"{"x":0.60}"#);
        let other = Message::read(
            r#"{"jsonrpc":"2.0","id":"7","error":{"code":-5,"message":"m","data":[1]}}"#.into(),
        );
        let other = other.unwrap();
        assert_eq!(other.kind(), &Kind::Response(None));
        let error = other.result().unwrap_err();
        assert_eq!((error.code, error.data.as_deref()), (-5, Some("[1]")));
        for garbage in ["", "hello", "[]", "{}", "{\"jsonrpc\":\"2.0\"}"] {
            assert!(matches!(Message::read(garbage.into()), Err(Cause::Garbage(_))), "{garbage}");
        }
    }

    /// R5.6: the message is refused by the limit's name, and exactly at the limit it is accepted.
    #[test]
    fn a_message_over_upstream_message_nodes_max_or_too_deep_is_refused_by_the_limits_name() {
        let answer = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        let numbers = |count: usize| answer(&format!("[{}0]", "0,".repeat(count - 1)));
        // Other values and keys of the message: the object, its three keys, two of their values and the list.
        let most = UPSTREAM_MESSAGE_NODES_MAX - 7;
        assert!(Message::read(numbers(most)).is_ok());
        let cause = Message::read(numbers(most + 1)).unwrap_err();
        assert_eq!(
            cause.to_string(),
            "UPSTREAM_MESSAGE_NODES_MAX: the server sent more than 1048576 values and keys in one message"
        );
        let deep = answer(&("[".repeat(200) + &"]".repeat(200)));
        let cause = Message::read(deep).unwrap_err().to_string();
        assert_eq!(cause, "JSON_DEPTH_MAX: the server sent more than 128 containers inside each other");
    }
}
