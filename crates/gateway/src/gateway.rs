//! Every server's tools in one registry.
//!
//! Guarantees: what is served depends on the configuration and on what each server said, never on who answered first;
//! a server that fails keeps the list it gave last; one tool that cannot be served is named with its reason and takes
//! no other with it; a name that two servers claim belongs to the one that stands first.

pub(crate) mod account;
mod instructions;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolcrib_contract::{Contract, Definition, Hints};
use toolcrib_engine::entry::Entry;
use toolcrib_engine::registry::{Held, Preparer};
use toolcrib_engine::{Engine, Forwarded, Principal, RegisterError, Tool, ToolError};
use toolcrib_protocol::param_header::ParamHeaders;
use toolcrib_protocol::write;
use toolcrib_upstream::{Catalogue, Observer, RemoteOffer, RemoteTool, State, Upstream};

use crate::budget::{Budgeted, Shelf};
use crate::drift::{Action, Drift};
use crate::elsewhere::Elsewhere;
use crate::limits::UPSTREAMS_MAX;
use crate::naming;
use crate::offers::Collection;
use crate::source::Source;
use crate::status::{Quarantined, ServerStatus};

pub struct Gateway {
    engine: Arc<Engine>,
    members: Mutex<Members>,
    /// Answers that were too long to send.
    shelf: Shelf,
}

#[derive(Default)]
struct Members {
    /// In the order of the configuration.
    all: Vec<Member>,
    served: Vec<Arc<str>>,
    held: Held,
    drift: Option<Drift>,
}

struct Member {
    source: Source,
    upstream: Option<Arc<Upstream>>,
    catalogue: Option<Catalogue>,
    /// URI schemes of its resources and templates.
    schemes: HashSet<Box<str>>,
    /// Own name of a tool to its entry and the text it was made from.
    entries: HashMap<Box<str>, (Box<str>, Arc<Entry>)>,
    quarantined: Vec<Quarantined>,
    /// Tools that were served and reported, with the reason.
    drifted: HashMap<String, String>,
    tools: usize,
}

/// Who serves a tool of some name.
enum Owner {
    Gateway,
    Server(String),
}

impl Owner {
    /// Why nobody else can serve one of that name.
    fn claims(&self, name: &str) -> String {
        match self {
            Self::Gateway => {
                format!(
                    "the gateway has a tool of its own that is called {name:?}; give this server a prefix"
                )
            }
            Self::Server(server) => format!("server {server:?} has a tool that is called {name:?} too"),
        }
    }
}

/// Why a set of servers cannot stand behind one gateway.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GatewayError {
    #[error("{0:?} is configured twice")]
    Twice(String),
    #[error("{one:?} and {other:?} would give their tools the same prefix {prefix:?}")]
    SamePrefix { one: String, other: String, prefix: String },
    #[error("UPSTREAMS_MAX: at most {UPSTREAMS_MAX} servers stand behind one gateway")]
    TooMany,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").finish_non_exhaustive()
    }
}

impl Gateway {
    /// Starts every server at once and returns; each appears when it has answered.
    pub fn start(engine: Arc<Engine>, sources: Vec<Source>) -> Result<Arc<Self>, GatewayError> {
        Self::start_pinned(engine, sources, None)
    }

    /// The same for servers whose tools are pinned: none is served before it was judged.
    pub fn start_pinned(
        engine: Arc<Engine>,
        sources: Vec<Source>,
        drift: Option<Drift>,
    ) -> Result<Arc<Self>, GatewayError> {
        check(&sources)?;
        let gateway = Arc::new(Self { engine, members: Mutex::default(), shelf: Shelf::default() });
        let elsewhere = Elsewhere(Arc::downgrade(&gateway));
        gateway.engine.registry().set_elsewhere(Some(Arc::new(elsewhere)));
        let members = sources.into_iter().map(|source| gateway.member(source)).collect();
        {
            let mut locked = gateway.lock();
            locked.all = members;
            locked.drift = drift;
        }
        gateway.start_members();
        Ok(gateway)
    }

    fn member(&self, source: Source) -> Member {
        Member {
            source,
            upstream: None,
            catalogue: None,
            schemes: HashSet::new(),
            entries: HashMap::new(),
            quarantined: Vec::new(),
            drifted: HashMap::new(),
            tools: 0,
        }
    }

    /// Starts what is not started. The lock is held so that no first answer comes before its member knows its server.
    fn start_members(self: &Arc<Self>) {
        let mut members = self.lock();
        for member in members.all.iter_mut().filter(|member| member.upstream.is_none()) {
            let observer: Arc<dyn Observer> = Arc::new(Ear(Arc::downgrade(self)));
            member.upstream = Some(Upstream::start(member.source.spec.clone(), observer));
        }
    }

    /// Returns when every server has answered or failed for the first time, or when `patience` is over.
    pub async fn settled(&self, patience: std::time::Duration) {
        let upstreams: Vec<_> = self.lock().all.iter().filter_map(|member| member.upstream.clone()).collect();
        let all = async {
            for upstream in upstreams {
                upstream.settled().await;
            }
        };
        let _ = tokio::time::timeout(patience, all).await;
    }

    /// Whether these servers can stand behind one gateway; nothing is started.
    pub fn check(sources: &[Source]) -> Result<(), GatewayError> {
        check(sources)
    }

    /// Changes to another set of servers: those that stay the same are not touched.
    pub async fn change(self: &Arc<Self>, sources: Vec<Source>) -> Result<(), GatewayError> {
        self.change_pinned(sources, None).await
    }

    /// The same, and every tool is judged anew by another lock or another policy.
    pub async fn change_pinned(
        self: &Arc<Self>,
        sources: Vec<Source>,
        drift: Option<Drift>,
    ) -> Result<(), GatewayError> {
        check(&sources)?;
        let gone: Vec<Arc<Upstream>> = {
            let mut members = self.lock();
            members.drift = drift;
            for member in &mut members.all {
                // What policy reads of a tool depends on what is pinned.
                member.entries.clear();
            }
            let mut old: HashMap<String, Member> =
                members.all.drain(..).map(|member| (member.source.name().to_owned(), member)).collect();
            members.all = sources
                .into_iter()
                .map(|source| match old.remove(source.name()) {
                    Some(mut member) if member.source.spec == source.spec => {
                        if member.source != source {
                            member.entries.clear();
                            member.source = source;
                        }
                        member
                    }
                    Some(member) => {
                        let name = source.name().to_owned();
                        let fresh = self.member(source);
                        old.insert(name, member);
                        fresh
                    }
                    None => self.member(source),
                })
                .collect();
            old.into_values().filter_map(|member| member.upstream).collect()
        };
        self.start_members();
        self.assemble(&mut self.lock());
        for upstream in gone {
            upstream.stop().await;
        }
        Ok(())
    }

    /// Stops every server.
    pub async fn stop(&self) {
        let upstreams: Vec<_> = self.lock().all.iter().filter_map(|member| member.upstream.clone()).collect();
        let mut stopping = tokio::task::JoinSet::new();
        for upstream in upstreams {
            stopping.spawn(async move { upstream.stop().await });
        }
        while stopping.join_next().await.is_some() {}
    }

    #[must_use]
    pub fn status(&self) -> Vec<ServerStatus> {
        let members = self.lock();
        members
            .all
            .iter()
            .map(|member| {
                let state =
                    member.upstream.as_ref().map_or(State::Starting(None), |upstream| upstream.state());
                let listed = member.catalogue.as_ref();
                ServerStatus {
                    tools: member.tools,
                    resources: listed.map_or(0, |listed| listed.resources.len()),
                    prompts: listed.map_or(0, |listed| listed.prompts.len()),
                    in_flight: member.upstream.as_ref().map_or(0, |upstream| upstream.in_flight()),
                    quarantined: member.quarantined.clone(),
                    drifted: member.reported(),
                    ..ServerStatus::of(member.source.name(), &state, listed.is_some())
                }
            })
            .collect()
    }

    /// An answer that was kept for this principal.
    pub(crate) fn kept(&self, uri: &str, principal: &Principal) -> Option<Result<Forwarded, ToolError>> {
        self.shelf.read(uri, principal)
    }

    /// Who may know a resource that is in no list, likeliest first.
    pub(crate) fn candidates(&self, uri: &str) -> Vec<RemoteOffer> {
        let scheme = uri.split_once(':').map_or(uri, |(scheme, _)| scheme);
        let members = self.lock();
        let offers_resources = |member: &&Member| {
            member.catalogue.as_ref().is_some_and(|catalogue| catalogue.introduction.offers("resources"))
        };
        let has_scheme = |member: &&Member| members.all.len() == 1 || member.schemes.contains(scheme);
        let likely = members.all.iter().filter(offers_resources).filter(has_scheme);
        likely.filter_map(|member| Some(RemoteOffer::new(member.upstream.clone()?, uri))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes what is served from what every server said.
    fn assemble(&self, members: &mut Members) {
        let mut entries: Vec<Arc<Entry>> = Vec::new();
        let mut owners = self.own_names(&members.served);
        let mut collection = Collection::default();
        let drift = members.drift.take();
        let present = self.engine.registry().load_full();
        let mut preparer = self.engine.registry().preparer(&present);
        for member in &mut members.all {
            let (found, quarantined) = self.entries_of(member, drift.as_ref(), &mut owners, &mut preparer);
            member.tools = found.len();
            member.quarantined = quarantined;
            entries.extend(found);
            if let (Some(catalogue), Some(upstream)) = (&member.catalogue, &member.upstream) {
                member.quarantined.extend(collection.add(&member.source, upstream, catalogue));
                member.schemes = std::mem::take(&mut collection.schemes);
            }
        }
        members.drift = drift;
        drop(preparer);
        let served = entries.iter().map(|entry| Arc::from(entry.name())).collect();
        if let Err(error) = self.engine.registry().replace_tools(&members.served, entries) {
            // A tool of the gateway's own took one of these names at this very moment.
            tracing::error!(target: "toolcrib", "the list of tools stays as it was: {error}");
            return;
        }
        members.served = served;
        members.held = self.engine.registry().exchange(&members.held, collection.offers);
        self.engine.instruct(instructions::of(&members.all));
    }

    /// Names of tools that come from no server: those of discovery and safety.
    fn own_names(&self, served: &[Arc<str>]) -> HashMap<String, Owner> {
        let served: HashSet<&str> = served.iter().map(|name| &**name).collect();
        let registered = self.engine.registry().load_full();
        let names = registered.tools.entries().iter().map(|entry| entry.name());
        names.filter(|name| !served.contains(name)).map(|name| (name.to_owned(), Owner::Gateway)).collect()
    }

    fn entries_of(
        &self,
        member: &mut Member,
        drift: Option<&Drift>,
        owners: &mut HashMap<String, Owner>,
        preparer: &mut Preparer<'_>,
    ) -> (Vec<Arc<Entry>>, Vec<Quarantined>) {
        let (Some(catalogue), Some(upstream)) = (&member.catalogue, &member.upstream) else {
            return (Vec::new(), Vec::new());
        };
        let (mut found, mut quarantined) = (Vec::new(), Vec::new());
        let mut kept = HashMap::new();
        let mut own = HashSet::new();
        let server = member.source.name();
        let live = catalogue.tools.iter().filter_map(|listed| listed.definition.as_ref().ok());
        let drifted = drift.map(|drift| drift.judge(server, live)).unwrap_or_default();
        let pinned = drift.map(|drift| drift.pinned_hints(server)).unwrap_or_default();
        for listed in catalogue.tools.iter().filter(|listed| member.source.admits(&listed.name)) {
            let mut quarantine = |reason: String| {
                quarantined.push(Quarantined { tool: listed.name.to_string(), reason });
            };
            let definition = match &listed.definition {
                Ok(definition) => definition,
                Err(error) => {
                    quarantine(error.to_string());
                    continue;
                }
            };
            if !own.insert(&listed.name) {
                quarantine("the server lists this name twice".to_owned());
                continue;
            }
            let name = naming::served(member.source.prefix.as_deref(), &listed.name);
            if let Some(owner) = owners.get(&name) {
                quarantine(owner.claims(&name));
                continue;
            }
            match drifted.get(&*listed.name) {
                Some(finding) if finding.action >= Action::Approve => {
                    quarantine(finding.reason.clone());
                    continue;
                }
                _ => {}
            }
            let entry = match member.entries.get(&listed.name) {
                Some((text, entry)) if **text == *definition.text() => Ok(entry.clone()),
                _ => {
                    let wanted = Wanted { source: &member.source, upstream, definition, name: &name };
                    self.entry(&wanted, pinned.get(&*listed.name), preparer).map(Arc::new)
                }
            };
            match entry {
                Ok(entry) => {
                    owners.insert(name, Owner::Server(member.source.name().to_owned()));
                    kept.insert(listed.name.clone(), (definition.text().into(), entry.clone()));
                    found.push(entry);
                }
                Err(error) => quarantine(error.to_string()),
            }
        }
        let warned = drifted.into_iter().filter(|(_, finding)| finding.action == Action::Warn);
        let warned: HashMap<String, String> = warned.map(|(tool, finding)| (tool, finding.reason)).collect();
        for (tool, reason) in warned.iter().filter(|(tool, reason)| member.drifted.get(*tool) != Some(reason))
        {
            tracing::warn!(target: "toolcrib", upstream = member.source.name(), tool = tool.as_str(), "drift: {reason}");
        }
        member.drifted = warned;
        for one in quarantined.iter().filter(|one| !member.quarantined.contains(one)) {
            tracing::warn!(target: "toolcrib", upstream = member.source.name(), tool = one.tool, "quarantined: {}", one.reason);
        }
        member.entries = kept;
        (found, quarantined)
    }

    fn entry(
        &self,
        wanted: &Wanted<'_>,
        pinned: Option<&Hints>,
        preparer: &mut Preparer<'_>,
    ) -> Result<Entry, RegisterError> {
        let Wanted { source, upstream, definition, name } = *wanted;
        let own = definition.name();
        let served = if name == own {
            definition.clone()
        } else {
            Definition::parse(definition.with_member("name", &write::quoted(name)))?
        };
        let headers = definition.input_schema().map(ParamHeaders::read).transpose()?.unwrap_or_default();
        let effect = definition.annotations().effect();
        let is_repeatable = effect.read_only || effect.idempotent;
        let tool: Arc<dyn Tool> = Arc::new(RemoteTool::new(upstream.clone(), own, headers, is_repeatable));
        let behind = |contract: &Contract| -> Arc<dyn Tool> {
            match source.result_bytes_max(own) {
                None => tool,
                Some(bytes_max) => {
                    let promised = contract.output().cloned();
                    Arc::new(Budgeted::new(tool, bytes_max, promised, self.shelf.clone()))
                }
            }
        };
        let entry = preparer.prepare(served, source.toolset.as_deref(), Some(source.name()), behind)?;
        let entry = self.engine.registry().judge_pinned(entry, pinned);
        Ok(entry.with_validation(source.validation(own)))
    }
}

/// A tool that is to be served.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    source: &'a Source,
    upstream: &'a Arc<Upstream>,
    definition: &'a Definition,
    /// As it will be served.
    name: &'a str,
}

/// Names and prefixes must tell servers apart whatever they will offer.
fn check(sources: &[Source]) -> Result<(), GatewayError> {
    if sources.len() > UPSTREAMS_MAX {
        return Err(GatewayError::TooMany);
    }
    let mut names = HashSet::new();
    let mut prefixes: HashMap<&str, &str> = HashMap::new();
    for source in sources {
        if !names.insert(source.name()) {
            return Err(GatewayError::Twice(source.name().to_owned()));
        }
        if let Some(prefix) = &source.prefix
            && let Some(other) = prefixes.insert(prefix, source.name())
        {
            let (one, other) = (other.to_owned(), source.name().to_owned());
            return Err(GatewayError::SamePrefix { one, other, prefix: prefix.clone() });
        }
    }
    Ok(())
}

/// Hears a server; does not keep the gateway alive.
struct Ear(std::sync::Weak<Gateway>);

impl Observer for Ear {
    fn listed(&self, upstream: &Arc<Upstream>, catalogue: Catalogue) {
        let Some(gateway) = self.0.upgrade() else { return };
        let mut members = gateway.lock();
        let is_it =
            |member: &&mut Member| member.upstream.as_ref().is_some_and(|own| Arc::ptr_eq(own, upstream));
        // One that was taken out in the meantime is nobody's.
        let Some(member) = members.all.iter_mut().find(is_it) else { return };
        member.catalogue = Some(catalogue);
        gateway.assemble(&mut members);
    }

    fn resource_changed(&self, _upstream: &Arc<Upstream>, uri: &str) {
        if let Some(gateway) = self.0.upgrade() {
            gateway.engine.hub().publish(&toolcrib_engine::hub::Change::Resource(uri.into()));
        }
    }
}
