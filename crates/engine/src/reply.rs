//! [`Reply`]: the bytes of an answer, and its HTTP status.

use std::borrow::Cow;

use bytes::Bytes;
use toolcrib_protocol::convert::result;
use toolcrib_protocol::{CacheHint, Revision, RpcError, write};

use crate::forwarded::Forwarded;

/// Answer to one message.
#[derive(Debug, Clone)]
pub struct Reply {
    /// HTTP status; other transports ignore it.
    pub status: u16,
    pub payload: Payload,
}

/// JSON-RPC message, possibly with parts that are shared with other replies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// No message: the answer to a notification or a cancelled request.
    Nothing,
    Whole(Bytes),
    /// Boxed: replies are moved often, and most are `Whole`.
    Spliced(Box<Spliced>),
    /// Consecutive pieces, such as the answers of a batch; shared pieces are not copied.
    Joined(Box<[Bytes]>),
}

/// `head`, then bytes prepared earlier, then [`SPLICE_TAIL`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spliced {
    pub head: Bytes,
    pub prepared: Bytes,
}

/// Closing brace of a spliced payload.
pub const SPLICE_TAIL: &[u8] = b"}";

impl Payload {
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Whole(bytes) => bytes.len(),
            Self::Spliced(spliced) => spliced.head.len() + spliced.prepared.len() + SPLICE_TAIL.len(),
            Self::Joined(pieces) => pieces.iter().map(Bytes::len).sum(),
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes that only this payload keeps in memory; prepared lists are shared with their cache.
    #[must_use]
    pub fn own_len(&self) -> usize {
        let own = |bytes: &Bytes| if bytes.is_unique() { bytes.len() } else { 0 };
        match self {
            Self::Nothing => 0,
            Self::Whole(bytes) => own(bytes),
            Self::Spliced(spliced) => own(&spliced.head) + own(&spliced.prepared),
            Self::Joined(pieces) => pieces.iter().map(own).sum(),
        }
    }

    /// Passes the pieces of the message to a callback, in order.
    pub fn pieces(self, mut each: impl FnMut(Bytes)) {
        match self {
            Self::Nothing => {}
            Self::Whole(bytes) => each(bytes),
            Self::Spliced(spliced) => {
                each(spliced.head);
                each(spliced.prepared);
                each(Bytes::from_static(SPLICE_TAIL));
            }
            Self::Joined(pieces) => pieces.into_iter().for_each(each),
        }
    }

    /// Returns the message in one piece.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Nothing => Bytes::new(),
            Self::Whole(bytes) => bytes,
            several @ (Self::Spliced(_) | Self::Joined(_)) => {
                let mut out = Vec::with_capacity(several.len());
                several.pieces(|piece| out.extend_from_slice(&piece));
                out.into()
            }
        }
    }
}

impl Reply {
    /// Returns an empty reply with status 202, for a notification or when no client waits.
    #[must_use]
    pub fn accepted() -> Self {
        Self { status: 202, payload: Payload::Nothing }
    }

    /// Returns a whole message with status 200.
    #[must_use]
    pub fn whole(message: impl Into<Bytes>) -> Self {
        Self { status: 200, payload: Payload::Whole(message.into()) }
    }

    #[must_use]
    pub fn result(id_raw: &str, result_raw: &[u8]) -> Self {
        Self::whole(write::result(id_raw, result_raw))
    }

    /// Returns an upstream server's result in the form of a revision; a large result that needs no change is not
    /// copied.
    #[must_use]
    pub fn forwarded(
        id_raw: &str,
        forwarded: Forwarded,
        revision: Revision,
        hint: Option<CacheHint>,
    ) -> Self {
        let result = result::convert(forwarded.result(), revision, hint);
        if matches!(result, Cow::Owned(_)) || !forwarded.is_large() {
            return Self::result(id_raw, result.as_bytes());
        }
        drop(result);
        Self::prepared(id_raw, forwarded.into_bytes())
    }

    /// Returns a prepared result: only the id is written.
    #[must_use]
    pub fn prepared(id_raw: &str, prepared: Bytes) -> Self {
        let mut head = Vec::with_capacity(write::opened_len(id_raw));
        write::open_result(&mut head, id_raw);
        let spliced = Box::new(Spliced { head: head.into(), prepared });
        Self { status: 200, payload: Payload::Spliced(spliced) }
    }

    #[must_use]
    pub fn error(status: u16, id_raw: Option<&str>, error: &RpcError) -> Self {
        Self { status, payload: Payload::Whole(write::error(id_raw, error).into()) }
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::json::{Limits, OwnedDocument};

    use super::*;

    #[test]
    fn a_large_result_is_forwarded_where_it_stands() {
        for len in [10, 100_000] {
            let result = format!("{{\"resultType\":\"complete\",\"x\":\"{}\"}}", "é".repeat(len));
            let message = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\": {result} }}");
            let message = OwnedDocument::parse_passing(message, &Limits::message()).unwrap();
            let at = message.root().get("result").unwrap().raw().as_ptr();
            let forwarded = Forwarded::new(message).unwrap();
            let reply = Reply::forwarded("1", forwarded, Revision::FIRST_MODERN, None);
            if let Payload::Spliced(spliced) = &reply.payload {
                assert_eq!(spliced.prepared.as_ptr(), at, "it was copied");
            } else {
                assert_eq!(len, 10);
            }
            let whole = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}");
            assert_eq!(reply.payload.into_bytes(), whole);
        }
    }

    #[test]
    fn a_spliced_reply_is_the_same_message_as_a_whole_one() {
        let prepared = Reply::prepared("\"a\"", Bytes::from_static(b"{\"tools\":[]}"));
        assert_eq!(prepared.payload.len(), Reply::result("\"a\"", b"{\"tools\":[]}").payload.len());
        assert_eq!(
            prepared.payload.into_bytes(),
            Reply::result("\"a\"", b"{\"tools\":[]}").payload.into_bytes()
        );
    }
}
