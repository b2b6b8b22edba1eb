//! Requests of one connection as the server parses them, for fuzz targets.
//!
//! Runs the connection code of production with a service that records what it gets.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use super::{Service, Unreadable, serve};
use crate::request::RequestHead;
use crate::response::Response;

/// Header fields that are recorded.
const FIELDS: [&str; 5] = ["host", "content-length", "transfer-encoding", "mcp-method", "x-a"];

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    pub method: String,
    pub path: Vec<u8>,
    pub query: Option<String>,
    /// Values of the fields in `FIELDS`, with their names.
    pub fields: Vec<(&'static str, Vec<u8>)>,
    /// The body; `None` for a request that was refused by its head.
    pub body: Option<Result<Vec<u8>, String>>,
}

/// Path whose requests are refused by their head.
pub const REFUSED_PATH: &str = "/refused";

struct Recorder {
    seen: Mutex<Vec<Observed>>,
    body_bytes_max: usize,
}

impl Recorder {
    fn push(&self, observed: Observed) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(observed);
    }
}

fn observed(head: &RequestHead) -> Observed {
    let values = |name: &'static str| head.values(name).map(move |value| (name, value.to_vec()));
    Observed {
        method: head.method().to_string(),
        path: head.path_bytes().to_vec(),
        query: head.query().map(str::to_owned),
        fields: FIELDS.into_iter().flat_map(values).collect(),
        body: None,
    }
}

impl Service for Recorder {
    type Admitted = Observed;
    type HeadRoom = ();

    fn head_room(&self, _: Option<&RequestHead>, _: Option<IpAddr>) -> Result<(), Response> {
        Ok(())
    }

    fn admit(&self, head: &RequestHead, _: Option<IpAddr>) -> Result<Observed, Response> {
        let observed = observed(head);
        if head.path() == REFUSED_PATH {
            self.push(observed);
            return Err(Response::empty(StatusCode::FORBIDDEN));
        }
        Ok(observed)
    }

    fn body_limits(&self) -> (usize, Duration) {
        (self.body_bytes_max, Duration::from_secs(60))
    }

    fn unread(&self, admitted: Observed, why: Unreadable) -> Response {
        self.push(Observed { body: Some(Err(format!("{why:?}"))), ..admitted });
        Response::empty(StatusCode::BAD_REQUEST)
    }

    fn reserve(&self, _admitted: &mut Observed, _bytes: usize) -> Result<(), Response> {
        Ok(())
    }

    async fn answer(self: &Arc<Self>, head: RequestHead, admitted: Observed) -> Response {
        self.push(Observed { body: Some(Ok(head.body().to_vec())), ..admitted });
        Response::json(StatusCode::OK, "{}")
    }
}

/// Serves a connection until it ends and returns the requests that it carried.
pub async fn observe<S>(stream: S, body_bytes_max: usize) -> Vec<Observed>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let recorder = Arc::new(Recorder { seen: Mutex::default(), body_bytes_max });
    let (_stop, stopped) = watch::channel(false);
    serve(stream, recorder.clone(), None, stopped, Duration::from_secs(60)).await;
    let mut seen = recorder.seen.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::take(&mut *seen)
}
