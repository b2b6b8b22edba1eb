//! Address of a PostgreSQL database, read from its URL, with the choice of encryption.

use std::net::IpAddr;
use std::time::Duration;

use ::postgres::Config;
use ::postgres::config::{Host, SslMode};

use super::tls::Rustls;
use crate::error::StoreError;
use crate::limits::POSTGRES_CONNECT_MS_MAX;

/// Application name that the database sees.
const PROGRAM: &str = "toolcrib";

/// Connection parameters of a database. `Debug` shows hosts only, never the password.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: Rustls,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Address").field("hosts", &self.config.get_hosts()).finish_non_exhaustive()
    }
}

impl Address {
    pub(super) fn read(url: &str) -> Result<Self, StoreError> {
        let mut config: Config = url.parse()?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_millis(POSTGRES_CONNECT_MS_MAX));
        }
        if config.get_application_name().is_none() {
            config.application_name(PROGRAM);
        }
        config.ssl_mode(mode(config.get_ssl_mode(), config.get_hosts()));
        Ok(Self { config, tls: Rustls::new() })
    }
}

/// Requires TLS for every host but this machine. On this machine nobody can intercept the connection, and the
/// certificate that a distribution package generates is self-signed. A mode that the URL sets is kept.
fn mode(said: SslMode, hosts: &[Host]) -> SslMode {
    match said {
        SslMode::Prefer if hosts.iter().all(is_here) => SslMode::Disable,
        SslMode::Prefer => SslMode::Require,
        said => said,
    }
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode_of(url: &str) -> SslMode {
        Address::read(url).unwrap().config.get_ssl_mode()
    }

    /// R6.1: a database on another machine is reached by TLS unless its URL says otherwise.
    #[test]
    fn only_this_machine_is_reached_in_the_clear() {
        assert_eq!(mode_of("postgres://u:p@db.example/x"), SslMode::Require);
        assert_eq!(mode_of("postgres://u:p@db.example/x?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode_of("postgres://u:p@127.0.0.1,db.example/x"), SslMode::Require);
        for here in
            ["postgres://u@localhost/x", "postgres://u@[::1]:5/x", "postgres:///x?host=/run/postgresql"]
        {
            assert_eq!(mode_of(here), SslMode::Disable, "{here}");
        }
        assert_eq!(mode_of("postgres://u@localhost/x?sslmode=require"), SslMode::Require);
    }

    /// R6.1: `POSTGRES_CONNECT_MS_MAX` applies unless the URL has a timeout of its own.
    #[test]
    fn a_connection_is_made_within_postgres_connect_ms_max() {
        let timeout = |url: &str| Address::read(url).unwrap().config.get_connect_timeout().copied();
        let own = Duration::from_millis(POSTGRES_CONNECT_MS_MAX);
        assert_eq!(timeout("postgres://u@localhost/x"), Some(own));
        assert_eq!(timeout("postgres://u@localhost/x?connect_timeout=3"), Some(Duration::from_secs(3)));
    }

    #[test]
    fn a_password_is_not_shown() {
        assert!(!format!("{:?}", Address::read("postgres://u:hush@h/x").unwrap()).contains("hush"));
        assert!(!Address::read("postgres://u:hush@h/x?nonsense=1").unwrap_err().to_string().contains("hush"));
    }
}
