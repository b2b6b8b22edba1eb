//! Checks of `[auth.jwt]`: the issuer, the audience, and the URL of the keys.

use std::net::IpAddr;

use super::{Jwks, Jwt};

/// Returns the first unusable key and the reason.
pub(super) fn unusable(jwt: &Jwt) -> Option<(&'static str, String)> {
    // An empty name would be compared with the claim of a token.
    for (key, text) in [("issuer", &jwt.issuer), ("audience", &jwt.audience)] {
        if text.is_empty() {
            return Some((key, format!("{key} is empty; expected a text that every token must name")));
        }
    }
    let Jwks::Url(url) = &jwt.jwks else { return None };
    // An attacker who can modify the keys in transit can sign tokens.
    let says = "keys cannot be fetched safely from this URL; expected https://HOST/PATH without a password, or \
                http:// with a loopback address";
    (!is_trustworthy(url)).then(|| ("jwks_url", says.to_owned()))
}

/// Returns `true` for an https URL with a host, and for http to a loopback address.
fn is_trustworthy(url: &str) -> bool {
    let Ok(uri) = url.parse::<http::Uri>() else { return false };
    let Some(authority) = uri.authority() else { return false };
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() || authority.as_str().contains('@') {
        return false;
    }
    let is_loopback = host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback());
    match uri.scheme_str() {
        Some("https") => true,
        Some("http") => is_loopback || host.eq_ignore_ascii_case("localhost"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jwt(url: &str) -> Jwt {
        let jwks = Jwks::Url(url.to_owned());
        Jwt { issuer: "https://issuer".into(), audience: "https://gateway".into(), jwks, scopes: Vec::new() }
    }

    /// R5.9: keys are fetched over https, or over http from this machine.
    #[test]
    fn keys_are_fetched_over_https_or_from_loopback_only() {
        for good in [
            "https://login.example.org/jwks",
            "https://192.0.2.7:8443/jwks",
            "http://127.0.0.1:9000/jwks",
            "http://127.8.8.8/jwks",
            "http://[::1]:9000/jwks",
            "http://localhost:9000/jwks",
        ] {
            assert_eq!(unusable(&jwt(good)), None, "{good}");
        }
        for bad in [
            "http://login.example.org/jwks",
            "http://192.0.2.7/jwks",
            "http://127.0.0.1.example.org/jwks",
            "http://localhost.example.org/jwks",
            "http://127.0.0.1@example.org/jwks",
            "https://user:secret@example.org/jwks",
            "http://0.0.0.0/jwks",
            "ftp://127.0.0.1/jwks",
            "file:///etc/jwks",
            "/etc/jwks",
            "login.example.org/jwks",
            "https://",
            "",
        ] {
            assert!(unusable(&jwt(bad)).is_some_and(|(key, _)| key == "jwks_url"), "{bad}");
        }
        let empty = Jwt { issuer: String::new(), ..jwt("https://login.example.org/jwks") };
        assert_eq!(unusable(&empty).map(|(key, _)| key), Some("issuer"));
    }
}
