//! The head of an answer behind the interim heads (1xx) that a server may send first.
//!
//! Refuses by the limit's name: too many interim heads, or too many bytes of them.

use super::conn::Conn;
use super::head::Head;
use crate::error::Cause;
use crate::limits::{UPSTREAM_INTERIM_BYTES_MAX, UPSTREAM_INTERIM_HEADS_MAX};

/// Reads the head of the answer, past the interim ones before it.
pub(super) async fn read_head(conn: &mut Conn) -> Result<Head, Cause> {
    let mut interim = Interim::default();
    loop {
        if let Some((head, length)) = conn.head()? {
            conn.take(length);
            if !head.is_interim() {
                return Ok(head);
            }
            interim.count(&head, length)?;
            continue;
        }
        if conn.read(0).await.map_err(|_| Cause::Closed)? == 0 {
            return Err(Cause::Closed);
        }
    }
}

/// Interim heads (1xx) that came before an answer.
#[derive(Default)]
struct Interim {
    heads: usize,
    bytes: usize,
}

impl Interim {
    fn count(&mut self, head: &Head, length: usize) -> Result<(), Cause> {
        if head.status == 101 {
            return Err(Cause::Garbage("it switches to a protocol that nobody asked for"));
        }
        self.heads += 1;
        self.bytes += length;
        if self.heads > UPSTREAM_INTERIM_HEADS_MAX {
            let (limit, max) = ("UPSTREAM_INTERIM_HEADS_MAX", UPSTREAM_INTERIM_HEADS_MAX);
            return Err(Cause::TooMuch { limit, max, what: "interim heads before its answer" });
        }
        if self.bytes > UPSTREAM_INTERIM_BYTES_MAX {
            let (limit, max) = ("UPSTREAM_INTERIM_BYTES_MAX", UPSTREAM_INTERIM_BYTES_MAX);
            return Err(Cause::TooLarge { limit, max });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::once;

    const LAST: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

    /// R5.6: `UPSTREAM_INTERIM_HEADS_MAX`, `UPSTREAM_INTERIM_BYTES_MAX`: the last head that is let in, and one more.
    #[tokio::test]
    async fn interim_heads_over_their_limits_are_refused_by_the_limits_name() {
        let read = async |interim: String| {
            once::read(&format!("{interim}{LAST}")).await.map_err(|error| error.to_string())
        };
        let small = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
        assert_eq!(read(small.repeat(UPSTREAM_INTERIM_HEADS_MAX)).await.as_deref(), Ok("{}"));
        let many = read(small.repeat(UPSTREAM_INTERIM_HEADS_MAX + 1)).await.unwrap_err();
        assert_eq!(
            many,
            "UPSTREAM_INTERIM_HEADS_MAX: the server sent more than 64 interim heads before its answer"
        );
        let half = |bytes| format!("HTTP/1.1 102 P\r\nX: {}\r\n\r\n", "x".repeat(bytes - 23));
        let most = UPSTREAM_INTERIM_BYTES_MAX / 2;
        assert_eq!(read(half(most) + &half(most)).await.as_deref(), Ok("{}"));
        let large = read(half(most) + &half(most + 1)).await.unwrap_err();
        assert_eq!(large, "UPSTREAM_INTERIM_BYTES_MAX: the server sent more than 65536 bytes");
    }

    #[tokio::test]
    async fn a_switch_of_protocols_is_no_interim_head() {
        let switched = once::read(&format!("HTTP/1.1 101 Switching Protocols\r\n\r\n{LAST}")).await;
        assert!(matches!(*switched.unwrap_err().cause, Cause::Garbage(_)));
    }
}
