//! Preparation of tools that are not registered yet: compiling, screening and judging definitions.
//!
//! Guarantees: the names to screen against are collected once per server, so the work grows linearly with the number
//! of definitions and not with its square.

use std::sync::Arc;

use toolcrib_contract::json::Pointer;
use toolcrib_contract::{Contract, ContractError, Definition, SchemaRoom};

use super::{RegisterError, Registry, Snapshot};
use crate::entry::{Behind, Entry};
use crate::screen::Screen;
use crate::tool::Tool;
use crate::toolset::check_name;

/// Prepares tools to be added to one state of the registry.
#[derive(Debug)]
pub struct Preparer<'a> {
    registry: &'a Registry,
    screen: Screen<'a>,
    /// Memory budgets of the servers whose tools are prepared; `None` for a single tool.
    room: Option<SchemaRoom>,
}

impl Registry {
    /// Returns a preparer that screens definitions against the names in `present`.
    #[must_use]
    pub fn preparer<'a>(&'a self, present: &'a Snapshot) -> Preparer<'a> {
        let screen = Screen::new(self.policy.load().upstream_text, present.tools.entries());
        Preparer { registry: self, screen, room: None }
    }

    /// Compiles the contract of one definition without registering it.
    pub fn prepare(
        &self,
        definition: Definition,
        toolset: Option<&str>,
        server: Option<&str>,
        tool: Arc<dyn Tool>,
    ) -> Result<Entry, RegisterError> {
        self.preparer(&self.load_full()).prepare(definition, toolset, server, |_| tool)
    }
}

impl Preparer<'_> {
    /// Begins the tools of the next server: its compiled schemas count against its own budget and against the total.
    pub fn next_server(&mut self) {
        self.room.get_or_insert_default().next_server();
    }

    /// Counts the compiled schemas of an entry that was prepared before.
    pub fn keep(&mut self, entry: &Entry) -> Result<(), RegisterError> {
        let Some(room) = &mut self.room else { return Ok(()) };
        let contract = entry.contract();
        let schemas = std::iter::once(contract.input()).chain(contract.output()).map(|schema| &**schema);
        let place = Pointer::root().join("inputSchema");
        room.keep(schemas).map_err(|error| ContractError::Input(error.within(&place)).into())
    }

    /// Compiles the contract of a definition; `tool` creates its implementation.
    pub fn prepare(
        &mut self,
        definition: Definition,
        toolset: Option<&str>,
        server: Option<&str>,
        tool: impl FnOnce(&Contract) -> Arc<dyn Tool>,
    ) -> Result<Entry, RegisterError> {
        toolset.map_or(Ok(()), check_name)?;
        if let Some(aside) = self.screen.aside(&definition, server) {
            let reasons: Vec<String> = aside.reasons.iter().map(ToString::to_string).collect();
            return Err(RegisterError::Suspicious(reasons.join("; ").into()));
        }
        let Registry { options, cache, .. } = self.registry;
        let contract = match &mut self.room {
            Some(room) => Contract::compile_within(definition, options, cache, room)?,
            None => Contract::compile(definition, options, cache)?,
        };
        let tool = tool(&contract);
        Ok(Entry::new(contract, Behind::Tool(tool), toolset, server, &self.registry.policy())?)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use toolcrib_contract::SchemaOptions;

    use super::*;
    use crate::answer::Answer;
    use crate::hub::Hub;
    use crate::registry::Offer;
    use crate::safety::policy::Policy;
    use crate::tool::{BoxFuture, Invocation, ToolError};
    use crate::toolset::ToolsetOptions;

    struct Nobody;

    impl Tool for Nobody {
        fn call<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<Answer, ToolError>> {
            Box::pin(async { Err(ToolError::NotFound) })
        }
    }

    fn definition(server: &str, number: usize) -> Definition {
        let text = format!(
            r#"{{"name":"{server}__tool_{number}","description":"Reads.","inputSchema":{{"type":"object"}}}}"#
        );
        Definition::parse(text).unwrap()
    }

    fn offer(server: &str, number: usize) -> Offer {
        let tool = Arc::new(Nobody);
        Offer { definition: definition(server, number), toolset: None, server: Some(server.into()), tool }
    }

    /// Measures how long it takes to prepare `count` tools beside as many of another server.
    fn preparing(count: usize) -> Duration {
        let policy = Arc::new(Policy::default());
        let toolsets = ToolsetOptions::default();
        let registry =
            Registry::new(Arc::new(Hub::default()), SchemaOptions::default(), toolsets, policy).unwrap();
        registry.register_all((0..count).map(|number| offer("one", number)).collect()).unwrap();
        let definitions: Vec<Definition> = (0..count).map(|number| definition("two", number)).collect();
        let (begun, present) = (Instant::now(), registry.load_full());
        let mut preparer = registry.preparer(&present);
        for definition in definitions {
            preparer.prepare(definition, None, Some("two"), |_| Arc::new(Nobody)).unwrap();
        }
        begun.elapsed()
    }

    /// R5.3: preparing the tools of many servers takes a time that grows with their number, not with its square.
    #[test]
    fn four_times_as_many_tools_are_about_four_times_the_work() {
        let best = |count| (0..3).map(|_| preparing(count)).min().unwrap();
        let (few, many) = (best(300), best(1_200));
        // Comparing each tool with all others would take sixteen times as long.
        assert!(many < few * 9, "300: {few:?}, 1,200: {many:?}");
    }
}
