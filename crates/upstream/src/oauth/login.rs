//! Login of a person with a browser, which returns to a loopback port (RFC 8252).
//!
//! Guarantees: only the process that started the login can use the code (PKCE, S256). The browser must bring back the
//! state that it was sent with. With RFC 9207 it must name the issuer that was asked.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::client::{Ask, register, token};
use super::discovery::{Found, discover, joined};
use super::error::{OAuthError, plain};
use super::form;
use super::store::{Client, Kept, read, write};
use super::wire::Way;
use crate::limits::{LOGIN_MS_MAX, LOGIN_REQUEST_BYTES_MAX};
use crate::spec::Endpoint;

/// Result of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub issuer: String,
    pub scopes: Vec<String>,
    /// `true` if the token can be renewed without the person.
    pub is_renewable: bool,
}

/// Logs in to a server. `show` gets the URL that the person has to open.
pub async fn login(name: &str, endpoint: &Endpoint, show: impl FnOnce(&str)) -> Result<Login, OAuthError> {
    let settings = endpoint.oauth.clone().unwrap_or_default();
    let name = settings.known_as.as_deref().unwrap_or(name);
    let way = Way::new(endpoint);
    let mut found = discover(&way, settings.issuer.as_deref(), &settings.scopes).await?;
    let before = read(settings.folder.as_deref(), name, &way.server);
    // Scopes that the server asked for since the last login.
    found.scopes = joined(found.scopes, &before.map(|kept| kept.wanted).unwrap_or_default());
    if !found.issuer.has_pkce {
        return Err(OAuthError::NoPkce);
    }
    let listen = |error: std::io::Error| OAuthError::Listen { kind: error.kind() };
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(listen)?;
    let port = listener.local_addr().map_err(listen)?.port();
    let redirect = format!("http://127.0.0.1:{port}/callback");
    let client = match settings.client_id {
        Some(id) => Client { id, secret: settings.client_secret },
        None if found.issuer.reads_clients && settings.client_metadata_url.is_some() => {
            Client { id: settings.client_metadata_url.unwrap_or_default(), secret: None }
        }
        None => known(settings.folder.as_deref(), name, &way, &found, &redirect).await?,
    };
    let (verifier, state) = (random()?, random()?);
    let url = authorization(&found, &client, &redirect, &verifier, &state)?;
    super::address::check(&url, &way.server).await?;
    show(&url);
    let code = code(&listener, &state, &found).await?;
    let ask = Ask::Code { code: &code, verifier: &verifier, redirect: &redirect };
    let tokens = token(&way, &found, &client, &ask).await?;
    let is_renewable = tokens.refresh.is_some();
    let issuer = found.issuer.issuer.clone();
    let kept = Kept {
        server: way.server.to_string(),
        issuer: issuer.clone(),
        client,
        tokens,
        scopes: found.scopes.clone(),
        wanted: Vec::new(),
    };
    write(settings.folder.as_deref(), name, &kept)?;
    Ok(Login { issuer, scopes: found.scopes, is_renewable })
}

/// Registers the client anew, which costs nothing. If that fails, returns the client that was registered before,
/// because authorization servers should accept any loopback port (RFC 8252 section 7.3).
async fn known(
    folder: Option<&Path>,
    name: &str,
    way: &Way,
    found: &Found,
    redirect: &str,
) -> Result<Client, OAuthError> {
    match register(way, found, redirect).await {
        Ok(client) => Ok(client),
        Err(error) => {
            let kept = read(folder, name, &way.server).filter(|kept| kept.issuer == found.issuer.issuer);
            kept.map(|kept| kept.client).ok_or(error)
        }
    }
}

/// Returns 32 random bytes as text, for PKCE and the state.
fn random() -> Result<String, OAuthError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| OAuthError::NoRandomness)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn authorization(
    found: &Found,
    client: &Client,
    redirect: &str,
    verifier: &str,
    state: &str,
) -> Result<String, OAuthError> {
    let missing =
        || OAuthError::Incomplete { url: plain(&found.issuer.issuer), what: "authorization_endpoint" };
    let endpoint = found.issuer.authorization_endpoint.as_deref().ok_or_else(missing)?;
    let challenge = URL_SAFE_NO_PAD.encode(ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes()));
    let mut query = String::new();
    form::push(&mut query, "response_type", "code");
    form::push(&mut query, "client_id", &client.id);
    form::push(&mut query, "redirect_uri", redirect);
    form::push(&mut query, "code_challenge", &challenge);
    form::push(&mut query, "code_challenge_method", "S256");
    form::push(&mut query, "state", state);
    form::push(&mut query, "resource", &found.resource);
    if !found.scopes.is_empty() {
        form::push(&mut query, "scope", &found.scopes.join(" "));
    }
    let mark = if endpoint.contains('?') { '&' } else { '?' };
    Ok(format!("{endpoint}{mark}{query}"))
}

/// Waits up to `LOGIN_MS_MAX` for the browser and returns the code that it brings.
async fn code(listener: &TcpListener, state: &str, found: &Found) -> Result<String, OAuthError> {
    let within = Duration::from_millis(LOGIN_MS_MAX);
    match tokio::time::timeout(within, wait(listener, state, found)).await {
        Ok(code) => code,
        Err(_) => Err(OAuthError::TooSlow { ms_max: LOGIN_MS_MAX }),
    }
}

/// Waits for the browser and returns the code that it brings. Other visitors of the port are refused and change
/// nothing.
async fn wait(listener: &TcpListener, state: &str, found: &Found) -> Result<String, OAuthError> {
    loop {
        let Ok((mut visitor, _)) = listener.accept().await else { continue };
        let Some(query) = request(&mut visitor).await else { continue };
        // A visitor without the state is not the browser that was sent.
        if form::get(&query, "state").as_deref() != Some(state) {
            answer(&mut visitor, 400, "This is not the login that was begun here.").await;
            continue;
        }
        let outcome = judge(&query, found);
        match &outcome {
            Ok(_) => answer(&mut visitor, 200, "Logged in. You can close this page.").await,
            Err(_) => answer(&mut visitor, 400, "The login failed. The terminal says why.").await,
        }
        return outcome;
    }
}

fn judge(query: &str, found: &Found) -> Result<String, OAuthError> {
    let issuer = form::get(query, "iss");
    let expected = &found.issuer.issuer;
    if found.issuer.names_itself || issuer.is_some() {
        let issuer = issuer.unwrap_or_default();
        if issuer != *expected {
            let (found, expected) = (plain(&issuer), expected.as_str().into());
            return Err(OAuthError::Mismatch {
                what: "the issuer that sent the browser back",
                found,
                expected,
            });
        }
    }
    if let Some(error) = form::get(query, "error") {
        let description = form::get(query, "error_description").map(|text| plain(&text));
        return Err(OAuthError::Refused { error: plain(&error), description });
    }
    let missing = || OAuthError::Incomplete { url: plain(expected), what: "code" };
    form::get(query, "code").filter(|code| !code.is_empty()).ok_or_else(missing)
}

/// Returns the query of a request to the callback; `None` for any other request.
async fn request(visitor: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let read = async {
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            let mut piece = [0; 2048];
            let length = visitor.read(&mut piece).await.ok()?;
            head.extend_from_slice(piece.get(..length)?);
            if length == 0 || head.len() > LOGIN_REQUEST_BYTES_MAX {
                return None;
            }
        }
        Some(())
    };
    tokio::time::timeout(Duration::from_secs(5), read).await.ok()??;
    let line = String::from_utf8(head).ok()?.lines().next()?.to_owned();
    let target = line.strip_prefix("GET ")?.split(' ').next()?.to_owned();
    match target.split_once('?') {
        Some(("/callback", query)) => Some(query.to_owned()),
        _ => {
            answer(visitor, 404, "There is nothing here.").await;
            None
        }
    }
}

async fn answer(visitor: &mut TcpStream, status: u16, says: &str) {
    let text = format!(
        "HTTP/1.1 {status} \r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{says}",
        says.len()
    );
    let _ = visitor.write_all(text.as_bytes()).await;
    let _ = visitor.shutdown().await;
}

#[cfg(test)]
mod tests {
    use super::super::discovery::Issuer;
    use super::*;

    /// R5.9: other requests to the port while a person logs in.
    #[tokio::test]
    async fn a_visit_over_login_request_bytes_max_is_not_heard() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let visit = async |padding: usize| {
            let text = format!("GET /callback?code=c HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(padding));
            let (visitor, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
            let (mut visitor, mut accepted) = (visitor.unwrap(), accepted.unwrap().0);
            let (_, heard) = tokio::join!(visitor.write_all(text.as_bytes()), request(&mut accepted));
            heard
        };
        assert_eq!(visit(LOGIN_REQUEST_BYTES_MAX / 2).await.as_deref(), Some("code=c"));
        assert_eq!(visit(LOGIN_REQUEST_BYTES_MAX * 2).await, None);
    }

    /// R5.9: nobody visits, or a visitor sends nothing.
    #[tokio::test(start_paused = true)]
    async fn a_login_ends_after_login_ms_max() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = Issuer {
            issuer: String::new(),
            token_endpoint: String::new(),
            authorization_endpoint: None,
            registration_endpoint: None,
            auth_methods: Vec::new(),
            has_pkce: true,
            reads_clients: false,
            names_itself: false,
        };
        let found = Found { resource: String::new(), issuer, scopes: Vec::new() };
        let _silent = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let begun = tokio::time::Instant::now();
        let ended = code(&listener, "state", &found).await.unwrap_err();
        assert!(matches!(ended, OAuthError::TooSlow { ms_max: LOGIN_MS_MAX }), "{ended}");
        assert_eq!(begun.elapsed(), Duration::from_millis(LOGIN_MS_MAX));
    }
}
