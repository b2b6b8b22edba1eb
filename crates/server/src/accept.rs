//! Content negotiation: the media types that a client accepts and sends.

use std::sync::Arc;

use toolcrib_engine::Approach;
use toolcrib_http1::RequestHead;

use crate::cors::Origin;

pub(crate) const JSON: &str = "application/json";
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// The value that the specification requires of clients, which nearly all of them send.
const BOTH: &str = "application/json, text/event-stream";

/// Media types that the `Accept` header allows; without the header, all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accept {
    pub(crate) json: bool,
    pub(crate) events: bool,
    /// `true` if event streams are listed before JSON.
    pub(crate) events_first: bool,
}

/// Result of judging the head of a POST: its path exists, its Host and Origin are expected, and it declares JSON.
#[derive(Debug, Clone)]
pub(crate) struct Asks {
    pub(crate) accept: Accept,
    pub(crate) approach: Option<Arc<Approach>>,
    /// Origin that may read the answer.
    pub(crate) origin: Option<Origin>,
}

impl Accept {
    pub(crate) fn read(head: &RequestHead) -> Self {
        let mut accept = Self { json: false, events: false, events_first: false };
        let mut given = false;
        for value in head.values("accept") {
            given = true;
            if value == BOTH.as_bytes() {
                accept = Self { json: true, events: true, events_first: accept.events_first };
                continue;
            }
            for item in std::str::from_utf8(value).unwrap_or_default().split(',') {
                let media = item.split(';').next().unwrap_or_default().trim();
                let is = |name: &str| media.eq_ignore_ascii_case(name);
                accept.json |= is(JSON) || is("application/*") || is("*/*");
                accept.events |= is(EVENT_STREAM) || is("text/*") || is("*/*");
                accept.events_first |= is(EVENT_STREAM) && !accept.json;
            }
        }
        if given { accept } else { Self { json: true, events: true, events_first: false } }
    }
}

/// Returns `true` if the body is declared to be JSON.
pub(crate) fn declares_json(head: &RequestHead) -> bool {
    let given = head.values("content-type").next().unwrap_or_default();
    // Fast path: nearly all clients send exactly this value.
    given == JSON.as_bytes() || {
        let media = given.split(|byte| *byte == b';').next().unwrap_or_default();
        media.trim_ascii().eq_ignore_ascii_case(JSON.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirrors::head_with;

    fn read(value: &str) -> Accept {
        Accept::read(&head_with(&[("Accept", value)]))
    }

    #[test]
    fn json_is_declared_with_or_without_parameters() {
        let declares = |value| declares_json(&head_with(&[("Content-Type", value)]));
        assert!(declares("application/json") && declares("Application/JSON ; charset=utf-8"));
        assert!(!declares("text/json") && !declares("application/jsonx") && !declares(""));
        assert!(!declares_json(&head_with(&[])));
    }

    #[test]
    fn accept_is_read_by_media_type() {
        let accept = |json, events, events_first| Accept { json, events, events_first };
        assert_eq!(read("application/json, text/event-stream"), accept(true, true, false));
        assert_eq!(read("text/event-stream, application/json"), accept(true, true, true));
        assert_eq!(read("Application/JSON;q=0.9"), accept(true, false, false));
        assert_eq!(read("text/event-stream"), accept(false, true, true));
        assert_eq!(read("*/*"), accept(true, true, false));
        assert_eq!(read("text/html"), accept(false, false, false));
        let both = |first: &str| Accept::read(&head_with(&[("Accept", first), ("Accept", BOTH)]));
        assert_eq!(both("text/event-stream"), accept(true, true, true));
        assert_eq!(both("text/html"), accept(true, true, false));
        assert_eq!(Accept::read(&head_with(&[])), accept(true, true, false));
    }
}
