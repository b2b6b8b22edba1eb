//! Connections within one machine.
//!
//! Nothing between their ends can be congested, so a congestion control that measures and paces them (BBR, the default
//! of many servers) only costs: about a twentieth of the CPU of a small call.

use std::net::SocketAddr;

/// The one that does least; every Linux has it and lets everybody use it.
#[cfg(target_os = "linux")]
const PLAIN: &str = "reno";

/// Takes the pacing from a connection if both ends are here. One that keeps it works as well.
#[cfg(target_os = "linux")]
pub fn unpace(socket: impl std::os::fd::AsFd, here: SocketAddr, there: SocketAddr) {
    if here.ip() == there.ip()
        && let Err(error) = rustix::net::sockopt::set_tcp_congestion(socket, PLAIN)
    {
        tracing::debug!(target: "toolcrib", "a connection stays paced: {error}");
    }
}

#[cfg(not(target_os = "linux"))]
pub fn unpace<S>(_: S, _: SocketAddr, _: SocketAddr) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use rustix::net::sockopt::tcp_congestion;

    use super::*;

    #[test]
    fn only_a_connection_within_the_machine_is_changed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let before = tcp_congestion(&stream).unwrap();
        let here = stream.local_addr().unwrap();
        unpace(&stream, here, SocketAddr::from(([192, 0, 2, 1], 80)));
        assert_eq!(tcp_congestion(&stream).unwrap(), before);
        unpace(&stream, here, stream.peer_addr().unwrap());
        assert_eq!(tcp_congestion(&stream).unwrap(), PLAIN);
    }
}
