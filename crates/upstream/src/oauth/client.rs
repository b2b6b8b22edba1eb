//! Requests to an authorization server: registration (RFC 7591) and tokens (RFC 6749).

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use serde_json::{Value, json};

use super::discovery::Found;
use super::error::{OAuthError, plain};
use super::form;
use super::store::{Client, Tokens};
use super::wire::Way;

/// Registers this gateway with `redirect` as its redirect URI.
pub(super) async fn register(way: &Way, found: &Found, redirect: &str) -> Result<Client, OAuthError> {
    let issuer = &found.issuer;
    let url = issuer.registration_endpoint.as_deref();
    let url = url.ok_or_else(|| OAuthError::NoClient { issuer: plain(&issuer.issuer) })?;
    let about = about(&[redirect]);
    let fields = "Content-Type: application/json\r\nAccept: application/json\r\n";
    let answer = way.exchange("POST", url, fields, &about.to_string()).await?;
    let said = answer.json().unwrap_or_default();
    if !matches!(answer.status, 200 | 201) {
        return Err(refusal(&said).unwrap_or(OAuthError::Status { url: plain(url), status: answer.status }));
    }
    let id = said.get("client_id").and_then(Value::as_str).filter(|id| !id.is_empty());
    let id = id.ok_or_else(|| OAuthError::Incomplete { url: plain(url), what: "client_id" })?;
    let secret = said.get("client_secret").and_then(Value::as_str).map(str::to_owned);
    Ok(Client { id: id.to_owned(), secret })
}

/// Client metadata of this gateway.
fn about(redirects: &[&str]) -> Value {
    json!({
        "client_name": "toolcrib", "redirect_uris": redirects, "application_type": "native",
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    })
}

/// Returns the client ID metadata document that an operator publishes at `url`. The redirect URIs allow any port of
/// the person's own machine (RFC 8252 section 7.3).
#[must_use]
pub fn metadata(url: &str) -> Value {
    let mut document = json!({ "client_id": url });
    if let (Some(members), Value::Object(more)) =
        (document.as_object_mut(), about(&["http://127.0.0.1/callback", "http://localhost/callback"]))
    {
        members.extend(more);
    }
    document
}

/// Grant of a token request.
pub(super) enum Ask<'a> {
    Code { code: &'a str, verifier: &'a str, redirect: &'a str },
    Refresh { token: &'a str },
    Credentials,
}

/// Requests a token for one server.
pub(super) async fn token(
    way: &Way,
    found: &Found,
    client: &Client,
    ask: &Ask<'_>,
) -> Result<Tokens, OAuthError> {
    let mut body = String::new();
    let kept = match ask {
        Ask::Code { code, verifier, redirect } => {
            form::push(&mut body, "grant_type", "authorization_code");
            form::push(&mut body, "code", code);
            form::push(&mut body, "code_verifier", verifier);
            form::push(&mut body, "redirect_uri", redirect);
            None
        }
        Ask::Refresh { token } => {
            form::push(&mut body, "grant_type", "refresh_token");
            form::push(&mut body, "refresh_token", token);
            Some((*token).to_owned())
        }
        Ask::Credentials => {
            form::push(&mut body, "grant_type", "client_credentials");
            if !found.scopes.is_empty() {
                form::push(&mut body, "scope", &found.scopes.join(" "));
            }
            None
        }
    };
    form::push(&mut body, "resource", &found.resource);
    let mut fields =
        "Content-Type: application/x-www-form-urlencoded\r\nAccept: application/json\r\n".to_owned();
    identify(client, &found.issuer.auth_methods, &mut fields, &mut body);
    let url = &found.issuer.token_endpoint;
    let answer = way.exchange("POST", url, &fields, &body).await?;
    let said = answer.json().unwrap_or_default();
    if answer.status != 200 {
        return Err(refusal(&said).unwrap_or(OAuthError::Status { url: plain(url), status: answer.status }));
    }
    read_tokens(&said, kept).ok_or_else(|| OAuthError::Incomplete { url: plain(url), what: "bearer token" })
}

/// Adds the client's credentials, by a method that the authorization server supports.
fn identify(client: &Client, methods: &[String], fields: &mut String, body: &mut String) {
    let knows = |method: &str| methods.iter().any(|one| one == method);
    match &client.secret {
        Some(secret)
            if methods.is_empty() || knows("client_secret_basic") || !knows("client_secret_post") =>
        {
            let pair = format!("{}:{}", form::encode(&client.id), form::encode(secret));
            let pair = base64::engine::general_purpose::STANDARD.encode(pair);
            fields.push_str(&format!("Authorization: Basic {pair}\r\n"));
        }
        Some(secret) => {
            form::push(body, "client_id", &client.id);
            form::push(body, "client_secret", secret);
        }
        None => form::push(body, "client_id", &client.id),
    }
}

/// Reads a token response. `kept` is the refresh token that stays valid if the response has no new one.
pub(super) fn read_tokens(said: &Value, kept: Option<String>) -> Option<Tokens> {
    let text = |name: &str| said.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let is_bearer = text("token_type").is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
    // A token with other bytes could inject another header.
    let legal = |token: &&str| token.bytes().all(|byte| byte.is_ascii_graphic());
    let access = text("access_token").filter(|_| is_bearer).filter(legal)?;
    let lasts_s = said.get("expires_in").and_then(Value::as_u64);
    Some(Tokens {
        access: access.to_owned(),
        refresh: text("refresh_token").map(str::to_owned).or(kept),
        expires_s: lasts_s.map(|lasts| now_s().saturating_add(lasts)),
    })
}

pub(super) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn refusal(said: &Value) -> Option<OAuthError> {
    let error = plain(said.get("error")?.as_str()?);
    Some(OAuthError::Refused {
        error,
        description: said.get("error_description").and_then(Value::as_str).map(plain),
    })
}
