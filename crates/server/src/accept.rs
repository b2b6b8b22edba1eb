//! What kinds of answer a client takes.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};

pub(crate) const JSON: &str = "application/json";
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// From the `Accept` header; without one a client takes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accept {
    pub(crate) json: bool,
    pub(crate) events: bool,
}

impl Accept {
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let mut accept = Self { json: false, events: false };
        let mut given = false;
        for value in headers.get_all(ACCEPT) {
            given = true;
            for item in value.to_str().unwrap_or_default().split(',') {
                let media = item.split(';').next().unwrap_or_default().trim();
                let is = |name: &str| media.eq_ignore_ascii_case(name);
                accept.json |= is(JSON) || is("application/*") || is("*/*");
                accept.events |= is(EVENT_STREAM) || is("text/*") || is("*/*");
            }
        }
        if given { accept } else { Self { json: true, events: true } }
    }
}

/// Whether the body is declared to be JSON.
pub(crate) fn declares_json(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|media| media.trim().eq_ignore_ascii_case(JSON))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Accept {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, value.parse().unwrap());
        Accept::read(&headers)
    }

    #[test]
    fn accept_is_read_by_media_type() {
        assert_eq!(read("application/json, text/event-stream"), Accept { json: true, events: true });
        assert_eq!(read("Application/JSON;q=0.9"), Accept { json: true, events: false });
        assert_eq!(read("text/event-stream"), Accept { json: false, events: true });
        assert_eq!(read("*/*"), Accept { json: true, events: true });
        assert_eq!(read("text/html"), Accept { json: false, events: false });
        assert_eq!(Accept::read(&HeaderMap::new()), Accept { json: true, events: true });
    }
}
