//! Gateway: puts other MCP servers behind one endpoint. Decides which servers, the names of their tools, and what is
//! served.

mod budget;
pub mod config;
pub mod drift;
mod elsewhere;
mod excerpt;
mod gateway;
pub mod limits;
pub mod naming;
mod offers;
mod pattern;
mod source;
mod status;
pub mod telemetry;

pub use config::{Config, ConfigError, Prefixing};
pub use drift::Drift;
pub use gateway::account::Account;
pub use gateway::{Gateway, GatewayError};
pub use pattern::Pattern;
pub use source::{Rule, Source};
pub use status::{Quarantined, ServerStatus};
