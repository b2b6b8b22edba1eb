//! [`Entry`]: a tool in the registry, with its contract, what answers its calls, and its prepared wire forms.

use std::sync::Arc;

use toolcrib_contract::json::{Document, Limits};
use toolcrib_contract::{Contract, Hints};
use toolcrib_protocol::Era;
use toolcrib_protocol::convert::tool;
use toolcrib_protocol::param_header::{IllegalMark, ParamHeaders};

use crate::discovery::Meta;
use crate::listing::Item;
use crate::safety::policy::{Judged, Policy};
use crate::safety::property;
use crate::safety::tools::SafetyTool;
use crate::tool::Tool;
use crate::validation::Validation;

/// Toolset of tools that were registered without one and belong to no server.
pub const DEFAULT_TOOLSET: &str = "core";

/// Tool in the registry.
#[derive(Debug, Clone)]
pub struct Entry {
    contract: Contract,
    behind: Behind,
    /// Toolset given at registration.
    toolset: Option<Arc<str>>,
    server: Option<Arc<str>>,
    param_headers: ParamHeaders,
    validation: Validation,
    item: Item,
    judged: Judged,
    /// Policy that produced `judged`.
    policy: Arc<Policy>,
    /// Hints of the locked definition.
    pinned: Option<Hints>,
}

/// Implementation that answers a call.
#[derive(Debug, Clone)]
pub enum Behind {
    Tool(Arc<dyn Tool>),
    /// Answered by the engine.
    Discovery(Meta),
    Safety(SafetyTool),
}

impl Behind {
    /// Adapts the policy's judgement to this kind of tool.
    fn judged(&self, judged: Judged) -> Judged {
        match self {
            Self::Safety(tool) => tool.judged(judged),
            // `call_tool` is judged as the tool it names; the other discovery tools change nothing but lists.
            Self::Discovery(_) => judged.of_discovery(),
            Self::Tool(_) => judged,
        }
    }
}

impl Entry {
    /// Prepares the definition in the forms of both eras.
    pub fn new(
        contract: Contract,
        behind: Behind,
        toolset: Option<&str>,
        server: Option<&str>,
        policy: &Arc<Policy>,
    ) -> Result<Self, IllegalMark> {
        let param_headers =
            contract.definition().input_schema().map(ParamHeaders::read).transpose()?.unwrap_or_default();
        let wire = contract.definition().wire_text();
        let form = |era| match Document::parse(wire.as_bytes(), &Limits::definition()) {
            Ok(document) => tool::definition(document.root(), era).into(),
            Err(_) => Arc::from(&*wire),
        };
        let modern: Arc<str> = form(Era::Modern);
        let legacy: Arc<str> = form(Era::Legacy);
        // Most definitions are equal in both eras; those are stored once.
        let legacy = if legacy == modern { modern.clone() } else { legacy };
        drop(wire);
        let judged = behind.judged(policy.judge(&contract, None));
        Ok(Self {
            toolset: toolset.map(Into::into),
            server: server.map(Into::into),
            param_headers,
            validation: Validation::default(),
            item: Item::new(contract.name().as_str().into(), legacy, modern),
            contract,
            behind,
            judged,
            policy: policy.clone(),
            pinned: None,
        })
    }

    /// Judges the entry by the stricter of the pinned hints and its own (R1.4, effective annotations).
    #[must_use]
    pub(crate) fn judged_with(mut self, policy: &Arc<Policy>, pinned: &Hints) -> Self {
        self.pinned = Some(*pinned);
        self.judge(policy);
        self
    }

    fn judge(&mut self, policy: &Arc<Policy>) {
        self.judged = self.behind.judged(policy.judge(&self.contract, self.pinned.as_ref()));
        self.policy = policy.clone();
    }

    /// Returns the entry as judged by this policy; the same `Arc` if it was judged by it already.
    #[must_use]
    pub(crate) fn judged_by(self: Arc<Self>, policy: &Arc<Policy>) -> Arc<Self> {
        if Arc::ptr_eq(&self.policy, policy) {
            return self;
        }
        let mut entry = Self::clone(&self);
        entry.judge(policy);
        Arc::new(entry)
    }

    /// Sets the validation modes.
    #[must_use]
    pub fn with_validation(mut self, validation: Validation) -> Self {
        self.validation = validation;
        self
    }

    #[must_use]
    pub fn validation(&self) -> Validation {
        self.validation
    }

    #[must_use]
    pub fn name(&self) -> &str {
        self.contract.name().as_str()
    }

    #[must_use]
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    #[must_use]
    pub fn behind(&self) -> &Behind {
        &self.behind
    }

    /// Returns which discovery tool this is, if any.
    #[must_use]
    pub fn meta(&self) -> Option<Meta> {
        match self.behind {
            Behind::Discovery(meta) => Some(meta),
            Behind::Tool(_) | Behind::Safety(_) => None,
        }
    }

    /// Returns which safety tool this is, if any.
    #[must_use]
    pub fn safety(&self) -> Option<SafetyTool> {
        match self.behind {
            Behind::Safety(tool) => Some(tool),
            Behind::Tool(_) | Behind::Discovery(_) => None,
        }
    }

    /// Returns the policy's judgement of the tool.
    #[must_use]
    pub fn judged(&self) -> &Judged {
        &self.judged
    }

    /// Returns a form of the definition whose input schema has the optional `confirmation_token` property (R4.2).
    pub(crate) fn with_token(&self, item: &Item) -> Item {
        item.clone().changed(|raw| property::advertise(self, raw))
    }

    /// Returns the toolset given at registration, else the name of its server, else the default.
    #[must_use]
    pub fn toolset(&self) -> &str {
        self.own_toolset().or(self.server()).unwrap_or(DEFAULT_TOOLSET)
    }

    /// Returns the toolset given at registration.
    #[must_use]
    pub fn own_toolset(&self) -> Option<&str> {
        self.toolset.as_deref()
    }

    /// Returns the upstream server that the tool comes from, if any.
    #[must_use]
    pub fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    #[must_use]
    pub fn param_headers(&self) -> &ParamHeaders {
        &self.param_headers
    }

    /// Sort key of lists: priority first, lower before higher and none last, then name (R2.3, deterministic `list`).
    #[must_use]
    pub fn rank(&self) -> (i64, &str) {
        (self.contract.annotations().priority.unwrap_or(i64::MAX), self.name())
    }

    pub(crate) fn item(&self) -> &Item {
        &self.item
    }
}
