//! Checks of `[auth.jwt]`: the issuer, the audience, the URL of the keys and the authority of its certificate.

use toolcrib_upstream::spec::{Endpoint, Spec, Transport};

use super::oauth::is_this_machine;
use super::{Jwks, Jwt};

/// Returns the first unusable key and the reason.
pub(super) fn unusable(jwt: &Jwt) -> Option<(&'static str, String)> {
    // An empty name would be compared with the claim of a token.
    for (key, text) in [("issuer", &jwt.issuer), ("audience", &jwt.audience)] {
        if text.is_empty() {
            return Some((key, format!("{key} is empty; expected a text that every token must name")));
        }
    }
    let url = match (&jwt.jwks, &jwt.ca_file) {
        (Jwks::Url(url), _) => url,
        (Jwks::File(_), None) => return None,
        (Jwks::File(_), Some(_)) => {
            return Some(("ca_file", "ca_file is for jwks_url, and there is none".to_owned()));
        }
    };
    // An attacker who can modify the keys in transit can sign tokens.
    let says = "keys cannot be fetched safely from this URL; expected https://HOST/PATH without a password, or \
                http:// with a loopback address";
    if !is_trustworthy(url) {
        return Some(("jwks_url", says.to_owned()));
    }
    let endpoint = Endpoint { url: url.clone(), ca_file: jwt.ca_file.clone(), ..Endpoint::default() };
    let checked = Spec::new("jwks", Transport::Http(Box::new(endpoint))).check();
    let (key, cause) = checked.err()?;
    Some((if key == "url" { "jwks_url" } else { key }, cause.to_string()))
}

/// Returns `true` for an https URL with a host, and for http to a loopback address.
fn is_trustworthy(url: &str) -> bool {
    let Ok(uri) = url.parse::<http::Uri>() else { return false };
    let Some(authority) = uri.authority() else { return false };
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() || authority.as_str().contains('@') {
        return false;
    }
    match uri.scheme_str() {
        Some("https") => true,
        Some("http") => is_this_machine(host),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jwt(url: &str) -> Jwt {
        let jwks = Jwks::Url(url.to_owned());
        let (issuer, audience) = ("https://issuer".into(), "https://gateway".into());
        Jwt { issuer, audience, jwks, ca_file: None, scopes: Vec::new() }
    }

    /// R5.9: `ca_file` is a file with certificates, and for keys of a URL only.
    #[test]
    fn a_ca_file_that_cannot_be_used_is_refused() {
        let ca_file = Some("/nowhere/ca.pem".into());
        let url = Jwt { ca_file: ca_file.clone(), ..jwt("https://login.example.org/jwks") };
        let (key, says) = unusable(&url).unwrap();
        assert!(key == "ca_file" && says.contains("/nowhere/ca.pem"), "{key}: {says}");
        let file = Jwt { jwks: Jwks::File("keys.json".into()), ..url };
        assert_eq!(unusable(&file).map(|(key, _)| key), Some("ca_file"));
        assert_eq!(unusable(&Jwt { ca_file: None, ..file }), None);
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
