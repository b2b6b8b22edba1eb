//! Who may reach the gateway over HTTP (R5.9).
//!
//! Refuses: an address that others can reach, without authentication.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use toolcrib::{Bearer, Expected, HttpOptions};
use toolcrib_gateway::Config;

use super::pages::Pages;

pub(super) fn options(config: &Config, listen: Option<&str>, pages: Arc<Pages>) -> anyhow::Result<HttpOptions> {
    if config.auth.is_open() && !listen.is_none_or(is_loopback) {
        anyhow::bail!(
            "{} can be reached by others and nobody is asked who they are; listen at 127.0.0.1 or add [[auth.tokens]]",
            listen.unwrap_or_default()
        );
    }
    let mut expected = Expected::default();
    for host in &config.hosts {
        expected = expected.and_host(host);
    }
    for origin in &config.origins {
        expected = expected.and_origin(origin);
    }
    let mut options = HttpOptions { expected, side: Some(pages.clone()), ..HttpOptions::default() };
    if !config.auth.tokens.is_empty() {
        let mut bearer = Bearer::new(pages.metadata_url());
        for token in &config.auth.tokens {
            bearer = bearer.with(&token.subject, &token.token);
        }
        options.authenticator = Arc::new(bearer);
    }
    Ok(options)
}

fn is_loopback(listen: &str) -> bool {
    let addresses: Vec<SocketAddr> = listen.to_socket_addrs().map(Iterator::collect).unwrap_or_default();
    !addresses.is_empty() && addresses.iter().all(|address| address.ip().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_count_as_loopback() {
        assert!(is_loopback("127.0.0.1:0") && is_loopback("[::1]:80") && is_loopback("localhost:80"));
        assert!(!is_loopback("0.0.0.0:80") && !is_loopback("[::]:80") && !is_loopback("nonsense"));
    }
}
