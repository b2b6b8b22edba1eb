//! An authorization server and an MCP server that trusts it, on one port.
//!
//! Strict where OAuth is: PKCE is verified, codes and refresh tokens work once, a redirect must be the registered or
//! requested one, and `resource` must name the MCP server. Opening `/authorize` counts as consent.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::listener::{Incoming, Listener, Outgoing};

/// Behaviour of the issuer.
#[derive(Debug, Clone)]
pub struct Manner {
    /// Lifetime of an access token in seconds.
    pub lasts_s: u64,
    /// `true` if clients may register themselves.
    pub registers: bool,
    /// `true` if a client may be identified by the URL of its metadata document, which is then read.
    pub reads_clients: bool,
    /// Id and secret of a pre-registered client.
    pub client: Option<(String, String)>,
    /// Value of `iss` in the redirect instead of the issuer.
    pub iss: Option<String>,
    /// Resource in the MCP server's metadata instead of its URL.
    pub resource: Option<String>,
}

impl Default for Manner {
    fn default() -> Self {
        Self { lasts_s: 3600, registers: true, reads_clients: false, client: None, iss: None, resource: None }
    }
}

#[derive(Debug, Default)]
struct State {
    /// Redirect URI of each client.
    clients: HashMap<String, String>,
    codes: HashMap<String, Code>,
    /// Scope of each refresh token.
    refresh: HashMap<String, String>,
    access: HashMap<String, String>,
    /// Grant types of the issued tokens, in order.
    grants: Vec<String>,
    /// `Authorization` of every request to the MCP server.
    presented: Vec<Option<String>>,
}

#[derive(Debug)]
struct Code {
    challenge: String,
    redirect: String,
    client: String,
    scope: String,
}

/// A running issuer; stops when dropped.
#[derive(Debug)]
pub struct Issuer {
    listener: Listener,
    state: Arc<Mutex<State>>,
}

impl Issuer {
    pub fn start(manner: Manner) -> std::io::Result<Self> {
        let state: Arc<Mutex<State>> = Arc::default();
        let held = state.clone();
        let origin: Arc<std::sync::OnceLock<String>> = Arc::default();
        let known = origin.clone();
        let listener = Listener::start(move |incoming| {
            let origin = known.get().cloned().unwrap_or_default();
            Desk { manner: &manner, origin: &origin, state: &held }.answer(incoming)
        })?;
        let _ = origin.set(listener.url(""));
        Ok(Self { listener, state })
    }

    /// URL of the MCP server.
    #[must_use]
    pub fn url(&self) -> String {
        self.listener.url("/mcp")
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Revokes all access tokens; refresh tokens stay valid.
    pub fn revoke(&self) {
        self.lock().access.clear();
    }

    /// Revokes all tokens.
    pub fn revoke_all(&self) {
        let mut state = self.lock();
        state.access.clear();
        state.refresh.clear();
    }

    #[must_use]
    pub fn grants(&self) -> Vec<String> {
        self.lock().grants.clone()
    }

    /// `Authorization` headers that were sent to the MCP server.
    #[must_use]
    pub fn presented(&self) -> Vec<Option<String>> {
        self.lock().presented.clone()
    }
}

struct Desk<'a> {
    manner: &'a Manner,
    origin: &'a str,
    state: &'a Mutex<State>,
}

impl Desk<'_> {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, incoming: &Incoming) -> Outgoing {
        let origin = self.origin;
        match (incoming.method.as_str(), incoming.path()) {
            ("GET", "/.well-known/oauth-protected-resource/mcp") => {
                let resource = self.manner.resource.clone().unwrap_or_else(|| format!("{origin}/mcp"));
                Outgoing::json(
                    200,
                    &json!({"resource": resource, "authorization_servers": [origin],
                    "scopes_supported": ["tools:read", "tools:write"]}),
                )
            }
            ("GET", "/.well-known/oauth-authorization-server") => {
                let mut about = json!({"issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
                    "token_endpoint": format!("{origin}/token"), "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"], "authorization_response_iss_parameter_supported": true,
                    "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"]});
                if let (true, Some(members)) = (self.manner.reads_clients, about.as_object_mut()) {
                    members.insert("client_id_metadata_document_supported".to_owned(), json!(true));
                }
                if let (true, Some(members)) = (self.manner.registers, about.as_object_mut()) {
                    members.insert("registration_endpoint".to_owned(), json!(format!("{origin}/register")));
                }
                Outgoing::json(200, &about)
            }
            ("POST", "/register") if self.manner.registers => self.register(&incoming.body),
            ("GET", "/authorize") => self.authorize(incoming.query()),
            ("POST", "/token") => self.token(incoming),
            ("POST", "/mcp") => self.mcp(incoming),
            _ => Outgoing::empty(404),
        }
    }

    fn register(&self, body: &str) -> Outgoing {
        let about: Value = serde_json::from_str(body).unwrap_or_default();
        let redirect = about.pointer("/redirect_uris/0").and_then(Value::as_str).unwrap_or_default();
        let client = fresh("client");
        self.lock().clients.insert(client.clone(), redirect.to_owned());
        Outgoing::json(201, &json!({"client_id": client, "redirect_uris": [redirect]}))
    }

    fn authorize(&self, query: &str) -> Outgoing {
        let get = |name: &str| field(query, name).unwrap_or_default();
        let (client, redirect) = (get("client_id"), get("redirect_uri"));
        let mut state = self.lock();
        let is_known = match &self.manner.client {
            Some((id, _)) => *id == client,
            None if self.manner.reads_clients && client.starts_with("http") => {
                let is_published = published(&client, &redirect);
                if is_published {
                    state.clients.insert(client.clone(), redirect.clone());
                }
                is_published
            }
            None => state.clients.get(&client) == Some(&redirect),
        };
        let is_whole = get("response_type") == "code"
            && get("code_challenge_method") == "S256"
            && get("resource") == format!("{}/mcp", self.origin);
        if !is_known || !is_whole {
            return Outgoing::empty(400);
        }
        let code = fresh("code");
        let challenge = get("code_challenge");
        state.codes.insert(
            code.clone(),
            Code { challenge, redirect: redirect.clone(), client, scope: get("scope") },
        );
        let iss = encoded(self.manner.iss.as_deref().unwrap_or(self.origin));
        let back = format!("{redirect}?code={code}&state={}&iss={iss}", get("state"));
        Outgoing::empty(302).with("Location", &back)
    }

    fn token(&self, incoming: &Incoming) -> Outgoing {
        let get = |name: &str| field(&incoming.body, name).unwrap_or_default();
        let refuse = |error: &str| Outgoing::json(400, &json!({"error": error}));
        if get("resource") != format!("{}/mcp", self.origin) {
            return refuse("invalid_target");
        }
        let secret = incoming
            .header("authorization")
            .and_then(|value| value.strip_prefix("Basic "))
            .and_then(|value| {
                let pair = String::from_utf8(STANDARD.decode(value).ok()?).ok()?;
                let (id, secret) = pair.split_once(':')?;
                Some((id.to_owned(), secret.to_owned()))
            });
        let has_secret = self.manner.client.is_some() && secret == self.manner.client;
        let mut state = self.lock();
        let is_client = has_secret || state.clients.contains_key(&get("client_id"));
        if !is_client {
            return Outgoing::json(401, &json!({"error": "invalid_client"}));
        }
        let grant = get("grant_type");
        let mut scope = get("scope");
        let renewable = match grant.as_str() {
            "authorization_code" => {
                let Some(code) = state.codes.remove(&get("code")) else { return refuse("invalid_grant") };
                let digest = ring::digest::digest(&ring::digest::SHA256, get("code_verifier").as_bytes());
                let is_his = has_secret || code.client == get("client_id");
                if URL_SAFE_NO_PAD.encode(digest) != code.challenge
                    || code.redirect != get("redirect_uri")
                    || !is_his
                {
                    return refuse("invalid_grant");
                }
                scope = code.scope;
                true
            }
            "refresh_token" => {
                let Some(given) = state.refresh.remove(&get("refresh_token")) else {
                    return refuse("invalid_grant");
                };
                scope = given;
                true
            }
            "client_credentials" if has_secret => false,
            _ => return refuse("unauthorized_client"),
        };
        state.grants.push(grant);
        let access = fresh("access");
        state.access.insert(access.clone(), scope.clone());
        let mut answer =
            json!({"access_token": access, "token_type": "Bearer", "expires_in": self.manner.lasts_s});
        if let (true, Some(members)) = (renewable, answer.as_object_mut()) {
            let refresh = fresh("refresh");
            state.refresh.insert(refresh.clone(), scope);
            members.insert("refresh_token".to_owned(), json!(refresh));
        }
        Outgoing::json(200, &answer)
    }

    /// A modern server whose tools return the token they were called with. `write` needs a scope of its own, `admin`
    /// one that is never granted.
    fn mcp(&self, incoming: &Incoming) -> Outgoing {
        let mut state = self.lock();
        let presented = incoming.header("authorization").map(str::to_owned);
        state.presented.push(presented.clone());
        let token = presented.as_deref().and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
        let place = format!("{}/.well-known/oauth-protected-resource/mcp", self.origin);
        let Some(scope) = state.access.get(token).cloned() else {
            let challenge = format!("Bearer resource_metadata=\"{place}\", scope=\"tools:read\"");
            return Outgoing::empty(401).with("WWW-Authenticate", &challenge);
        };
        let message: Value = serde_json::from_str(&incoming.body).unwrap_or_default();
        let needed = match message.pointer("/params/name").and_then(Value::as_str) {
            Some("write") => Some("tools:write"),
            Some("admin") => Some("tools:admin"),
            _ => None,
        };
        if let Some(needed) =
            needed.filter(|needed| *needed == "tools:admin" || !scope.split(' ').any(|one| one == *needed))
        {
            let challenge = format!(
                "Bearer error=\"insufficient_scope\", scope=\"{needed}\", resource_metadata=\"{place}\""
            );
            return Outgoing::empty(403).with("WWW-Authenticate", &challenge);
        }
        let mut result = match message.get("method").and_then(Value::as_str) {
            Some("server/discover") => {
                json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
            }
            Some("tools/list") => {
                let tool = |name: &str| {
                    json!({"name": name, "description": "Says which token was used",
                        "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}})
                };
                let tools = ["whoami", "write", "admin"].map(tool);
                json!({ "tools": tools })
            }
            Some("tools/call") => json!({"content": [{"type": "text", "text": token}]}),
            _ => {
                let error = json!({"jsonrpc": "2.0", "id": message.get("id"), "error": {"code": -32601, "message": "no"}});
                return Outgoing::json(404, &error);
            }
        };
        if let Some(members) = result.as_object_mut() {
            members.extend([
                ("resultType".to_owned(), json!("complete")),
                ("ttlMs".to_owned(), json!(0)),
                ("cacheScope".to_owned(), json!("private")),
            ]);
        }
        Outgoing::json(200, &json!({"jsonrpc": "2.0", "id": message.get("id"), "result": result}))
    }
}

/// Returns `true` if the document at `client` names itself as client and allows `redirect`, at any port.
fn published(client: &str, redirect: &str) -> bool {
    let read = || {
        let (host, path) = client.strip_prefix("http://")?.split_once('/')?;
        let answer = crate::http::Request::get(&format!("/{path}")).send(host.parse().ok()?).ok()?;
        answer.json().ok()
    };
    let Some(document) = read() else { return false };
    let without_port = |url: &str| {
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        let (host, path) = rest.split_once('/').unwrap_or_default();
        format!("{scheme}://{}/{path}", host.split(':').next().unwrap_or_default())
    };
    let listed = document.get("redirect_uris").and_then(Value::as_array).into_iter().flatten();
    let is_listed = listed.filter_map(Value::as_str).any(|one| without_port(one) == without_port(redirect));
    document.get("client_id").and_then(Value::as_str) == Some(client) && is_listed
}

fn fresh(kind: &str) -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    format!("{kind}-{}", LAST.fetch_add(1, Ordering::Relaxed))
}

fn field(form: &str, name: &str) -> Option<String> {
    let (_, value) = form.split('&').filter_map(|pair| pair.split_once('=')).find(|(own, _)| *own == name)?;
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
