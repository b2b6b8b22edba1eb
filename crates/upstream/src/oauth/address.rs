//! Checks the URLs that a login may use.
//!
//! Refuses plain http, unless URL and server are both on this machine. Refuses addresses in private networks, unless
//! the server itself, which the operator configured, is in one.

use std::net::{IpAddr, SocketAddr};

use super::error::OAuthError;
use crate::http::{Target, resolve};

/// A URL that passed the checks.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) target: Target,
    /// Addresses that were checked. A connection must use these, because resolving again may give others. Empty if the
    /// name cannot be resolved here; then only a proxy may know it.
    pub(super) addresses: Vec<SocketAddr>,
}

/// Checks a URL from the metadata of the server at `server`.
pub(super) async fn check(url: &str, server: &str) -> Result<Judged, OAuthError> {
    let refused = |why| OAuthError::Address { url: super::error::plain(url), why };
    let target = Target::read(url).map_err(|_| refused("it is no URL"))?;
    if url.contains('#') {
        return Err(refused("it has a fragment"));
    }
    let own = Target::read(server).ok();
    let own_reach = match &own {
        Some(own) => reach(&look_up(own).await),
        None => Reach::Public,
    };
    let is_same_host = own.as_ref().is_some_and(|own| own.host.eq_ignore_ascii_case(&target.host));
    let addresses = look_up(&target).await;
    let theirs = reach(&addresses);
    let stays_here = theirs == Reach::ThisMachine && own_reach == Reach::ThisMachine;
    if !target.secure && !stays_here {
        return Err(refused("it is not https"));
    }
    if theirs != Reach::Public && own_reach == Reach::Public && !is_same_host {
        return Err(refused("it is inside a private network, and the server is not"));
    }
    Ok(Judged { target, addresses })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    ThisMachine,
    Private,
    Public,
}

/// Resolves the host of a URL; a unix socket is on this machine.
async fn look_up(target: &Target) -> Vec<SocketAddr> {
    match target.unix {
        Some(_) => vec![SocketAddr::from(([127, 0, 0, 1], target.port))],
        None => resolve::look_up(&target.host, target.port).await,
    }
}

/// Returns the most restricted reach among a host's addresses.
fn reach(addresses: &[SocketAddr]) -> Reach {
    let reaches: Vec<Reach> = addresses.iter().map(|address| of(address.ip())).collect();
    if !reaches.is_empty() && reaches.iter().all(|one| *one == Reach::ThisMachine) {
        return Reach::ThisMachine;
    }
    if reaches.iter().any(|one| *one != Reach::Public) { Reach::Private } else { Reach::Public }
}

fn of(ip: IpAddr) -> Reach {
    let is_private = match ip.to_canonical() {
        IpAddr::V4(ip) => ip.is_private() || ip.is_link_local() || ip.is_unspecified() || ip.is_broadcast(),
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_unicast_link_local() || ip.is_unspecified(),
    };
    match ip.to_canonical() {
        ip if ip.is_loopback() => Reach::ThisMachine,
        _ if is_private => Reach::Private,
        _ => Reach::Public,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R5.9: a server's metadata cannot direct the gateway into a private network or to plain http.
    #[tokio::test]
    async fn metadata_leads_only_to_https_and_never_inwards() {
        let public = "https://192.0.2.7/mcp";
        for (url, says) in [
            ("http://192.0.2.9/as", "not https"),
            ("https://10.0.0.1/as", "private network"),
            ("https://169.254.169.254/latest", "private network"),
            ("https://127.0.0.1/as", "private network"),
            ("https://[fd00::1]/as", "private network"),
            ("https://192.0.2.9/as#x", "fragment"),
            ("file:///etc/passwd", "no URL"),
        ] {
            let error = check(url, public).await.unwrap_err().to_string();
            assert!(error.contains(says), "{url}: {error}");
        }
        assert!(check("https://192.0.2.9/as", public).await.is_ok());
        assert!(check("http://127.0.0.1:9000/as", "http://127.0.0.1:8000/mcp").await.is_ok());
        assert!(check("https://10.0.0.1/as", "https://10.0.0.2/mcp").await.is_ok());
    }
}
