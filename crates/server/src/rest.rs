//! REST API under `/api/v1`: tokens (R4.6: tokens and approvals over REST), approvals, the stop (R4.7: emergency
//! stop). Described by `rest/openapi.json`.
//!
//! Guarantees: nothing is done or disclosed without a credential; operations for operators need an operator's. A
//! refused request stores nothing, and its message says what to do. Every refusal is `{"error":{"code","message"}}`.

mod approvals;
mod audit;
mod stop;
mod tokens;

use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use toolcrib_contract::json::{Document, Limits};
use toolcrib_engine::safety::allowance::User;
use toolcrib_engine::safety::credential::Credential;
use toolcrib_engine::safety::rate::TooOften;
use toolcrib_engine::{Engine, Safety};

use crate::accept::declares_json;
use crate::auth::{Challenge, Shown, credential};
use crate::shed::Shed;
use toolcrib_http1::{RequestHead, Response};

pub(crate) const PREFIX: &str = "/api/v1/";

const OPENAPI: &str = include_str!("rest/openapi.json");

/// A request with an authenticated sender.
struct Asked<'a> {
    engine: &'a Engine,
    safety: &'a Arc<Safety>,
    credential: &'a Credential,
    head: &'a RequestHead,
}

/// A refusal: status, error code, message, and seconds for `Retry-After`.
#[derive(Debug)]
struct Refused(StatusCode, &'static str, String, Option<u64>);

impl Refused {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self(status, code, message.into(), None)
    }

    /// Refusal with 429 if the credential's own rate is exceeded, 503 if that of all callers is.
    fn too_often(code: &'static str, often: TooOften) -> Self {
        let status = StatusCode::from_u16(often.exceeded.status()).unwrap_or(StatusCode::TOO_MANY_REQUESTS);
        Self(status, code, often.to_string(), Some(often.retry_s))
    }
}

type Told = Result<(StatusCode, Value), Refused>;

/// Answers one request; its body has already been read.
pub(crate) async fn answer(engine: &Engine, head: &RequestHead) -> Response {
    let Some(safety) = engine.safety() else {
        return refusal(&Refused::new(StatusCode::NOT_FOUND, "not_found", "there is nothing at this path"));
    };
    let path = head.path().strip_prefix(PREFIX).unwrap_or_default();
    if path == "openapi.json" && head.method() == Method::GET {
        return written(StatusCode::OK, OPENAPI.to_owned());
    }
    let credential = match credential(safety, head) {
        Shown::Known(credential) => credential,
        Shown::Nothing | Shown::Wrong => {
            // The message does not disclose where the server stores its data.
            let text = "this needs a credential: send Authorization: Bearer, with a secret that an operator made by \
                        `toolcrib credential add` over this server's data folder";
            return refusal(&Refused::new(StatusCode::UNAUTHORIZED, "unauthenticated", text))
                .with("www-authenticate", &Challenge::bearer().www_authenticate);
        }
    };
    let user = User::subject(&credential.name);
    if let Err(often) = safety.asking().take(&user, &safety.policy().rest_allowance(), safety.now_ms()) {
        return refusal(&Refused::too_often("too_many_requests", often));
    }
    let asked = Asked { engine, safety, credential: &credential, head };
    let told = match (head.method(), path.split('/').collect::<Vec<_>>().as_slice()) {
        (&Method::POST, ["confirmation-tokens"]) => tokens::mint(&asked).await,
        (&Method::GET, ["confirmation-tokens"]) => tokens::list(&asked).await,
        (&Method::DELETE, ["confirmation-tokens", id]) => tokens::revoke(&asked, id).await,
        (&Method::GET, ["approvals"]) => approvals::list(&asked).await,
        (&Method::POST, ["approvals", id]) => approvals::decide(&asked, id).await,
        (&Method::GET, ["stop"]) => Ok(stop::status(&asked)),
        (&Method::POST, ["stop"]) => stop::stop(&asked).await,
        (&Method::POST, ["unlock"]) => stop::unlock(&asked).await,
        (&Method::GET, ["intents", "unknown"]) => audit::unknown(&asked).await,
        (_, ["confirmation-tokens"]) => return not_allowed("GET, POST"),
        (_, ["confirmation-tokens", _]) => return not_allowed("DELETE"),
        (_, ["approvals", _] | ["unlock"]) => return not_allowed("POST"),
        (_, ["stop"]) => return not_allowed("GET, POST"),
        (_, ["approvals"] | ["intents", "unknown"] | ["openapi.json"]) => return not_allowed("GET"),
        _ => Err(Refused::new(
            StatusCode::NOT_FOUND,
            "not_found",
            format!("there is nothing at this path; {PREFIX}openapi.json lists what there is"),
        )),
    };
    match told {
        Ok((StatusCode::NO_CONTENT, _)) => Response::empty(StatusCode::NO_CONTENT),
        Ok((status, value)) => written(status, value.to_string()),
        Err(refused) => refusal(&refused),
    }
}

/// Response to a request that was refused because of load.
pub(crate) fn shed(shed: Shed) -> Response {
    shed.dress(refusal(&Refused::new(shed.status(), "too_much_load", shed.message())))
}

/// Response to a request whose body could not be received.
pub(crate) fn unread(status: StatusCode) -> Response {
    let (code, message) = match status {
        StatusCode::PAYLOAD_TOO_LARGE => ("body_too_large", "the body is too large"),
        StatusCode::REQUEST_TIMEOUT => ("body_too_slow", "the body took too long to arrive"),
        _ => ("body_unreadable", "the body could not be read"),
    };
    refusal(&Refused::new(status, code, message))
}

impl Asked<'_> {
    fn operator(&self) -> Result<(), Refused> {
        if self.credential.operator {
            return Ok(());
        }
        let command = self.safety.command("credential add NAME --operator");
        let text = format!("this needs an operator's credential (`{command}`)");
        Err(Refused::new(StatusCode::FORBIDDEN, "not_an_operator", text))
    }

    /// Returns the body, which must be a JSON object.
    fn object(&self) -> Result<Document<'_>, Refused> {
        if !declares_json(self.head) {
            let text = "send Content-Type: application/json";
            return Err(Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", text));
        }
        let document = Document::parse(self.head.body(), &Limits::message())
            .map_err(|error| bad("malformed", &format!("the body is not JSON that can be read: {error}")))?;
        if document.root().is_object() {
            return Ok(document);
        }
        Err(bad("malformed", "the body must be a JSON object"))
    }

    fn by(&self) -> String {
        format!("rest:{}", self.credential.name)
    }
}

/// Returns a member that must be a string, if it is present.
fn text(document: &Document<'_>, name: &str) -> Result<Option<String>, Refused> {
    match document.root().get(name) {
        None => Ok(None),
        Some(node) => match node.as_str() {
            Some(text) => Ok(Some(text.into_owned())),
            None => Err(bad("malformed", &format!("{name} must be a string"))),
        },
    }
}

fn bad(code: &'static str, message: &str) -> Refused {
    Refused::new(StatusCode::BAD_REQUEST, code, message)
}

fn unkept(error: &impl std::fmt::Display) -> Refused {
    tracing::error!(target: "toolcrib", "{error}");
    let text = "the store failed; nothing was changed";
    Refused::new(StatusCode::SERVICE_UNAVAILABLE, "store_failed", text)
}

fn refusal(Refused(status, code, message, retry_s): &Refused) -> Response {
    let response = written(*status, json!({"error": {"code": code, "message": message}}).to_string());
    match retry_s {
        Some(seconds) => response.with("retry-after", &seconds.to_string()),
        None => response,
    }
}

fn written(status: StatusCode, text: String) -> Response {
    Response::json(status, text).with("cache-control", "no-store")
}

fn not_allowed(allow: &'static str) -> Response {
    let text = format!("this path takes {allow}");
    refusal(&Refused::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", text)).with("allow", allow)
}
