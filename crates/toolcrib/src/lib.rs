//! MCP tools under contract: register a function, and the library validates arguments before they reach it and
//! answers before they leave, for every client from MCP 2024-11-05 to 2026-07-28.
//!
//! ```no_run
//! use toolcrib::{Context, Server, ToolError};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let server = Server::new("greeter", "1.0.0")?;
//!     let schema = serde_json::json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
//!     server.register("greet", "Greets somebody by name", schema, |arguments, _context: Context| async move {
//!         Ok::<_, ToolError>(format!("Hello, {}!", arguments["name"].as_str().unwrap_or_default()))
//!     })?;
//!     Ok(server.serve_stdio().await?)
//! }
//! ```

mod answer;
mod handler;
pub mod limits;
mod local;
mod server;
mod spec;
mod start;

pub use answer::{IntoAnswer, Json};
pub use local::{Asked, CallError, LocalClient};
pub use server::{BoundServer, Server, ServerBuilder};
pub use spec::ToolSpec;
pub use start::SelectionError;
pub use toolcrib_contract::{self as contract, Annotations, Audience, Definition};
pub use toolcrib_engine as engine;
pub use toolcrib_engine::prompt::{PromptArgument, PromptArguments, PromptResult, Role};
pub use toolcrib_engine::resource::About;
pub use toolcrib_engine::{
    AskError, BadArguments, Content, Context, Elicited, Explanation, Fault, Filter, Mode, Names, Principal,
    Question, RegisterError, ResourceContents, StartError, ToolError, ToolResult, Toolset,
};
pub use toolcrib_protocol::{self as protocol, Capability, Level, Revision};
pub use toolcrib_server::{
    Authenticator, Bearer, Challenge, Credentialled, Expected, HttpOptions, JwtBearer, Page, RequestHead,
    Side, Tls, TlsError, TrustedProxies,
};
pub use {schemars, serde_json};
