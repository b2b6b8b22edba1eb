//! A tool as the registry keeps it: its contract, what stands behind it, and its prepared forms.

use std::sync::Arc;

use toolcrib_contract::Contract;
use toolcrib_contract::json::{Document, Limits};
use toolcrib_protocol::Era;
use toolcrib_protocol::convert::tool;
use toolcrib_protocol::param_header::{IllegalMark, ParamHeaders};

use crate::listing::Item;
use crate::tool::Tool;
use crate::validation::Validation;

/// The toolset of tools that were given none.
pub const DEFAULT_TOOLSET: &str = "core";

#[derive(Debug)]
pub struct Entry {
    contract: Contract,
    tool: Arc<dyn Tool>,
    toolset: Arc<str>,
    param_headers: ParamHeaders,
    validation: Validation,
    legacy: Arc<str>,
    modern: Arc<str>,
}

impl Entry {
    /// Prepares both eras' forms of the definition.
    pub fn new(contract: Contract, tool: Arc<dyn Tool>, toolset: Option<&str>) -> Result<Self, IllegalMark> {
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
        Ok(Self {
            toolset: toolset.unwrap_or(DEFAULT_TOOLSET).into(),
            param_headers,
            validation: Validation::default(),
            legacy,
            modern,
            contract,
            tool,
        })
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
    pub fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    #[must_use]
    pub fn toolset(&self) -> &str {
        &self.toolset
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

    pub(crate) fn item(&self) -> Item {
        Item { key: self.name().into(), legacy: self.legacy.clone(), modern: self.modern.clone() }
    }
}
