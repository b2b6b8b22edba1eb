//! A tool as the registry keeps it: its contract, what stands behind it, and its prepared forms.

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

/// The toolset of tools that were given none.
pub const DEFAULT_TOOLSET: &str = "core";

#[derive(Debug, Clone)]
pub struct Entry {
    contract: Contract,
    behind: Behind,
    /// Given at registration.
    toolset: Option<Arc<str>>,
    server: Option<Arc<str>>,
    param_headers: ParamHeaders,
    validation: Validation,
    item: Item,
    judged: Judged,
    /// The policy that judged it.
    policy: Arc<Policy>,
    /// Hints of the definition that the lock holds.
    pinned: Option<Hints>,
}

/// What answers a call.
#[derive(Debug, Clone)]
pub enum Behind {
    Tool(Arc<dyn Tool>),
    /// The engine itself.
    Discovery(Meta),
    Safety(SafetyTool),
}

impl Behind {
    /// Returns what the policy's judgement means for a tool that is answered like this.
    fn judged(&self, judged: Judged) -> Judged {
        match self {
            Self::Safety(tool) => tool.judged(judged),
            // `call_tool` is judged as the tool it names; the others change nothing but lists.
            Self::Discovery(_) => judged.of_discovery(),
            Self::Tool(_) => judged,
        }
    }
}

impl Entry {
    /// Prepares both eras' forms of the definition.
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
        // Most definitions look the same to both eras; they are kept once.
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

    /// The same judged by the stricter of these hints and its own.
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

    /// Returns the entry as this policy judges it; the very same one if it did already.
    #[must_use]
    pub(crate) fn judged_by(self: Arc<Self>, policy: &Arc<Policy>) -> Arc<Self> {
        if Arc::ptr_eq(&self.policy, policy) {
            return self;
        }
        let mut entry = Self::clone(&self);
        entry.judge(policy);
        Arc::new(entry)
    }

    /// The same with other modes.
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

    /// Which discovery tool it is, if any.
    #[must_use]
    pub fn meta(&self) -> Option<Meta> {
        match self.behind {
            Behind::Discovery(meta) => Some(meta),
            Behind::Tool(_) | Behind::Safety(_) => None,
        }
    }

    /// Which safety tool it is, if any.
    #[must_use]
    pub fn safety(&self) -> Option<SafetyTool> {
        match self.behind {
            Behind::Safety(tool) => Some(tool),
            Behind::Tool(_) | Behind::Discovery(_) => None,
        }
    }

    /// What the policy says of it.
    #[must_use]
    pub fn judged(&self) -> &Judged {
        &self.judged
    }

    /// A form of the definition whose input schema takes a confirmation token (R4.2).
    pub(crate) fn with_token(&self, item: &Item) -> Item {
        item.clone().changed(|raw| property::advertise(self, raw))
    }

    /// The toolset it was registered with, else its server's, else the default.
    #[must_use]
    pub fn toolset(&self) -> &str {
        self.own_toolset().or(self.server()).unwrap_or(DEFAULT_TOOLSET)
    }

    /// The toolset it was registered with.
    #[must_use]
    pub fn own_toolset(&self) -> Option<&str> {
        self.toolset.as_deref()
    }

    /// The server it comes from, where there are several.
    #[must_use]
    pub fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    #[must_use]
    pub fn param_headers(&self) -> &ParamHeaders {
        &self.param_headers
    }

    /// R2.3: priority first, lower before higher and none last, then name.
    #[must_use]
    pub fn rank(&self) -> (i64, &str) {
        (self.contract.annotations().priority.unwrap_or(i64::MAX), self.name())
    }

    pub(crate) fn item(&self) -> &Item {
        &self.item
    }
}
