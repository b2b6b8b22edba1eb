//! A loopback port that is free right now.
//!
//! The system hands out ports in turn, so the chance that another process takes this one before the program under test
//! binds it is small; a program that can listen on port 0 and say where it listens needs no luck at all and is better.

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
