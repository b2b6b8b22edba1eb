//! Well-formed streams of several messages on one connection, generated from a seed: keep-alive, pipelining, any
//! split.

use crate::pieces::{arrivals, bytewise};
use crate::{requests, responses};

/// Number of generated streams of each kind.
const STREAMS: u64 = 150;

/// Pseudo-random numbers derived from a seed alone (SplitMix64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    /// Generates a body that looks like framing.
    fn body(&mut self) -> String {
        let parts = ["{}", "\r\n", "0\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "abc"];
        (0..self.below(4)).map(|_| self.pick(&parts)).collect()
    }

    fn chunked(&mut self, body: &str) -> String {
        let (mut rest, mut text) = (body, String::new());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(self.below(rest.len()) + 1);
            let extension = self.pick(&["", "", ";x", " ; x=y", "\t"]);
            text += &format!("{:x}{extension}\r\n{piece}\r\n", piece.len());
            rest = after;
        }
        text + self.pick(&["0\r\n\r\n", "00;last\r\n\r\n", "0\r\nT: t\r\n\r\n", "0\r\nA: b\r\nC: d\r\n\r\n"])
    }

    /// Generates the fields that frame a body, and the framed body.
    fn framed(&mut self) -> (String, String) {
        let body = self.body();
        match self.below(4) {
            0 => (format!("{}: {}\r\n", self.pick(&["content-length", "Content-Length"]), body.len()), body),
            1 => (format!("Content-Length: {0}\r\nX-A: b\r\nContent-Length: {0}\r\n", body.len()), body),
            _ => {
                let coding = self.pick(&["Transfer-Encoding: chunked\r\n", "transfer-encoding:CHUNKED \r\n"]);
                (coding.to_owned(), self.chunked(&body))
            }
        }
    }

    fn request(&mut self) -> String {
        let before = self.pick(&["", "", "", "\r\n"]);
        let target = self.pick(&["/", "/a?b=c", "http://localhost/x", "/a//b"]);
        let extra =
            self.pick(&["", "X-A: 1\r\nx-a: 2\r\n", "Mcp-Method: m\r\n", "Connection: keep-alive\r\n"]);
        if self.below(3) == 0 {
            let method = self.pick(&["GET", "DELETE", "OPTIONS", "HEAD"]);
            return format!("{before}{method} {target} HTTP/1.1\r\nHost: localhost\r\n{extra}\r\n");
        }
        let (lines, body) = self.framed();
        format!("{before}POST {target} HTTP/1.1\r\n{extra}Host: localhost\r\n{lines}\r\n{body}")
    }

    fn response(&mut self) -> String {
        let interim =
            self.pick(&["", "", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 E\r\nLink: x\r\n\r\n"]);
        if self.below(4) == 0 {
            let first = self.pick(&["HTTP/1.1 204 No Content", "HTTP/1.1 304 Not Modified"]);
            return format!("{interim}{first}\r\n\r\n");
        }
        let first = self.pick(&["HTTP/1.1 200 OK", "HTTP/1.1 404 Not Found", "HTTP/1.1 202 Accepted"]);
        let (lines, body) = self.framed();
        format!("{interim}{first}\r\n{lines}\r\n{body}")
    }
}

/// R14.2: several requests on one connection are read as hyper reads them, whichever way they arrive.
#[tokio::test(start_paused = true)]
async fn streams_of_requests_are_read_as_hyper_reads_them() {
    for seed in 0..STREAMS {
        let mut numbers = Numbers(seed);
        let count = numbers.below(4) + 1;
        let input: String = (0..count).map(|_| numbers.request()).collect();
        let (read, statuses) = requests::ours(vec![input.clone().into_bytes()]).await;
        assert_eq!((read.len(), statuses), (count, vec![200; count]), "{input:?}");
        for pieces in arrivals(input.as_bytes()) {
            assert_eq!(requests::ours(pieces).await.0, read, "{input:?}");
        }
        for pieces in [vec![input.clone().into_bytes()], bytewise(input.as_bytes())] {
            let other = requests::theirs(pieces).await;
            assert_eq!(other.len(), count, "{input:?}");
            requests::assert_agreed(&read, &other, &input);
        }
    }
}

/// R14.1: several responses on one connection are read as hyper reads them, whichever way they arrive.
#[tokio::test]
async fn streams_of_responses_are_read_as_hyper_reads_them() {
    for seed in 0..STREAMS {
        let mut numbers = Numbers(seed);
        let count = numbers.below(4) + 1;
        let input: String = (0..count).map(|_| numbers.response()).collect();
        let (read, error) = responses::ours(vec![input.clone().into_bytes()], count).await;
        assert_eq!((read.len(), error), (count, None), "{input:?}");
        assert_eq!(read.last().map(|last| last.left), Some(0), "{input:?}");
        for pieces in arrivals(input.as_bytes()) {
            assert_eq!(responses::ours(pieces, count).await, (read.clone(), None), "{input:?}");
        }
        responses::assert_agreed(input.as_bytes(), &read, |rest| vec![rest.to_vec()], &input).await;
        responses::assert_agreed(input.as_bytes(), &read, bytewise, &input).await;
    }
}
