//! Answer to a batch: the answers to its messages, in their order.
//!
//! Guarantees: shared bytes, such as a prepared list, are not copied. Once the answers exceed a limit, no further
//! request of the batch is run.

use bytes::Bytes;
use toolcrib_engine::{Payload, Reply};
use toolcrib_protocol::{Code, RpcError};

use toolcrib_http1::limits::UNCOUNTED_BYTES_MAX;

use crate::limits::BATCH_ANSWER_BYTES_MAX;

/// Answers collected so far.
#[derive(Debug, Default)]
pub(crate) struct BatchAnswer {
    pieces: Vec<Bytes>,
    /// Small pieces since the last large one, concatenated.
    small: Vec<u8>,
    bytes: usize,
}

impl BatchAnswer {
    /// Returns the answer to a request that is not run because the batch has too many bytes already; `None` if it may
    /// run.
    pub(crate) fn refusal(&self, id: Option<&str>) -> Option<Reply> {
        if self.bytes < BATCH_ANSWER_BYTES_MAX {
            return None;
        }
        let message = format!(
            "the answers of this batch are over {BATCH_ANSWER_BYTES_MAX} bytes (BATCH_ANSWER_BYTES_MAX): this request \
             was not run; send it in another batch"
        );
        let data = format!("{{\"limit\":\"BATCH_ANSWER_BYTES_MAX\",\"max\":{BATCH_ANSWER_BYTES_MAX}}}");
        Some(Reply::error(200, id, &RpcError::new(Code::InternalError, message).with_data(data)))
    }

    /// Appends the answer to one message, if it has one.
    pub(crate) fn add(&mut self, payload: Payload) {
        if payload == Payload::Nothing {
            return;
        }
        self.small.push(if self.bytes == 0 { b'[' } else { b',' });
        self.bytes += payload.len() + 1;
        payload.pieces(|piece| {
            if piece.len() <= UNCOUNTED_BYTES_MAX {
                self.small.extend_from_slice(&piece);
            } else {
                self.pieces.push(std::mem::take(&mut self.small).into());
                self.pieces.push(piece);
            }
        });
    }

    /// Returns the whole answer; `Nothing` if no message had one.
    pub(crate) fn finish(mut self) -> Payload {
        if self.bytes == 0 {
            return Payload::Nothing;
        }
        self.small.push(b']');
        if self.pieces.is_empty() {
            return Payload::Whole(self.small.into());
        }
        self.pieces.push(self.small.into());
        Payload::Joined(self.pieces.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_joined_in_order_and_a_shared_list_is_not_copied() {
        let list = Bytes::from(format!("{{\"tools\":[\"{}\"]}}", "x".repeat(UNCOUNTED_BYTES_MAX)));
        let mut batch = BatchAnswer::default();
        let mut expected = Vec::new();
        for id in ["1", "2"] {
            batch.add(Payload::Nothing);
            batch.add(Reply::prepared(id, list.clone()).payload);
            batch.add(Reply::result(id, b"{}").payload);
            expected.push(Reply::prepared(id, list.clone()).payload.into_bytes());
            expected.push(Reply::result(id, b"{}").payload.into_bytes());
        }
        let payload = batch.finish();
        let Payload::Joined(pieces) = &payload else { panic!("{payload:?}") };
        assert_eq!(pieces.iter().filter(|piece| piece.as_ptr() == list.as_ptr()).count(), 2);
        assert!(payload.own_len() < 1_000, "{}", payload.own_len());
        assert_eq!(payload.into_bytes(), [&b"["[..], &expected.join(&b","[..]), b"]"].concat());
        assert_eq!(BatchAnswer::default().finish(), Payload::Nothing);
        let mut one = BatchAnswer::default();
        one.add(Payload::Whole("{}".into()));
        assert_eq!(one.finish(), Payload::Whole("[{}]".into()));
    }

    #[test]
    fn after_batch_answer_bytes_max_the_rest_of_a_batch_is_refused() {
        let mut batch = BatchAnswer::default();
        batch.add(Payload::Whole(vec![b'x'; BATCH_ANSWER_BYTES_MAX - 2].into()));
        assert!(batch.refusal(Some("1")).is_none());
        batch.add(Payload::Whole("x".into()));
        let refused = batch.refusal(Some("1")).unwrap().payload.into_bytes();
        assert!(String::from_utf8_lossy(&refused).contains("\"limit\":\"BATCH_ANSWER_BYTES_MAX\""));
    }
}
