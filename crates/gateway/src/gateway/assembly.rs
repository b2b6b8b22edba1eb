//! Assembly of one registry from everything that the servers offer.
//!
//! Guarantees: the order of the configuration decides, never the order of arrival. A tool over a budget is quarantined
//! alone, by the limit's name. An unchanged definition is not compiled again. Runs on the compile thread and holds no
//! lock while it compiles.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use toolcrib_contract::{Contract, Definition, Hints};
use toolcrib_engine::entry::Entry;
use toolcrib_engine::registry::{Held, Preparer};
use toolcrib_engine::{Policy, RegisterError, Tool};
use toolcrib_protocol::param_header::ParamHeaders;
use toolcrib_protocol::write;
use toolcrib_upstream::{Catalogue, Listed, RemoteTool, Upstream};

use super::slices::Slices;
use super::{Gateway, Member, instructions};
use crate::budget::Budgeted;
use crate::drift::{Action, Drift, Finding};
use crate::limits::{QUARANTINE_LINES_MAX, SERVER_COMPILE_MS_MAX};
use crate::naming;
use crate::offers::Collection;
use crate::source::Source;
use crate::status::Quarantined;

/// Tools and offers that the last run put into the registry.
#[derive(Default)]
pub(super) struct Assembler {
    served: Vec<Arc<str>>,
    held: Held,
}

/// Result of assembling one server's tools.
#[derive(Default)]
pub(super) struct Outcome {
    /// Number of tools that are served.
    pub(super) served: usize,
    pub(super) quarantined: Vec<Quarantined>,
    /// URI schemes of the server's resources and templates.
    pub(super) schemes: HashSet<Box<str>>,
    /// Tools that differ from their pins, by their own names.
    pub(super) findings: HashMap<String, Finding>,
    /// Tools that were compiled or refused, by their own names.
    pub(super) tools: HashMap<Box<str>, Compiled>,
    basis: Option<Basis>,
}

/// A tool that was compiled or refused, with the definition that it was made from.
pub(super) struct Compiled {
    definition: Definition,
    pub(super) entry: Result<Arc<Entry>, Refusal>,
}

/// Reason why a tool was not compiled.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum Refusal {
    #[error(transparent)]
    Registration(#[from] RegisterError),
    #[error(
        "SERVER_COMPILE_MS_MAX: the tools before it in the list took {SERVER_COMPILE_MS_MAX} ms of CPU to compile; \
         simplify their schemas or exclude them"
    )]
    OutOfTime,
}

impl Refusal {
    /// Returns `true` if the refusal depends on the definition alone, not on what else is served.
    fn is_final(&self) -> bool {
        match self {
            Self::Registration(RegisterError::Suspicious(_)) | Self::OutOfTime => false,
            Self::Registration(error) => !error.is_over_budget(),
        }
    }
}

/// Inputs from which an outcome was made.
struct Basis {
    source: Arc<Source>,
    upstream: Arc<Upstream>,
    laws: Laws,
    catalogue: Arc<Catalogue>,
}

/// Lock and policy that all servers are judged by.
#[derive(Clone)]
struct Laws {
    drift: Option<Arc<Drift>>,
    policy: Arc<Policy>,
}

impl Laws {
    fn is(&self, other: &Self) -> bool {
        let drift = |laws: &Self| laws.drift.as_ref().map(Arc::as_ptr);
        drift(self) == drift(other) && Arc::ptr_eq(&self.policy, &other.policy)
    }
}

impl Outcome {
    /// Returns `true` if this outcome has the same server, configuration, lock and policy, so that entries of equal
    /// definitions can be reused.
    fn is_of(&self, member: &Member, laws: &Laws) -> bool {
        self.basis.as_ref().is_some_and(|basis| {
            Arc::ptr_eq(&basis.source, &member.source)
                && member.upstream.as_ref().is_some_and(|upstream| Arc::ptr_eq(&basis.upstream, upstream))
                && basis.laws.is(laws)
        })
    }

    fn is_of_list(&self, catalogue: &Arc<Catalogue>) -> bool {
        self.basis.as_ref().is_some_and(|basis| Arc::ptr_eq(&basis.catalogue, catalogue))
    }

    /// Returns the tools that are served although they differ from their pins.
    pub(super) fn warned(&self) -> impl Iterator<Item = (&String, &Finding)> {
        self.findings.iter().filter(|(_, finding)| finding.action == Action::Warn)
    }
}

/// Owner of a served tool name.
enum Owner {
    Gateway,
    Server(String),
}

impl Owner {
    /// Reason why another tool cannot have this name.
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

/// A tool that is to be served.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) source: &'a Source,
    pub(super) upstream: &'a Arc<Upstream>,
    pub(super) definition: &'a Definition,
    /// Name under which it will be served.
    pub(super) name: &'a str,
}

impl Gateway {
    /// Builds the registry from the last list of every server.
    pub(super) fn assemble(&self, assembler: &mut Assembler) {
        let (members, laws) = {
            let members = self.lock();
            let policy = self.engine.registry().policy();
            (members.all.clone(), Laws { drift: members.drift.clone(), policy })
        };
        let mut entries: Vec<Arc<Entry>> = Vec::new();
        let mut outcomes = Vec::with_capacity(members.len());
        let mut owners = self.own_names(&assembler.served);
        let mut collection = Collection::default();
        let present = self.engine.registry().load_full();
        let mut preparer = self.engine.registry().preparer(&present);
        for member in &members {
            preparer.next_server();
            let (found, mut outcome) = self.outcome(member, &laws, &mut owners, &mut preparer);
            entries.extend(found);
            if let (Some(catalogue), Some(upstream)) = (&member.catalogue, &member.upstream) {
                outcome.quarantined.extend(collection.add(&member.source, upstream, catalogue));
                outcome.schemes = std::mem::take(&mut collection.schemes);
            }
            report(member, &outcome);
            outcomes.push(Arc::new(outcome));
        }
        drop(preparer);
        drop(present);
        let served = entries.iter().map(|entry| Arc::from(entry.name())).collect();
        if let Err(error) = self.engine.registry().replace_tools(&assembler.served, entries) {
            // One of the gateway's own tools has taken one of these names in the meantime.
            tracing::error!(target: "toolcrib", "the list of tools stays as it was: {error}");
            return;
        }
        assembler.served = served;
        assembler.held = self.engine.registry().exchange(&assembler.held, collection.offers);
        self.engine.instruct(instructions::of(&members));
        let mut now = self.lock();
        for (member, outcome) in members.iter().zip(outcomes) {
            // A server that was replaced in the meantime gets its own outcome soon.
            let is_it = |other: &&mut super::Member| match (&other.upstream, &member.upstream) {
                (Some(one), Some(other)) => Arc::ptr_eq(one, other),
                _ => false,
            };
            if let Some(member) = now.all.iter_mut().find(is_it) {
                member.outcome = outcome;
            }
        }
    }

    /// Names of the tools that come from no server: those of discovery and safety.
    fn own_names(&self, served: &[Arc<str>]) -> HashMap<String, Owner> {
        let served: HashSet<&str> = served.iter().map(|name| &**name).collect();
        let registered = self.engine.registry().load_full();
        let names = registered.tools.entries().iter().map(|entry| entry.name());
        names.filter(|name| !served.contains(name)).map(|name| (name.to_owned(), Owner::Gateway)).collect()
    }

    /// Entries of one server's tools, and the reasons why others have none.
    fn outcome(
        &self,
        member: &Member,
        laws: &Laws,
        owners: &mut HashMap<String, Owner>,
        preparer: &mut Preparer<'_>,
    ) -> (Vec<Arc<Entry>>, Outcome) {
        let (Some(catalogue), Some(upstream)) = (&member.catalogue, &member.upstream) else {
            return (Vec::new(), Outcome::default());
        };
        let (source, drift) = (&member.source, laws.drift.as_ref());
        let before = Some(&*member.outcome).filter(|outcome| outcome.is_of(member, laws));
        let same_list = before.filter(|outcome| outcome.is_of_list(catalogue));
        let findings = match (same_list, drift) {
            (Some(before), _) => before.findings.clone(),
            (None, Some(drift)) => drift.judge(source.name(), live(catalogue)),
            (None, None) => HashMap::new(),
        };
        let pinned = drift.map(|drift| drift.pinned_hints(source.name())).unwrap_or_default();
        let (mut found, mut own) = (Vec::new(), HashSet::new());
        let mut outcome = Outcome {
            findings,
            basis: Some(Basis {
                source: source.clone(),
                upstream: upstream.clone(),
                laws: laws.clone(),
                catalogue: catalogue.clone(),
            }),
            ..Outcome::default()
        };
        let mut slices = Slices::begin();
        for listed in catalogue.tools.iter().filter(|listed| source.admits(&listed.name)) {
            let spent = slices.turn();
            let reason = match claim(source, listed, owners, &mut own, &outcome.findings) {
                Ok((definition, name)) => {
                    let known = before.and_then(|before| before.tools.get(&listed.name));
                    let known = known.filter(|known| known.definition == *definition);
                    let entry = match known.map(|known| &known.entry) {
                        Some(Ok(entry)) => {
                            preparer.keep(entry).map(|()| entry.clone()).map_err(Refusal::from)
                        }
                        Some(Err(refusal)) if same_list.is_some() || refusal.is_final() => {
                            Err(refusal.clone())
                        }
                        _ if is_out_of_time(spent) => Err(Refusal::OutOfTime),
                        _ => {
                            let wanted = Wanted { source, upstream, definition, name: &name };
                            self.entry(&wanted, pinned.get(&*listed.name), preparer).map(Arc::new)
                        }
                    };
                    let reason = entry.as_ref().err().map(ToString::to_string);
                    if let Ok(entry) = &entry {
                        owners.insert(name, Owner::Server(source.name().to_owned()));
                        found.push(entry.clone());
                    }
                    let compiled = Compiled { definition: definition.clone(), entry };
                    outcome.tools.insert(listed.name.clone(), compiled);
                    reason
                }
                Err(reason) => Some(reason),
            };
            if let Some(reason) = reason {
                outcome.quarantined.push(Quarantined { tool: listed.name.to_string(), reason });
            }
        }
        outcome.served = found.len();
        (found, outcome)
    }

    pub(super) fn entry(
        &self,
        wanted: &Wanted<'_>,
        pinned: Option<&Hints>,
        preparer: &mut Preparer<'_>,
    ) -> Result<Entry, Refusal> {
        let Wanted { source, upstream, definition, name } = *wanted;
        let own = definition.name();
        let served = if name == own {
            definition.clone()
        } else {
            let renamed = Definition::parse(definition.with_member("name", &write::quoted(name)));
            renamed.map_err(RegisterError::from)?
        };
        let headers = definition.input_schema().map(ParamHeaders::read).transpose();
        let headers = headers.map_err(RegisterError::from)?.unwrap_or_default();
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

/// Returns `true` if a server has used up its CPU time, so that the rest of its tools is not compiled.
fn is_out_of_time(spent: Duration) -> bool {
    spent >= Duration::from_millis(SERVER_COMPILE_MS_MAX)
}

pub(super) fn live(catalogue: &Catalogue) -> impl Iterator<Item = &Definition> {
    catalogue.tools.iter().filter_map(|listed| listed.definition.as_ref().ok())
}

/// Returns the definition of a tool and the name under which it can be served, or the reason why it cannot.
fn claim<'a>(
    source: &Source,
    listed: &'a Listed,
    owners: &HashMap<String, Owner>,
    own: &mut HashSet<&'a str>,
    findings: &HashMap<String, Finding>,
) -> Result<(&'a Definition, String), String> {
    let definition = listed.definition.as_ref().map_err(ToString::to_string)?;
    if !own.insert(&listed.name) {
        return Err("the server lists this name twice".to_owned());
    }
    let name = naming::served(source.prefix.as_deref(), &listed.name);
    if let Some(owner) = owners.get(&name) {
        return Err(owner.claims(&name));
    }
    match findings.get(&*listed.name) {
        Some(finding) if finding.action >= Action::Approve => Err(finding.reason.clone()),
        _ => Ok((definition, name)),
    }
}

/// Logs new findings since the last run, at most [`QUARANTINE_LINES_MAX`] lines of each kind.
fn report(member: &Member, outcome: &Outcome) {
    let (server, before) = (member.source.name(), &*member.outcome);
    let warned = outcome.warned().filter(|(tool, finding)| {
        before.findings.get(*tool).is_none_or(|known| known.reason != finding.reason)
    });
    for (tool, finding) in warned.take(QUARANTINE_LINES_MAX) {
        tracing::warn!(target: "toolcrib", upstream = server, tool = tool.as_str(), "drift: {}", finding.reason);
    }
    let known: HashSet<(&str, &str)> =
        before.quarantined.iter().map(|one| (one.tool.as_str(), one.reason.as_str())).collect();
    let fresh: Vec<&Quarantined> =
        outcome.quarantined.iter().filter(|one| !known.contains(&(&*one.tool, &*one.reason))).collect();
    let (told, more) = told(&fresh);
    for one in told {
        tracing::warn!(target: "toolcrib", upstream = server, tool = one.tool, "quarantined: {}", one.reason);
    }
    if more > 0 {
        tracing::warn!(target: "toolcrib", upstream = server, "quarantined: {more} more tools; /readyz names them");
    }
}

/// Returns the first entries, up to the limit, and the number of the others.
fn told<T>(all: &[T]) -> (&[T], usize) {
    let told = all.get(..QUARANTINE_LINES_MAX).unwrap_or(all);
    (told, all.len() - told.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R5.6: `SERVER_COMPILE_MS_MAX` counts CPU time, and the refusal names it.
    #[test]
    fn tools_after_server_compile_ms_max_are_refused_by_its_name() {
        assert!(!is_out_of_time(Duration::from_millis(SERVER_COMPILE_MS_MAX - 1)));
        assert!(is_out_of_time(Duration::from_millis(SERVER_COMPILE_MS_MAX)));
        assert!(Refusal::OutOfTime.to_string().starts_with("SERVER_COMPILE_MS_MAX: "));
        assert!(!Refusal::OutOfTime.is_final(), "another list may leave it time");
    }

    /// `QUARANTINE_LINES_MAX`: a server cannot fill the log with its refused tools.
    #[test]
    fn no_more_than_quarantine_lines_max_are_logged() {
        let all = [0; QUARANTINE_LINES_MAX + 7];
        assert_eq!(told(&all), (&all[..QUARANTINE_LINES_MAX], 7));
        assert_eq!(told(&all[..3]), (&all[..3], 0));
    }
}
