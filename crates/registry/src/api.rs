//! The catalogue's HTTP API (R6.7): the official registry's read API, publishing, and search down to tools.
//!
//! A plain function from request to response: whoever listens mounts it. Every answer is JSON, every error
//! `{"error":…}`; reads have an ETag; nothing is published without a credential, against the format's rules, or against
//! the contract of the version before it.

mod answer;
mod gate;
mod publish;
mod query;
mod read;
mod route;

use std::sync::Arc;

use toolcrib_store::catalogue::Catalogue;

pub use answer::Response;
pub use publish::Publisher;

use crate::budget::Target;
use route::Route;

/// The API's description, as it is served at `/openapi.json`.
pub const OPENAPI: &str = include_str!("../openapi.json");

/// One request.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// `GET`, `POST`, `PATCH`
    pub method: String,
    /// The path as it was sent, still percent-encoded.
    pub path: String,
    /// What follows `?`, as it was sent.
    pub query: String,
    /// The header `If-None-Match`.
    pub if_none_match: Option<String>,
    /// The header `Authorization`.
    pub authorization: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// How the API behaves.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Who may publish; nobody where this is empty.
    pub publishers: Vec<Publisher>,
    /// How large a publisher's extension may be.
    pub target: Target,
    /// Whether a breaking change needs a version that says so.
    pub gate: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { publishers: Vec::new(), target: Target::toolhive(), gate: true }
    }
}

/// The API over a catalogue.
#[derive(Debug, Clone)]
pub struct Api {
    catalogue: Catalogue,
    options: Arc<Options>,
}

impl Api {
    /// The API over `catalogue`.
    #[must_use]
    pub fn new(catalogue: impl Into<Catalogue>, options: Options) -> Self {
        Self { catalogue: catalogue.into(), options: Arc::new(options) }
    }

    /// `true` if this path is the API's.
    #[must_use]
    pub fn owns(path: &str) -> bool {
        path == "/openapi.json" || path.starts_with("/v0.1/") || path.starts_with("/v0/")
    }

    /// Answers one request; to a HEAD with the body of a GET, which is not sent.
    pub async fn answer(&self, request: Request) -> Response {
        let mut response = match Route::find(&request) {
            Ok(route) => self.routed(route, &request).await.unwrap_or_else(|refused| refused),
            Err(refused) => refused,
        };
        if matches!(&*request.method, "GET" | "HEAD") {
            response.tag(request.if_none_match.as_deref());
        }
        response
    }

    async fn routed(&self, route: Route, request: &Request) -> Result<Response, Response> {
        match route {
            Route::OpenApi => Ok(Response::json(200, OPENAPI.to_owned())),
            Route::Health => Ok(Response::json(200, r#"{"status":"ok"}"#.to_owned())),
            Route::Servers => read::servers(&self.catalogue, &request.query).await,
            Route::Versions { name } => read::versions(&self.catalogue, name, &request.query).await,
            Route::Version { name, version } => {
                read::version(&self.catalogue, name, version, &request.query).await
            }
            Route::SearchTools => read::search_tools(&self.catalogue, &request.query).await,
            Route::Tools { name, version } => read::tools(&self.catalogue, name, version).await,
            Route::Tool { name, version, tool } => read::tool(&self.catalogue, name, version, tool).await,
            Route::Publish => publish::publish(&self.catalogue, &self.options, request).await,
            Route::Status { name, version } => {
                publish::status(&self.catalogue, &self.options, name, version, request).await
            }
        }
    }
}
