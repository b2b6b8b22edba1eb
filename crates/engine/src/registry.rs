//! [`Registry`]: the tools, resources and prompts of a server, as one immutable snapshot that is replaced as a whole.
//!
//! Guarantees: readers never wait and never see half a change; a refused registration leaves the registry exactly as
//! it was; every change is published to the hub once.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use toolcrib_contract::{
    Contract, ContractError, Definition, DefinitionError, Hints, SchemaCache, SchemaError, SchemaOptions,
};
use toolcrib_protocol::param_header::IllegalMark;

use crate::completion::{Completer, Reference};
use crate::discovery::Meta;
use crate::entry::{Behind, Entry};
use crate::hub::{Change, Hub};
use crate::listing::{Item, Listing};
use crate::prompt::Prompt;
use crate::resource::{Reader, Resource, ResourceTemplate};
use crate::safety::policy::Policy;
use crate::safety::tools::SafetyTool;
use crate::screen::{Aside, Quarantined, Screen};
use crate::template::{TemplateError, TemplateIndex, UriTooLong, check_uri_length};
use crate::tool::Tool;
use crate::toolset::catalogue::Catalogue;
use crate::toolset::{BadToolsetName, DISCOVERY, ToolsetOptions, check_name};
use crate::view::View;

mod completers;
mod exchange;
mod prepare;

pub use completers::Completers;
pub use exchange::{Held, Offers};
pub use prepare::Preparer;

/// Reason why a registration was refused (R2.2: different errors; the registry is unchanged after any of them).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    #[error("{0} is registered already")]
    Duplicate(Box<str>),
    #[error("invalid tool name: {0}")]
    InvalidName(ContractError),
    #[error("{0}")]
    InvalidInputSchema(ContractError),
    #[error("{0}")]
    InvalidOutputSchema(ContractError),
    /// The schema is valid but over a limit, or its patterns are outside the linear class.
    #[error("schema refused: {0}")]
    RefusedSchema(ContractError),
    #[error("invalid input schema: {0}")]
    IllegalHeaderMark(#[from] IllegalMark),
    #[error("invalid definition: {0}")]
    InvalidDefinition(#[from] DefinitionError),
    #[error("{template:?} is not a URI template: {cause}")]
    InvalidTemplate { template: Box<str>, cause: TemplateError },
    #[error("invalid URI of a resource: {0}")]
    InvalidUri(#[from] UriTooLong),
    #[error(transparent)]
    InvalidToolset(#[from] BadToolsetName),
    /// The upstream server's text hides characters, imitates another tool or gives orders to the model (R4.9).
    #[error("suspicious text: {0}")]
    Suspicious(Box<str>),
    #[error("no digest can be made of the definition: {0}")]
    NoDigest(ContractError),
}

impl From<ContractError> for RegisterError {
    fn from(error: ContractError) -> Self {
        match &error {
            ContractError::Name(_) => Self::InvalidName(error),
            ContractError::Input(schema) | ContractError::Output(schema) if is_refusal(schema) => {
                Self::RefusedSchema(error)
            }
            ContractError::Input(_) | ContractError::NoInputSchema | ContractError::InputNotObject => {
                Self::InvalidInputSchema(error)
            }
            ContractError::Output(_) => Self::InvalidOutputSchema(error),
            _ => Self::NoDigest(error),
        }
    }
}

impl RegisterError {
    /// Returns true if the schema is admissible by itself, but the schemas registered already leave no room for it.
    #[must_use]
    pub fn is_over_budget(&self) -> bool {
        let Self::RefusedSchema(ContractError::Input(schema) | ContractError::Output(schema)) = self else {
            return false;
        };
        use toolcrib_contract::SchemaLimit::{ServerBytes, TotalBytes};
        matches!(schema, SchemaError::Limit { limit: ServerBytes | TotalBytes, .. })
    }
}

/// Returns true if admission refused the schema, which is not wrong by itself.
fn is_refusal(error: &SchemaError) -> bool {
    matches!(error, SchemaError::Limit { .. } | SchemaError::Pattern { .. })
}

/// Tool to be registered.
#[derive(Debug)]
pub struct Offer {
    pub definition: Definition,
    pub toolset: Option<Box<str>>,
    /// Upstream server that the tool comes from, if any; its name is the default toolset.
    pub server: Option<Box<str>>,
    pub tool: Arc<dyn Tool>,
}

/// Items by key, with their prepared list.
#[derive(Debug)]
pub struct Shelf<T> {
    by_key: BTreeMap<Arc<str>, Arc<T>>,
    listing: Listing,
}

impl<T> Shelf<T> {
    fn new(
        member: &'static str,
        by_key: BTreeMap<Arc<str>, Arc<T>>,
        definition: fn(&T) -> &Arc<str>,
    ) -> Self {
        let items =
            by_key.iter().map(|(key, thing)| Item::same(key.clone(), definition(thing).clone())).collect();
        Self { listing: Listing::new(member, items), by_key }
    }

    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Arc<T>> {
        self.by_key.get(key)
    }

    #[must_use]
    pub fn listing(&self) -> &Listing {
        &self.listing
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }
}

/// One state of the registry.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub tools: Arc<View>,
    pub catalogue: Arc<Catalogue>,
    pub resources: Arc<Shelf<Resource>>,
    pub templates: Arc<Shelf<ResourceTemplate>>,
    /// Index of `templates` by the literal text that their URIs begin with.
    pub template_index: Arc<TemplateIndex>,
    pub prompts: Arc<Shelf<Prompt>>,
    pub completers: Arc<Completers>,
}

impl Snapshot {
    /// Computes ahead what the first request in a new state would otherwise compute on its serving thread.
    fn warm_up(&self) {
        let _ = self.tools.fingerprint();
        if self.catalogue.options().has_discovery() {
            let _ = self.catalogue.index();
        }
    }
}

/// Registry: one writer at a time, lock-free readers.
#[derive(Debug)]
pub struct Registry {
    snapshot: ArcSwap<Snapshot>,
    writer: Mutex<()>,
    hub: Arc<Hub>,
    options: SchemaOptions,
    policy: ArcSwap<Policy>,
    aside: Mutex<Aside>,
    cache: SchemaCache,
    /// Fallback reader for resources that are in no list.
    elsewhere: arc_swap::ArcSwapOption<Elsewhere>,
}

#[derive(Debug)]
struct Elsewhere(Arc<dyn Reader>);

impl Registry {
    /// Creates a registry that is empty, except for the discovery tools if the options ask for them.
    pub fn new(
        hub: Arc<Hub>,
        options: SchemaOptions,
        toolsets: ToolsetOptions,
        policy: Arc<Policy>,
    ) -> Result<Self, RegisterError> {
        let tools = Arc::new(View::new(Vec::new()));
        let snapshot = Snapshot {
            catalogue: Arc::new(Catalogue::new(tools.clone(), Arc::default())),
            tools,
            resources: Arc::new(Shelf::new("resources", BTreeMap::new(), |resource| &resource.definition)),
            templates: Arc::new(Shelf::new("resourceTemplates", BTreeMap::new(), |it| &it.definition)),
            template_index: Arc::default(),
            prompts: Arc::new(Shelf::new("prompts", BTreeMap::new(), |prompt| &prompt.definition)),
            completers: Arc::default(),
        };
        let registry = Self {
            snapshot: ArcSwap::from_pointee(snapshot),
            writer: Mutex::default(),
            hub,
            options,
            policy: ArcSwap::new(policy),
            aside: Mutex::default(),
            cache: SchemaCache::new(),
            elsewhere: arc_swap::ArcSwapOption::empty(),
        };
        registry.set_toolsets(toolsets)?;
        Ok(registry)
    }

    /// Returns the reader for resources that are in no list and match no template.
    #[must_use]
    pub fn elsewhere(&self) -> Option<Arc<dyn Reader>> {
        self.elsewhere.load().as_ref().map(|elsewhere| elsewhere.0.clone())
    }

    /// Sets the reader for resources that are in no list and match no template.
    pub fn set_elsewhere(&self, reader: Option<Arc<dyn Reader>>) {
        self.elsewhere.store(reader.map(|reader| Arc::new(Elsewhere(reader))));
    }

    #[must_use]
    pub fn load(&self) -> arc_swap::Guard<Arc<Snapshot>> {
        self.snapshot.load()
    }

    #[must_use]
    pub fn load_full(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Compiles the contract of a definition and registers the tool behind it.
    pub fn register(
        &self,
        definition: Definition,
        toolset: Option<&str>,
        tool: Arc<dyn Tool>,
    ) -> Result<(), RegisterError> {
        let toolset = toolset.map(Into::into);
        self.register_all(vec![Offer { definition, toolset, server: None, tool }])
    }

    /// Registers several tools in one change: all of them or none. Quarantined tools are left out and reported.
    pub fn register_all(&self, offers: Vec<Offer>) -> Result<(), RegisterError> {
        let mut added: Vec<Arc<Entry>> = Vec::with_capacity(offers.len());
        let mut aside = Vec::new();
        let (present, policy) = (self.snapshot.load_full(), self.policy());
        let mut screen = Screen::new(policy.upstream_text, present.tools.entries());
        for Offer { definition, toolset, server, tool } in offers {
            toolset.as_deref().map_or(Ok(()), check_name)?;
            if let Some(quarantined) = screen.aside(&definition, server.as_deref()) {
                aside.push(quarantined);
                continue;
            }
            let contract = Contract::compile(definition, &self.options, &self.cache)?;
            let behind = Behind::Tool(tool);
            added.push(Arc::new(Entry::new(
                contract,
                behind,
                toolset.as_deref(),
                server.as_deref(),
                &policy,
            )?));
        }
        if added.is_empty() && !aside.is_empty() {
            self.keep_aside(aside);
            return Ok(());
        }
        self.add(added)?;
        self.keep_aside(aside);
        Ok(())
    }

    fn keep_aside(&self, more: Vec<Quarantined>) {
        let mut aside = self.aside.lock().unwrap_or_else(PoisonError::into_inner);
        more.into_iter().for_each(|one| aside.keep(one));
    }

    /// Returns the tools that were quarantined for their text, with the reasons (R4.9).
    #[must_use]
    pub fn quarantined(&self) -> Vec<Quarantined> {
        self.aside.lock().unwrap_or_else(PoisonError::into_inner).all()
    }

    /// Registers the safety tools.
    pub(crate) fn register_safety(&self) -> Result<(), RegisterError> {
        let mut added = Vec::with_capacity(SafetyTool::ALL.len());
        for tool in SafetyTool::ALL {
            let contract = Contract::compile(tool.definition()?, &self.options, &self.cache)?;
            let behind = Behind::Safety(tool);
            added.push(Arc::new(Entry::new(contract, behind, Some(DISCOVERY), None, &self.policy())?));
        }
        self.add(added)
    }

    /// Replaces the declared and selected toolsets in one change; the discovery tools are added or removed with it.
    pub fn set_toolsets(&self, toolsets: ToolsetOptions) -> Result<(), RegisterError> {
        toolsets.declared.iter().try_for_each(|toolset| check_name(&toolset.name))?;
        let mut discovery = Vec::new();
        if toolsets.has_discovery() {
            for meta in Meta::ALL {
                let contract = Contract::compile(meta.definition()?, &self.options, &self.cache)?;
                discovery.push(Arc::new(Entry::new(
                    contract,
                    Behind::Discovery(meta),
                    Some(DISCOVERY),
                    None,
                    &self.policy(),
                )?));
            }
        }
        self.change(&Change::Tools, |snapshot| {
            let others = snapshot.tools.entries().iter().filter(|entry| entry.meta().is_none());
            let entries = joined(others.cloned().collect(), discovery)?;
            self.set_tools(snapshot, entries, Arc::new(toolsets));
            Ok(())
        })
    }

    fn add(&self, added: Vec<Arc<Entry>>) -> Result<(), RegisterError> {
        self.change(&Change::Tools, |snapshot| {
            let entries = joined(snapshot.tools.entries().to_vec(), added)?;
            let toolsets = snapshot.catalogue.options().clone();
            self.set_tools(snapshot, entries, toolsets);
            Ok(())
        })
    }

    /// Judges a prepared tool by the stricter of its pinned hints and its own (R1.4, effective annotations).
    #[must_use]
    pub fn judge_pinned(&self, entry: Entry, pinned: Option<&Hints>) -> Entry {
        match pinned {
            Some(pinned) => entry.judged_with(&self.policy(), pinned),
            None => entry,
        }
    }

    /// Removes the tools of these names and adds others in one change. Nothing is published if nothing changed.
    pub fn replace_tools(&self, gone: &[Arc<str>], added: Vec<Arc<Entry>>) -> Result<(), RegisterError> {
        let gone: HashSet<&str> = gone.iter().map(|name| &**name).collect();
        let now = self.load_full();
        let is_there = |entry: &Arc<Entry>| {
            gone.contains(entry.name())
                && now.tools.get(entry.name()).is_some_and(|old| Arc::ptr_eq(old, entry))
        };
        if gone.len() == added.len() && added.iter().all(is_there) {
            return Ok(());
        }
        self.change(&Change::Tools, |snapshot| {
            let old = snapshot.tools.entries().iter();
            let kept = old.filter(|entry| !gone.contains(entry.name())).cloned().collect();
            let entries = joined(kept, added)?;
            let toolsets = snapshot.catalogue.options().clone();
            self.set_tools(snapshot, entries, toolsets);
            snapshot.warm_up();
            Ok(())
        })
    }

    /// Removes a tool; returns false if there is none of that name.
    pub fn unregister(&self, name: &str) -> bool {
        let removed = self.change(&Change::Tools, |snapshot| {
            if snapshot.tools.get(name).is_none() {
                return Err(());
            }
            let rest =
                snapshot.tools.entries().iter().filter(|entry| entry.name() != name).cloned().collect();
            let toolsets = snapshot.catalogue.options().clone();
            self.set_tools(snapshot, rest, toolsets);
            Ok(())
        });
        removed.is_ok()
    }

    pub fn register_resource(&self, resource: Resource) -> Result<(), RegisterError> {
        check_uri_length(&resource.uri)?;
        self.change(&Change::Resources, |snapshot| {
            let by_key = with(&snapshot.resources.by_key, resource.uri.clone(), resource)?;
            snapshot.resources = Arc::new(Shelf::new("resources", by_key, |resource| &resource.definition));
            Ok(())
        })
    }

    pub fn register_template(&self, template: ResourceTemplate) -> Result<(), RegisterError> {
        self.change(&Change::Resources, |snapshot| {
            let by_key = with(&snapshot.templates.by_key, template.uri_template().clone(), template)?;
            set_templates(snapshot, by_key);
            Ok(())
        })
    }

    pub fn register_prompt(&self, prompt: Prompt) -> Result<(), RegisterError> {
        self.change(&Change::Prompts, |snapshot| {
            let by_key = with(&snapshot.prompts.by_key, prompt.name.clone(), prompt)?;
            snapshot.prompts = Arc::new(Shelf::new("prompts", by_key, |prompt| &prompt.definition));
            Ok(())
        })
    }

    pub fn unregister_resource(&self, uri: &str) -> bool {
        let removed = self.change(&Change::Resources, |snapshot| {
            let by_key = without(&snapshot.resources.by_key, uri)?;
            snapshot.resources = Arc::new(Shelf::new("resources", by_key, |resource| &resource.definition));
            Ok::<(), ()>(())
        });
        removed.is_ok()
    }

    pub fn unregister_prompt(&self, name: &str) -> bool {
        let removed = self.change(&Change::Prompts, |snapshot| {
            let by_key = without(&snapshot.prompts.by_key, name)?;
            snapshot.prompts = Arc::new(Shelf::new("prompts", by_key, |prompt| &prompt.definition));
            Ok::<(), ()>(())
        });
        removed.is_ok()
    }

    /// Sets the completer of an argument, in place of an earlier one.
    pub fn register_completer(&self, reference: Reference, argument: &str, completer: Arc<dyn Completer>) {
        let _writing = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut snapshot = Snapshot::clone(&self.snapshot.load());
        Arc::make_mut(&mut snapshot.completers).set(reference, argument, completer);
        self.snapshot.store(Arc::new(snapshot));
    }

    /// Returns the policy that judges the tools.
    #[must_use]
    pub fn policy(&self) -> Arc<Policy> {
        self.policy.load_full()
    }

    /// Judges every tool by another policy, in one change.
    pub(crate) fn set_policy(&self, policy: Arc<Policy>) {
        let judged = self.change(&Change::Tools, |snapshot| {
            self.policy.store(policy);
            let (entries, toolsets) =
                (snapshot.tools.entries().to_vec(), snapshot.catalogue.options().clone());
            self.set_tools(snapshot, entries, toolsets);
            snapshot.warm_up();
            Ok::<(), std::convert::Infallible>(())
        });
        let Ok(()) = judged;
    }

    /// Puts tools into a snapshot. Called with the writer lock held, so that a tool that was prepared under an older
    /// policy is judged by the current one.
    fn set_tools(&self, snapshot: &mut Snapshot, entries: Vec<Arc<Entry>>, toolsets: Arc<ToolsetOptions>) {
        let policy = self.policy();
        let entries = entries.into_iter().map(|entry| entry.judged_by(&policy)).collect();
        snapshot.tools = Arc::new(View::new(entries));
        snapshot.catalogue = Arc::new(Catalogue::new(snapshot.tools.clone(), toolsets));
    }

    /// Applies a change with the writer lock held; the new snapshot is published only if the change succeeded.
    fn change<E>(
        &self,
        change: &Change,
        apply: impl FnOnce(&mut Snapshot) -> Result<(), E>,
    ) -> Result<(), E> {
        let _writing = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut snapshot = Snapshot::clone(&self.snapshot.load());
        apply(&mut snapshot)?;
        self.snapshot.store(Arc::new(snapshot));
        self.hub.publish(change);
        Ok(())
    }
}

/// Joins two lists of tools; refuses a name that occurs twice.
fn joined(
    mut entries: Vec<Arc<Entry>>,
    mut added: Vec<Arc<Entry>>,
) -> Result<Vec<Arc<Entry>>, RegisterError> {
    let mut names: HashSet<&str> = entries.iter().map(|entry| entry.name()).collect();
    if let Some(twice) = added.iter().find(|entry| !names.insert(entry.name())) {
        return Err(RegisterError::Duplicate(twice.name().into()));
    }
    drop(names);
    entries.append(&mut added);
    Ok(entries)
}

fn set_templates(snapshot: &mut Snapshot, templates: Keyed<ResourceTemplate>) {
    snapshot.template_index = Arc::new(TemplateIndex::new(templates.values()));
    snapshot.templates = Arc::new(Shelf::new("resourceTemplates", templates, |it| &it.definition));
}

type Keyed<T> = BTreeMap<Arc<str>, Arc<T>>;

fn with<T>(old: &Keyed<T>, key: Arc<str>, thing: T) -> Result<Keyed<T>, RegisterError> {
    if old.contains_key(&key) {
        return Err(RegisterError::Duplicate((&*key).into()));
    }
    let mut new = old.clone();
    new.insert(key, Arc::new(thing));
    Ok(new)
}

fn without<T>(old: &Keyed<T>, key: &str) -> Result<Keyed<T>, ()> {
    let mut new = old.clone();
    new.remove(key).map(|_| new).ok_or(())
}
