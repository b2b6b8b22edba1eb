//! The catalogue's HTTP API (R6.7): the official registry's read API, publishing, and tool-level search.
//!
//! A plain function from request to response; a server mounts it. Every response is JSON, every error is `{"error":…}`,
//! and reads have an ETag. Refuses to publish without a credential, against the format's rules, or with a breaking
//! change that the version does not declare.

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

/// OpenAPI document of the API, served at `/openapi.json`.
pub const OPENAPI: &str = include_str!("../openapi.json");

/// HTTP request to the API.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Method, such as `GET`, `POST` or `PATCH`.
    pub method: String,
    /// Path as it was sent, still percent-encoded.
    pub path: String,
    /// Query string as it was sent, without `?`.
    pub query: String,
    /// Header `If-None-Match`.
    pub if_none_match: Option<String>,
    /// Header `Authorization`.
    pub authorization: Option<String>,
    /// Request body.
    pub body: Vec<u8>,
}

/// Options of the API.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Publishers; if empty, publishing is switched off.
    pub publishers: Vec<Publisher>,
    /// Target that limits the size of publisher extensions.
    pub target: Target,
    /// `true` if a breaking change needs a version that declares it.
    pub gate: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { publishers: Vec::new(), target: Target::toolhive(), gate: true }
    }
}

/// HTTP API over a catalogue.
#[derive(Debug, Clone)]
pub struct Api {
    catalogue: Catalogue,
    options: Arc<Options>,
}

impl Api {
    /// Creates the API over `catalogue`.
    #[must_use]
    pub fn new(catalogue: impl Into<Catalogue>, options: Options) -> Self {
        Self { catalogue: catalogue.into(), options: Arc::new(options) }
    }

    /// Returns true if this path belongs to the API.
    #[must_use]
    pub fn owns(path: &str) -> bool {
        path == "/openapi.json" || path.starts_with("/v0.1/") || path.starts_with("/v0/")
    }

    /// Answers one request. The response to a HEAD has the body of the GET, which the server must not send.
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
