//! The life of a call, written once for every transport and every kind of tool.
//!
//! Opens no socket and no file. Start at [`stage`] for a call's way through, at [`engine::Engine`] for everything
//! else a client can ask.

pub mod answer;
pub mod ask;
pub mod caller;
pub mod clock;
pub mod completion;
pub mod content;
pub mod context;
pub mod discovery;
pub mod engine;
pub mod entry;
pub mod exchange;
pub mod forwarded;
mod guarded;
pub mod hub;
pub mod limits;
pub mod listing;
mod method;
pub mod mode;
pub mod outbox;
pub mod peer;
pub mod principal;
pub mod prompt;
pub mod refusal;
pub mod registry;
pub mod relay;
pub mod reply;
pub mod resource;
pub mod round;
pub mod seal;
pub mod search;
pub mod session;
pub mod stage;
pub mod template;
pub mod tool;
pub mod toolset;
pub mod validation;
pub mod view;

pub use answer::{Answer, ToolResult};
pub use ask::{AskError, Elicited, Question};
pub use caller::Caller;
pub use content::{Content, ResourceContents};
pub use context::Context;
pub use engine::{Engine, Fault, OnFault, Options, ServerInfo, StartError};
pub use exchange::Exchange;
pub use forwarded::Forwarded;
pub use mode::Mode;
pub use outbox::{Outbox, Outgoing};
pub use peer::Peer;
pub use principal::Principal;
pub use refusal::{BadArguments, Refusal};
pub use registry::{RegisterError, Registry};
pub use reply::{Payload, Reply};
pub use session::{Session, SessionId};
pub use tool::{BoxFuture, Invocation, Tool, ToolError};
pub use toolset::explain::{Callable, Explanation};
pub use toolset::selection::{Approach, Names, Selection, UnknownToolset};
pub use toolset::{Toolset, ToolsetOptions};
pub use validation::{Strictness, Validation};
pub use view::{Filter, View};
