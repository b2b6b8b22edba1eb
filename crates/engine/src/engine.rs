//! The engine: what a server offers, and how a message is answered, whatever transport brought it.
//!
//! Opens no socket and no file. Guarantees: every request gets exactly one reply; nothing a client sends makes it
//! panic or wait on another client.

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

/// What a server says about itself.
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

/// How a server behaves where it has a choice.
#[derive(Debug, Clone)]
pub struct Options {
    pub bad_arguments: BadArguments,
    pub page_items: usize,
    pub list_ttl_ms: u64,
    pub call_ms_max: u64,
    pub schema: SchemaOptions,
    /// Keys that seal state and cursors; random ones of this process if absent.
    pub sealer: Option<Sealer>,
    pub clock: Arc<dyn Clock>,
    /// Offered even while nothing is registered, so that it can appear later.
    pub offers_prompts: bool,
    pub offers_resources: bool,
    /// As at the start; [`Engine::toolsets`] says what counts now.
    pub toolsets: ToolsetOptions,
    /// Gate, stop, journal and audit; absent: none of them.
    pub safety: Option<Arc<Safety>>,
    /// Offered with `safety`: the tools for tokens and the emergency stop.
    pub offers_safety_tools: bool,
    /// Who collects spans; absent: there are none.
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

/// Something the operator should hear of, with everything that is kept from the client.
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
    /// Passed on all the same: the tool's input is only watched.
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

/// Called with every fault, from the task that met it: must not block.
pub type OnFault = Arc<dyn Fn(&Fault<'_>) + Send + Sync>;

pub struct Engine {
    info: ServerInfo,
    options: Options,
    on_fault: Option<OnFault>,
    instructions: arc_swap::ArcSwapOption<String>,
    meter: crate::meter::Meter,
    hub: Arc<Hub>,
    registry: Registry,
    render: Render,
    /// Of lists that depend on who asks.
    private: Render,
    /// Of lists that whoever asks may change at any time.
    passing: Render,
    listeners: Arc<Listeners>,
    alarms: Alarms,
    empty: OwnedDocument,
}

/// Why an engine could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    #[error(transparent)]
    Json(#[from] toolcrib_contract::json::ReadError),
    /// A toolset's name, or the discovery tools.
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

    /// What was counted.
    #[must_use]
    pub fn meter(&self) -> &crate::meter::Meter {
        &self.meter
    }

    /// What the model is told about the server as a whole.
    #[must_use]
    pub fn instructions(&self) -> Option<Arc<String>> {
        self.instructions.load_full()
    }

    /// Changes what the model is told; clients that connect later hear it.
    pub fn instruct(&self, instructions: Option<String>) {
        self.instructions.store(instructions.map(Arc::new));
    }

    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Raw `_meta` object of modern results.
    pub(crate) fn meta(&self) -> &str {
        &self.render.meta
    }

    pub(crate) fn render(&self) -> &Render {
        &self.render
    }

    /// Gate, stop, journal and audit, where they are switched on.
    #[must_use]
    pub fn safety(&self) -> Option<&Arc<Safety>> {
        self.options.safety.as_ref()
    }

    /// Puts another policy in force for the next call: tools are judged by it and clients are told where their lists
    /// changed. Tickets that were given under another policy are void. Changes nothing where safety is not switched on.
    pub fn set_policy(&self, policy: Policy) {
        let Some(safety) = self.safety() else { return };
        let policy = Arc::new(policy);
        // Tools first: a ticket of the moment between carries the older fingerprint and is void.
        self.registry.set_policy(policy.clone());
        safety.set_policy(policy);
    }

    /// Writes what waits to be written; for the end of a process.
    pub async fn flush(&self) {
        if let Some(safety) = self.safety()
            && let Err(error) = safety.flush().await
        {
            tracing::error!(target: "toolcrib", "{error}");
        }
    }

    /// How the lists of tools are written that this caller gets: what they depend on decides who may keep them, and
    /// how long (R3.5).
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

    /// What is declared and selected now; [`Registry::set_toolsets`] replaces it.
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

    /// What absent `arguments` mean.
    pub(crate) fn no_arguments(&self) -> Node<'_> {
        self.empty.root()
    }

    /// Tells the operator: the log always, the callback if there is one.
    pub(crate) fn report(&self, fault: &Fault<'_>) {
        tracing::warn!(target: "toolcrib", "{fault}");
        if let Some(on_fault) = &self.on_fault {
            on_fault(fault);
        }
    }

    /// Everything that streams ends gracefully; requests under way finish.
    pub fn shut_down(&self) {
        self.hub.end();
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("info", &self.info).finish_non_exhaustive()
    }
}
