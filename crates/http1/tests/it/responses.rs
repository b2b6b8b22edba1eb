//! Differential test of responses: our client against hyper's.
//!
//! Property: every response that ours reads, hyper reads with the same status, body and end, so the same bytes are
//! left for the next response. Ours may refuse more.
//!
//! Known differences: a connection that switches protocols (101) is an error for ours and an upgrade for hyper. Ours
//! closes a connection that hyper keeps in two cases: HTTP/1.0, and a status without a body that declares one.

use tokio::io::{AsyncRead, AsyncWrite};
use toolcrib_http1::ResponseHead;
use toolcrib_http1::client::{BodyReader, ClientConnection, ReadError};
use toolcrib_testkit::oracle::{self, ReadResponse};
use toolcrib_testkit::script::Script;

use crate::pieces::{arrivals, bytewise};
use crate::response_cases::{self, Expected, INNOCENT};

/// Response that our client read completely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Own {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    pub(crate) is_kept: bool,
    /// Bytes of the input that follow it.
    pub(crate) left: usize,
}

/// Reads the next response of a connection.
pub(crate) async fn next<S: AsyncRead + AsyncWrite + Unpin>(
    conn: &mut ClientConnection<S>,
    unread: impl Fn() -> usize,
) -> Result<Own, ReadError> {
    let head: ResponseHead = conn.head().await?;
    let mut reader = BodyReader::new(head.framing());
    let mut body = Vec::new();
    while reader.piece(conn, 7, |piece| body.extend_from_slice(piece)).await?.is_some() {}
    let left = conn.ahead().len() + unread();
    Ok(Own { status: head.status(), body, is_kept: head.keeps_alive(), left })
}

/// Reads responses until one closes the connection, one is refused, or `most` were read.
pub(crate) async fn ours(pieces: Vec<Vec<u8>>, most: usize) -> (Vec<Own>, Option<ReadError>) {
    let script = Script::new(pieces);
    let seen = script.seen();
    let mut conn = ClientConnection::new(script);
    let mut read = Vec::new();
    while read.len() < most && read.last().is_none_or(|last: &Own| last.is_kept) {
        match next(&mut conn, || seen.unread()).await {
            Ok(own) => read.push(own),
            Err(error) => return (read, Some(error)),
        }
    }
    (read, None)
}

/// Asserts that hyper reads each of our responses alike and ends it at the same byte.
pub(crate) async fn assert_agreed(input: &[u8], ours: &[Own], split: fn(&[u8]) -> Vec<Vec<u8>>, of: &str) {
    let mut rest = input.to_vec();
    for own in ours {
        let script = Script::new(split(&rest));
        let seen = script.seen();
        let (other, ahead, _) = match oracle::response(script).await {
            Ok(read) => read,
            Err(error) => panic!("{of}: hyper refuses {own:?}: {error}"),
        };
        let ReadResponse { status, body, .. } = other;
        assert_eq!((own.status, &own.body), (status, &body), "{of}");
        assert_eq!(own.left, ahead.len() + seen.unread(), "{of}: hyper ends it elsewhere");
        rest.drain(..rest.len() - own.left);
    }
}

/// R14.1: at least 100 ambiguous or malformed responses, each followed by an innocent one. Each is refused or read with
/// one framing, however it arrives, and none is read that hyper refuses or ends elsewhere.
#[tokio::test]
async fn malformed_responses_are_refused_or_read_as_hyper_reads_them() {
    let cases = response_cases::all();
    assert!(cases.len() >= 100, "{} cases", cases.len());
    for case in &cases {
        let of = &case.name();
        let input = [case.bytes.as_slice(), INNOCENT.as_bytes()].concat();
        let (read, error) = ours(vec![input.clone()], 2).await;
        let shown: Vec<(u16, &[u8], bool)> =
            read.iter().map(|own| (own.status, own.body.as_slice(), own.is_kept)).collect();
        match case.expected {
            Expected::Kept(status, body) => {
                assert_eq!(shown, [(status, body, true), (200, &b"innocent"[..], true)], "{of}");
                assert_eq!((read[0].left, error), (INNOCENT.len(), None), "{of}");
            }
            Expected::Closed(status, body) => {
                assert_eq!((shown.as_slice(), error), (&[(status, body, false)][..], None), "{of}");
            }
            Expected::UntilClose(status, body) => {
                let whole = [body, INNOCENT.as_bytes()].concat();
                assert_eq!(
                    (shown.as_slice(), error),
                    (&[(status, whole.as_slice(), false)][..], None),
                    "{of}"
                );
            }
            Expected::Refused(words) => {
                let said = error.map(|error| error.to_string()).unwrap_or_default();
                assert!(shown.is_empty() && said.contains(words), "{of}: {shown:?} {said:?}");
            }
        }
        for pieces in arrivals(&input) {
            let shown = format!("{of} in {} pieces, the first of {} bytes", pieces.len(), pieces[0].len());
            assert_eq!(ours(pieces, 2).await, (read.clone(), error), "{shown}");
        }
        assert_agreed(&input, &read, |rest| vec![rest.to_vec()], of).await;
        if input.len() < 2_000 {
            assert_agreed(&input, &read, bytewise, of).await;
        }
    }
    let refused = cases.iter().filter(|case| matches!(case.expected, Expected::Refused(_))).count();
    println!("{} responses, {refused} of them refused", cases.len());
}
