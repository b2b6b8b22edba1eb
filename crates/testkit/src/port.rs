//! A loopback port that is currently free.
//!
//! The system assigns ports in turn, so another process is unlikely to take this one before the program under test
//! binds it. A program that can listen on port 0 and report its address avoids that risk and is preferable.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

pub fn free() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_port_can_be_bound() {
        let port = free().unwrap();
        assert!(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok());
    }
}
