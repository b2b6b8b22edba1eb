//! Connects to a host with several addresses, by RFC 8305 ("happy eyeballs").
//!
//! Guarantees: an address that does not answer delays the next one by `CONNECT_STAGGER_MS`, not by its own timeout.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::limits::{ADDRESSES_MAX, CONNECT_STAGGER_MS};

/// Connects to the address that answers first. Attempts start one after the other, alternating between address
/// families.
pub(super) async fn connect(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut waiting = in_turn(addresses).into_iter().take(ADDRESSES_MAX);
    let mut attempts = JoinSet::new();
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        if let Some(address) = waiting.next() {
            attempts.spawn(TcpStream::connect(address));
        } else if attempts.is_empty() {
            return Err(last);
        }
        let is_last = waiting.len() == 0;
        let next = async {
            match is_last {
                true => std::future::pending().await,
                false => tokio::time::sleep(Duration::from_millis(CONNECT_STAGGER_MS)).await,
            }
        };
        tokio::select! {
            Some(ended) = attempts.join_next() => match ended {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last = error,
                Err(error) => last = io::Error::other(error),
            },
            () = next => {}
        }
    }
}

/// Orders addresses so that families alternate, starting with the family of the first address.
fn in_turn(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (one, other): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|one| one.is_ipv6() == first);
    let (mut one, mut other) = (one.into_iter(), other.into_iter());
    let mut turns = Vec::new();
    loop {
        let before = turns.len();
        turns.extend(one.next());
        turns.extend(other.next());
        if turns.len() == before {
            return turns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    /// `ADDRESSES_MAX`: families alternate, and at most that many addresses of a host are tried.
    #[tokio::test]
    async fn families_take_turns() {
        let turns =
            in_turn(["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "1.1.1.2:1"].map(address).to_vec());
        let expected = ["[::1]:1", "1.1.1.1:1", "[::2]:1", "1.1.1.2:1", "[::3]:1"].map(address);
        assert_eq!(turns, expected);
        assert!(in_turn(Vec::new()).is_empty());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut many = vec![address("127.0.0.1:1"); ADDRESSES_MAX];
        many.push(listener.local_addr().unwrap());
        assert!(connect(many).await.is_err());
    }

    /// R14.1: a dead address costs `CONNECT_STAGGER_MS`, not a connect timeout.
    #[tokio::test]
    async fn a_dead_address_delays_the_others_by_connect_stagger_ms() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        // A listener with a full backlog answers nothing.
        let full = tokio::net::TcpSocket::new_v4().unwrap();
        full.bind(address("127.0.0.1:0")).unwrap();
        let full = full.listen(1).unwrap();
        let dead = full.local_addr().unwrap();
        let mut held = Vec::new();
        while let Ok(Ok(stream)) =
            tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(dead)).await
        {
            held.push(stream);
        }
        let begun = std::time::Instant::now();
        let stream = connect(vec![dead, listener.local_addr().unwrap()]).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), listener.local_addr().unwrap());
        let elapsed = begun.elapsed();
        assert!(elapsed >= Duration::from_millis(CONNECT_STAGGER_MS), "{elapsed:?}");
        assert!(elapsed < Duration::from_millis(CONNECT_STAGGER_MS) + Duration::from_secs(1), "{elapsed:?}");
    }
}
