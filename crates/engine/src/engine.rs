//! [`Engine`]: the tools, prompts and resources that a server offers, and the answers to messages of any transport.
//!
//! Opens no socket and no file. Guarantees: every request gets exactly one reply; nothing a client sends makes it
//! panic or block another client.

use std::fmt;
use std::sync::Arc;

use toolcrib_contract::json::{Limits, Node, ObjectWriter, OwnedDocument};
use toolcrib_contract::{SchemaOptions, Violations};
use toolcrib_protocol::{CacheHint, CacheScope, meta};

use crate::alarm::Alarms;
use crate::caller::Caller;
use crate::clock::{Clock, SystemClock};
use crate::hub::Hub;
use crate::limits::{CALL_MS_MAX, LIST_TTL_MS, PAGE_ITEMS_MAX};
use crate::listing::Render;
use crate::mode::Listeners;
use crate::refusal::BadArguments;
use crate::registry::{RegisterError, Registry};
use crate::safety::Safety;
use crate::safety::policy::Policy;
use crate::seal::{NoRandomness, Sealer};
use crate::toolset::ToolsetOptions;
use crate::trace::SpanSink;

/// Name, version, title and instructions that a server reports to its clients.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    pub name: String,
    pub version: String,
    pub title: Option<String>,
    pub instructions: Option<String>,
}

impl ServerInfo {
    #[must_use]
    pub fn new(name: &str, version: &str) -> Self {
        Self { name: name.into(), version: version.into(), title: None, instructions: None }
    }

    pub(crate) fn implementation(&self) -> String {
        let mut object = ObjectWriter::new();
        object.string("name", &self.name);
        if let Some(title) = &self.title {
            object.string("title", title);
        }
        object.string("version", &self.version);
        object.finish()
    }
}

/// Settings of an engine.
#[derive(Debug, Clone)]
pub struct Options {
    pub bad_arguments: BadArguments,
    pub page_items: usize,
    pub list_ttl_ms: u64,
    pub call_ms_max: u64,
    pub schema: SchemaOptions,
    /// Key that seals `requestState` and cursors; if `None`, a random one that lives as long as the engine.
    pub sealer: Option<Sealer>,
    pub clock: Arc<dyn Clock>,
    /// Declares the prompts capability even while no prompt is registered, so that prompts can be added later.
    pub offers_prompts: bool,
    /// Declares the resources capability even while no resource is registered.
    pub offers_resources: bool,
    /// Toolsets at the start; [`Engine::toolsets`] returns the current ones.
    pub toolsets: ToolsetOptions,
    /// Gate, emergency stop, journal and audit; `None` switches all of them off.
    pub safety: Option<Arc<Safety>>,
    /// With `safety`, registers the tools for confirmation tokens and the emergency stop.
    pub offers_safety_tools: bool,
    /// Collector of trace spans; `None` switches tracing off.
    pub spans: Option<Arc<dyn SpanSink>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bad_arguments: BadArguments::default(),
            page_items: PAGE_ITEMS_MAX,
            list_ttl_ms: LIST_TTL_MS,
            call_ms_max: CALL_MS_MAX,
            schema: SchemaOptions::default(),
            sealer: None,
            clock: Arc::new(SystemClock),
            offers_prompts: false,
            offers_resources: false,
            toolsets: ToolsetOptions::default(),
            safety: None,
            offers_safety_tools: true,
            spans: None,
        }
    }
}

/// Failure that is reported to the operator, with the details that are kept from the client.
#[derive(Debug)]
#[non_exhaustive]
pub enum Fault<'a> {
    Failed {
        tool: &'a str,
        text: &'a str,
    },
    Panicked {
        tool: &'a str,
        text: &'a str,
    },
    TooSlow {
        tool: &'a str,
        ms_max: u64,
    },
    /// The call went on nevertheless: its input validation is set to `warn`.
    InputInvalid {
        tool: &'a str,
        violations: &'a Violations,
    },
    OutputInvalid {
        tool: &'a str,
        violations: &'a Violations,
    },
    OutputMissing {
        tool: &'a str,
    },
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { tool, text } => write!(f, "{tool} failed: {text}"),
            Self::Panicked { tool, text } => write!(f, "{tool} panicked: {text}"),
            Self::TooSlow { tool, ms_max } => write!(f, "{tool} took more than {ms_max} ms"),
            Self::InputInvalid { tool, violations } => {
                write!(f, "{tool} was called against its input schema:\n{}", violations.full())
            }
            Self::OutputInvalid { tool, violations } => {
                write!(f, "{tool} broke its output schema:\n{}", violations.full())
            }
            Self::OutputMissing { tool } => write!(f, "{tool} gave no structured content"),
        }
    }
}

/// Callback for every fault. Runs on the task that met the fault, so it must not block.
pub type OnFault = Arc<dyn Fn(&Fault<'_>) + Send + Sync>;

/// Server engine: registry, options and the state that requests share. Answers the messages of every transport.
pub struct Engine {
    info: ServerInfo,
    options: Options,
    on_fault: Option<OnFault>,
    instructions: arc_swap::ArcSwapOption<String>,
    meter: crate::meter::Meter,
    hub: Arc<Hub>,
    registry: Registry,
    render: Render,
    /// Renders lists that depend on the caller: privately cacheable.
    private: Render,
    /// Renders lists that the caller can change at any time: privately cacheable with a TTL of 0.
    passing: Render,
    listeners: Arc<Listeners>,
    alarms: Alarms,
    empty: OwnedDocument,
}

/// Reason why an engine could not be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    #[error(transparent)]
    Json(#[from] toolcrib_contract::json::ReadError),
    /// A toolset's name or a built-in tool is invalid.
    #[error(transparent)]
    Toolsets(#[from] RegisterError),
}

impl Engine {
    pub fn new(info: ServerInfo, options: Options, on_fault: Option<OnFault>) -> Result<Self, StartError> {
        let sealer = match &options.sealer {
            Some(sealer) => sealer.clone(),
            None => Sealer::random()?,
        };
        let hub = Arc::new(Hub::default());
        let mut own = ObjectWriter::new();
        own.raw(meta::SERVER_INFO, &info.implementation());
        let render = Render {
            page_items: options.page_items.max(1),
            hint: CacheHint { ttl_ms: options.list_ttl_ms, scope: CacheScope::Public },
            meta: own.finish().into(),
            sealer,
        };
        let policy = options
            .safety
            .as_ref()
            .map_or_else(|| Arc::new(Policy::off()), |safety| safety.policy().policy().clone());
        let registry = Registry::new(hub.clone(), options.schema, options.toolsets.clone(), policy)?;
        if options.safety.is_some() && options.offers_safety_tools {
            registry.register_safety()?;
        }
        let private = CacheHint { ttl_ms: options.list_ttl_ms, scope: CacheScope::Private };
        let passing = CacheHint { ttl_ms: 0, scope: CacheScope::Private };
        Ok(Self {
            registry,
            private: Render { hint: private, ..render.clone() },
            passing: Render { hint: passing, ..render.clone() },
            listeners: Arc::default(),
            alarms: Alarms::default(),
            empty: OwnedDocument::parse("{}", &Limits::message())?,
            instructions: arc_swap::ArcSwapOption::from_pointee(info.instructions.clone()),
            meter: crate::meter::Meter::default(),
            info,
            options,
            on_fault,
            hub,
            render,
        })
    }

    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    #[must_use]
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    #[must_use]
    pub fn info(&self) -> &ServerInfo {
        &self.info
    }

    /// Returns the counters of calls.
    #[must_use]
    pub fn meter(&self) -> &crate::meter::Meter {
        &self.meter
    }

    /// Returns the instructions that clients get about the server as a whole.
    #[must_use]
    pub fn instructions(&self) -> Option<Arc<String>> {
        self.instructions.load_full()
    }

    /// Replaces the instructions; clients that connect later get the new ones.
    pub fn instruct(&self, instructions: Option<String>) {
        self.instructions.store(instructions.map(Arc::new));
    }

    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// `_meta` object of modern results, as raw JSON.
    pub(crate) fn meta(&self) -> &str {
        &self.render.meta
    }

    pub(crate) fn render(&self) -> &Render {
        &self.render
    }

    /// Returns the gate, emergency stop, journal and audit; `None` if safety is switched off.
    #[must_use]
    pub fn safety(&self) -> Option<&Arc<Safety>> {
        self.options.safety.as_ref()
    }

    /// Puts another policy in force for the next call: tools are judged by it, and clients are notified if their
    /// lists changed. Tickets issued under the old policy become void. Does nothing if safety is switched off.
    pub fn set_policy(&self, policy: Policy) {
        let Some(safety) = self.safety() else { return };
        let policy = Arc::new(policy);
        // Tools first: a ticket issued between the two steps carries the old fingerprint and is void.
        self.registry.set_policy(policy.clone());
        safety.set_policy(policy);
    }

    /// Writes all records that wait to be written; called before a process ends.
    pub async fn flush(&self) {
        if let Some(safety) = self.safety()
            && let Err(error) = safety.flush().await
        {
            tracing::error!(target: "toolcrib", "{error}");
        }
    }

    /// Returns the renderer for this caller's tool lists. Its cache scope and TTL depend on what the lists depend on:
    /// `ttlMs` and `cacheScope` are honest (R3.5).
    pub(crate) fn list_render(&self, caller: &Caller<'_>) -> &Render {
        let snapshot = self.registry.load();
        let toolsets = snapshot.catalogue.options();
        let is_plain = toolsets.is_plain_for(&caller.approach().selection);
        if is_plain && self.options.safety.is_none() {
            &self.render
        } else if !is_plain && toolsets.profiles_change {
            &self.passing
        } else {
            &self.private
        }
    }

    /// Returns the toolsets as declared and selected now; [`Registry::set_toolsets`] replaces them.
    #[must_use]
    pub fn toolsets(&self) -> Arc<ToolsetOptions> {
        self.registry.load().catalogue.options().clone()
    }

    pub(crate) fn alarms(&self) -> &Alarms {
        &self.alarms
    }

    pub(crate) fn listeners(&self) -> &Arc<Listeners> {
        &self.listeners
    }

    pub(crate) fn sealer(&self) -> &Sealer {
        &self.render.sealer
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.options.clock
    }

    /// Empty object that stands for absent `arguments`.
    pub(crate) fn no_arguments(&self) -> Node<'_> {
        self.empty.root()
    }

    /// Reports a fault to the operator: always to the log, and to the callback if there is one.
    pub(crate) fn report(&self, fault: &Fault<'_>) {
        tracing::warn!(target: "toolcrib", "{fault}");
        if let Some(on_fault) = &self.on_fault {
            on_fault(fault);
        }
    }

    /// Ends all subscription streams gracefully; requests in flight finish.
    pub fn shut_down(&self) {
        self.hub.end();
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("info", &self.info).finish_non_exhaustive()
    }
}
