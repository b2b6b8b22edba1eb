//! Load shedding: the response to a request that a limit on load refuses.
//!
//! 429 if the caller itself exceeds its share, 503 if all callers together exceed the total; both with `Retry-After`
//! and an error that names the limit. The request was not run, unless the message says so.

use http::StatusCode;
use toolcrib_engine::Reply;
use toolcrib_engine::meter::Meter;
use toolcrib_engine::quota::Full;
use toolcrib_protocol::{Code, RpcError, write};

use toolcrib_http1::Response;

/// Seconds after which bytes in flight are usually freed: bodies are read and answers taken within moments.
pub(crate) const RETRY_AFTER_S: u64 = 1;

/// A refusal because of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shed {
    full: Full,
    pub(crate) retry_after_s: u64,
}

impl From<Full> for Shed {
    fn from(full: Full) -> Self {
        Self { full, retry_after_s: RETRY_AFTER_S }
    }
}

impl Shed {
    /// Sets the seconds after which room is expected.
    pub(crate) fn after_s(self, retry_after_s: u64) -> Self {
        Self { retry_after_s: retry_after_s.max(1), ..self }
    }

    pub(crate) fn status(self) -> StatusCode {
        match self.full {
            Full::Share(_) => StatusCode::TOO_MANY_REQUESTS,
            Full::Total(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    pub(crate) fn message(self) -> String {
        format!("{}; try again in {} s", self.full, self.retry_after_s)
    }

    fn error(self) -> RpcError {
        let data = format!("{{\"limit\":\"{}\",\"max\":{}}}", self.full.bound().name, self.full.bound().max);
        RpcError::new(Code::InternalError, self.message()).with_data(data)
    }

    /// Response to a request of which no message was parsed.
    pub(crate) fn response(self, meter: &Meter) -> Response {
        meter.count_shed(self.full.bound().name);
        self.dress(Response::json(self.status(), write::error(None, &self.error())))
    }

    /// Response to a message.
    pub(crate) fn reply(self, id: Option<&str>, meter: &Meter) -> Reply {
        meter.count_shed(self.full.bound().name);
        Reply::error(self.status().as_u16(), id, &self.error())
    }

    /// Response that replaces an answer for which there is no room.
    pub(crate) fn dropped(self, bytes: usize, id: Option<&str>, meter: &Meter) -> Reply {
        meter.count_shed(self.full.bound().name);
        let mut error = self.error();
        error.message =
            format!("the request was run and its answer of {bytes} bytes dropped; {}", self.full).into();
        Reply::error(self.status().as_u16(), id, &error)
    }

    /// Whole HTTP response for a connection that is not served.
    pub(crate) fn raw(self) -> Vec<u8> {
        let (status, body) = (self.status(), write::error(None, &self.error()));
        let reason = status.canonical_reason().unwrap_or_default();
        let mut out = format!(
            "HTTP/1.1 {} {reason}\r\ncontent-type: application/json\r\nretry-after: {}\r\nconnection: close\r\n\
             content-length: {}\r\n\r\n",
            status.as_u16(),
            self.retry_after_s,
            body.len()
        )
        .into_bytes();
        out.extend_from_slice(&body);
        out
    }

    /// Adds `Retry-After`.
    pub(crate) fn dress(self, response: Response) -> Response {
        response.with("retry-after", &self.retry_after_s.to_string())
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_engine::quota::Bound;

    use super::*;

    #[test]
    fn a_refusal_names_its_limit_says_when_to_come_back_and_is_counted() {
        let meter = Meter::default();
        let bound = Bound { name: "SESSIONS_PER_SHARE_MAX", max: 5, counts: "sessions" };
        let share = Shed::from(Full::Share(bound)).after_s(7);
        let reply = share.reply(Some("3"), &meter);
        assert_eq!(reply.status, 429);
        let text = String::from_utf8(reply.payload.into_bytes().to_vec()).unwrap();
        assert_eq!(
            text,
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32603,\"message\":\"sessions: this caller is at its \
             limit SESSIONS_PER_SHARE_MAX (5); try again in 7 s\",\"data\":{\"limit\":\"SESSIONS_PER_SHARE_MAX\",\"max\":5}}}"
        );
        assert_eq!(Shed::from(Full::Total(bound)).response(&meter).status, 503);
        let mut out = String::new();
        meter.render(&mut out);
        assert!(out.contains("toolcrib_shed_total{limit=\"SESSIONS_PER_SHARE_MAX\"} 2\n"), "{out}");
    }
}
