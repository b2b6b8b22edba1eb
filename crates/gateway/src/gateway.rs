//! The tools of all servers in one registry.
//!
//! Guarantees: the served tools depend on the configuration and on what each server listed, never on the order of
//! arrival. A server that fails keeps its last list. A tool that cannot be served is quarantined alone, with its
//! reason. A name that two servers claim belongs to the first one in the configuration.

pub(crate) mod account;
mod assembly;
mod compiler;
mod instructions;
mod slices;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolcrib_engine::{BoxFuture, Engine, Forwarded, Principal, ToolError};
use toolcrib_upstream::{Catalogue, Observer, RemoteOffer, State, Upstream};

use crate::budget::Shelf;
use crate::drift::Drift;
use crate::elsewhere::Elsewhere;
use crate::limits::UPSTREAMS_MAX;
use crate::source::Source;
use crate::status::ServerStatus;
use assembly::{Assembler, Outcome};
use compiler::Compiler;

/// The gateway: a set of servers whose tools, resources and prompts are served by one engine.
pub struct Gateway {
    engine: Arc<Engine>,
    /// Held for short moments only, because threads that serve requests may wait for it.
    members: Mutex<Members>,
    compiler: Compiler,
    /// Answers that were too long to send.
    shelf: Shelf,
}

#[derive(Default)]
struct Members {
    /// Servers in the order of the configuration.
    all: Vec<Member>,
    drift: Option<Arc<Drift>>,
}

/// One server and its last list. Clones share everything large.
#[derive(Clone)]
struct Member {
    source: Arc<Source>,
    upstream: Option<Arc<Upstream>>,
    catalogue: Option<Arc<Catalogue>>,
    /// Result of the last assembly of its tools.
    outcome: Arc<Outcome>,
}

/// Reason why a set of servers cannot be behind one gateway.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GatewayError {
    #[error("{0:?} is configured twice")]
    Twice(String),
    #[error("{one:?} and {other:?} would give their tools the same prefix {prefix:?}")]
    SamePrefix { one: String, other: String, prefix: String },
    #[error("UPSTREAMS_MAX: at most {UPSTREAMS_MAX} servers stand behind one gateway")]
    TooMany,
    #[error("the thread that compiles schemas cannot be started: {0}")]
    NoThread(String),
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").finish_non_exhaustive()
    }
}

impl Gateway {
    /// Starts all servers at once and returns. The tools of each are served once it has answered.
    pub fn start(engine: Arc<Engine>, sources: Vec<Source>) -> Result<Arc<Self>, GatewayError> {
        Self::start_pinned(engine, sources, None)
    }

    /// Starts servers like [`Gateway::start`]; no tool is served before it was judged against the lock in `drift`.
    pub fn start_pinned(
        engine: Arc<Engine>,
        sources: Vec<Source>,
        drift: Option<Drift>,
    ) -> Result<Arc<Self>, GatewayError> {
        check(&sources)?;
        let (members, shelf) = (Mutex::default(), Shelf::default());
        let gateway = Arc::new(Self { engine, members, compiler: Compiler::default(), shelf });
        let mut assembler = Assembler::default();
        let weak = Arc::downgrade(&gateway);
        let started = gateway.compiler.start(move || {
            if let Some(gateway) = weak.upgrade() {
                gateway.assemble(&mut assembler);
            }
        });
        started.map_err(|error| GatewayError::NoThread(error.to_string()))?;
        let elsewhere = Elsewhere(Arc::downgrade(&gateway));
        gateway.engine.registry().set_elsewhere(Some(Arc::new(elsewhere)));
        let members = sources.into_iter().map(|source| gateway.member(source)).collect();
        {
            let mut locked = gateway.lock();
            locked.all = members;
            locked.drift = drift.map(Arc::new);
        }
        gateway.start_members();
        Ok(gateway)
    }

    fn member(&self, source: Source) -> Member {
        Member { source: Arc::new(source), upstream: None, catalogue: None, outcome: Arc::default() }
    }

    /// Starts the servers that are not started yet. The lock is held so that no server answers before its member knows
    /// it.
    fn start_members(self: &Arc<Self>) {
        let mut members = self.lock();
        for member in members.all.iter_mut().filter(|member| member.upstream.is_none()) {
            let observer: Arc<dyn Observer> = Arc::new(Ear(Arc::downgrade(self)));
            member.upstream = Some(Upstream::start(member.source.spec.clone(), observer));
        }
    }

    /// Returns when every server has answered or failed once, or after `patience`.
    pub async fn settled(&self, patience: std::time::Duration) {
        let upstreams: Vec<_> = self.lock().all.iter().filter_map(|member| member.upstream.clone()).collect();
        let all = async {
            for upstream in upstreams {
                upstream.settled().await;
            }
        };
        let _ = tokio::time::timeout(patience, all).await;
    }

    /// Checks if these servers can be behind one gateway; starts nothing.
    pub fn check(sources: &[Source]) -> Result<(), GatewayError> {
        check(sources)
    }

    /// Changes the set of servers; servers that stay the same are not touched.
    pub async fn change(self: &Arc<Self>, sources: Vec<Source>) -> Result<(), GatewayError> {
        self.change_pinned(sources, None).await
    }

    /// Changes the set of servers and the lock; every tool is judged again. A changed policy is set by
    /// `Engine::set_policy`.
    pub async fn change_pinned(
        self: &Arc<Self>,
        sources: Vec<Source>,
        drift: Option<Drift>,
    ) -> Result<(), GatewayError> {
        check(&sources)?;
        let gone: Vec<Arc<Upstream>> = {
            let mut members = self.lock();
            members.drift = drift.map(|drift| Arc::new(drift.keeping(members.drift.as_deref())));
            let mut old: HashMap<String, Member> =
                members.all.drain(..).map(|member| (member.source.name().to_owned(), member)).collect();
            members.all = sources
                .into_iter()
                .map(|source| match old.remove(source.name()) {
                    Some(mut member) if member.source.spec == source.spec => {
                        if *member.source != source {
                            member.source = Arc::new(source);
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
        self.compiler.request().await;
        for upstream in gone {
            upstream.stop().await;
        }
        Ok(())
    }

    /// Stops all servers.
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
        let members = self.members();
        members
            .iter()
            .map(|member| {
                let state =
                    member.upstream.as_ref().map_or(State::Starting(None), |upstream| upstream.state());
                let listed = member.catalogue.as_ref();
                ServerStatus {
                    tools: member.outcome.served,
                    resources: listed.map_or(0, |listed| listed.resources.len()),
                    prompts: listed.map_or(0, |listed| listed.prompts.len()),
                    in_flight: member.upstream.as_ref().map_or(0, |upstream| upstream.in_flight()),
                    quarantined: member.outcome.quarantined.clone(),
                    drifted: member.reported(),
                    ..ServerStatus::of(member.source.name(), &state, listed.is_some())
                }
            })
            .collect()
    }

    /// Returns an answer that was kept for this principal.
    pub(crate) fn kept(&self, uri: &str, principal: &Principal) -> Option<Result<Forwarded, ToolError>> {
        self.shelf.read(uri, principal)
    }

    /// Returns the servers that may know a resource which is in no list.
    pub(crate) fn candidates(&self, uri: &str) -> Vec<RemoteOffer> {
        let scheme = uri.split_once(':').map_or(uri, |(scheme, _)| scheme);
        let members = self.members();
        let offers_resources = |member: &&Member| {
            member.catalogue.as_ref().is_some_and(|catalogue| catalogue.introduction.offers("resources"))
        };
        let has_scheme = |member: &&Member| members.len() == 1 || member.outcome.schemes.contains(scheme);
        let likely = members.iter().filter(offers_resources).filter(has_scheme);
        likely.filter_map(|member| Some(RemoteOffer::new(member.upstream.clone()?, uri))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the current servers in the order of the configuration.
    fn members(&self) -> Vec<Member> {
        self.lock().all.clone()
    }
}

/// Refuses servers whose names or prefixes collide, whatever they list later.
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

/// Receives the events of one server; does not keep the gateway alive.
struct Ear(std::sync::Weak<Gateway>);

impl Observer for Ear {
    fn listed(&self, upstream: &Arc<Upstream>, catalogue: Catalogue) -> BoxFuture<'static, ()> {
        let Some(gateway) = self.0.upgrade() else { return Box::pin(async {}) };
        {
            let mut members = gateway.lock();
            let is_it =
                |member: &&mut Member| member.upstream.as_ref().is_some_and(|own| Arc::ptr_eq(own, upstream));
            // The server has been removed in the meantime.
            let Some(member) = members.all.iter_mut().find(is_it) else { return Box::pin(async {}) };
            member.catalogue = Some(Arc::new(catalogue));
        }
        let served = gateway.compiler.request();
        Box::pin(served)
    }

    fn resource_changed(&self, _upstream: &Arc<Upstream>, uri: &str) {
        if let Some(gateway) = self.0.upgrade() {
            gateway.engine.hub().publish(&toolcrib_engine::hub::Change::Resource(uri.into()));
        }
    }
}
