//! Explains why a tool of a server is served or not, for operators (R8.4: `explain`).

use std::collections::HashSet;

use serde::Serialize;
use toolcrib_upstream::Transport;

use super::assembly::{Wanted, live};
use super::{Gateway, Member};
use crate::drift::{Drift, approval};
use crate::naming;
use crate::status::{Quarantined, ServerStatus};

/// Everything known about one tool of one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Account {
    pub source: Source,
    pub filter: Filter,
    pub drift: Drifted,
    pub schema: Schema,
    /// Reason why the tool is in no list and cannot be called.
    pub quarantined: Option<String>,
}

/// Origin of the tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    pub server: String,
    /// Program or URL of the server.
    pub reached: String,
    pub state: &'static str,
    pub reason: Option<String>,
    pub own_name: String,
    pub served_as: String,
    /// `true` if the server lists the tool now.
    pub offered: bool,
    pub toolset: String,
}

/// Decision of the configuration's filters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Filter {
    pub admitted: bool,
    pub reason: String,
}

/// Comparison with the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Drifted {
    /// `no lock`, `as pinned`, `changed`, `unpinned` or `gone`.
    pub state: &'static str,
    /// The worst change: `breaking`, `dangerous`, `unknown` or `compatible`.
    pub verdict: Option<&'static str>,
    /// Action: `pass`, `warn`, `approve` or `quarantine`.
    pub action: Option<&'static str>,
    pub reason: Option<String>,
    /// Command that pins the current definition.
    pub approve: Option<String>,
}

/// Result of schema admission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Schema {
    /// `admitted`, `refused`, or `unseen` if the server does not list the tool.
    pub state: &'static str,
    pub reason: Option<String>,
}

impl Gateway {
    /// Returns the tools that a name can mean: the served name, `SERVER/TOOL`, or the server's own name.
    #[must_use]
    pub fn accounts(&self, tool: &str) -> Vec<Account> {
        let (members, drift) = {
            let members = self.lock();
            (members.all.clone(), members.drift.clone())
        };
        let drift = drift.as_deref();
        let all: Vec<Known<'_>> = members.iter().flat_map(|member| member.known(drift)).collect();
        let by = |fits: &dyn Fn(&Known<'_>) -> bool| -> Vec<Account> {
            all.iter().filter(|known| fits(known)).map(|known| self.account(known, drift)).collect()
        };
        let mut found = by(&|known| known.served_as == tool);
        if found.is_empty() {
            found = by(&|known| tool.split_once('/') == Some((known.member.source.name(), known.own)));
        }
        if found.is_empty() { by(&|known| known.own == tool) } else { found }
    }

    fn account(&self, known: &Known<'_>, drift: Option<&Drift>) -> Account {
        let (member, own) = (known.member, known.own);
        let source = &member.source;
        let status = member.status();
        let (admitted, filtered) = source.filter(own);
        let quarantined = member.outcome.quarantined.iter().find(|one| one.tool == own);
        Account {
            source: Source {
                server: source.name().to_owned(),
                // The arguments of the command may contain secrets.
                reached: match &source.spec.transport {
                    Transport::Stdio(command) => command.program.clone(),
                    Transport::Http(endpoint) => endpoint.url.clone(),
                },
                state: status.state,
                reason: status.reason,
                own_name: own.to_owned(),
                served_as: known.served_as.clone(),
                offered: known.listed,
                toolset: source.toolset.as_deref().unwrap_or(source.name()).to_owned(),
            },
            filter: Filter { admitted, reason: filtered.to_string() },
            drift: drifted(member, own, drift),
            schema: self.schema(known, drift),
            quarantined: quarantined.map(|one| one.reason.clone()),
        }
    }

    /// Result of admission. A tool that is quarantined for another reason is compiled to find out.
    fn schema(&self, known: &Known<'_>, drift: Option<&Drift>) -> Schema {
        let Known { member, own, served_as, .. } = known;
        let refused = |reason: String| Schema { state: "refused", reason: Some(reason) };
        match member.outcome.tools.get(*own).map(|compiled| &compiled.entry) {
            Some(Ok(_)) => return Schema { state: "admitted", reason: None },
            Some(Err(refusal)) => return refused(refusal.to_string()),
            None => {}
        }
        // If a name is listed twice, the second tool is the one that is not served.
        let tools = member.catalogue.iter().flat_map(|all| &all.tools);
        let listed = tools.rev().find(|listed| *listed.name == **own);
        let (Some(listed), Some(upstream)) = (listed, &member.upstream) else {
            return Schema { state: "unseen", reason: None };
        };
        let definition = match &listed.definition {
            Ok(definition) => definition,
            Err(error) => return refused(error.to_string()),
        };
        let pinned = drift.map(|drift| drift.pinned_hints(member.source.name())).unwrap_or_default();
        let present = self.engine.registry().load_full();
        let mut preparer = self.engine.registry().preparer(&present);
        let wanted = Wanted { source: &member.source, upstream, definition, name: served_as };
        match self.entry(&wanted, pinned.get(own), &mut preparer) {
            Ok(_) => Schema { state: "admitted", reason: None },
            Err(error) => refused(error.to_string()),
        }
    }
}

/// A tool that a server lists or that is pinned for it.
struct Known<'a> {
    member: &'a Member,
    own: &'a str,
    served_as: String,
    listed: bool,
}

impl Member {
    fn known<'a>(&'a self, drift: Option<&'a Drift>) -> Vec<Known<'a>> {
        let known = |own: &'a str, listed: bool| Known {
            member: self,
            own,
            served_as: naming::served(self.source.prefix.as_deref(), own),
            listed,
        };
        let mut all: Vec<Known<'_>> = Vec::new();
        let mut seen = HashSet::new();
        for listed in self.catalogue.iter().flat_map(|all| &all.tools) {
            if seen.insert(&*listed.name) {
                all.push(known(&listed.name, true));
            }
        }
        let pinned = drift.into_iter().flat_map(Drift::pinned);
        for (_, definition) in pinned.filter(|(server, _)| *server == self.source.name()) {
            if seen.insert(definition.name()) {
                all.push(known(definition.name(), false));
            }
        }
        all
    }

    /// Returns the tools that are served although they differ from the lock.
    pub(super) fn reported(&self) -> Vec<Quarantined> {
        let warned = self.outcome.warned();
        let mut all: Vec<Quarantined> = warned
            .map(|(tool, finding)| Quarantined { tool: tool.clone(), reason: finding.reason.clone() })
            .collect();
        all.sort_unstable_by(|one, other| one.tool.cmp(&other.tool));
        all
    }

    fn status(&self) -> ServerStatus {
        let state = self.upstream.as_ref().map_or(super::State::Starting(None), |upstream| upstream.state());
        ServerStatus::of(self.source.name(), &state, self.catalogue.is_some())
    }
}

fn drifted(member: &Member, own: &str, drift: Option<&Drift>) -> Drifted {
    let plain = |state| Drifted { state, verdict: None, action: None, reason: None, approve: None };
    if drift.is_none() {
        return plain("no lock");
    }
    // A server that has not answered is not counted as drifted.
    let Some(finding) = member.outcome.findings.get(own) else { return plain("as pinned") };
    let definition = member.catalogue.iter().flat_map(|all| live(all)).find(|live| live.name() == own);
    let state = match (finding.level, definition) {
        (Some(_), _) => "changed",
        (None, Some(_)) => "unpinned",
        (None, None) => "gone",
    };
    let reason = finding.reason.split("; once reviewed: ").next().unwrap_or_default().to_owned();
    Drifted {
        state,
        verdict: finding.level.map(toolcrib_change::Level::name),
        action: Some(finding.action.name()),
        reason: Some(reason),
        approve: definition.map(|definition| approval(member.source.name(), definition)),
    }
}
