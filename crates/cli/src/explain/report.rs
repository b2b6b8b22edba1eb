//! The report of `explain`: the tool's source, filter and drift, then what the client may do with it.

use std::fmt;

use serde_json::{Value, json};
use toolcrib::engine::Explanation;
use toolcrib::engine::mode::Judged;
use toolcrib_contract::text::one_line;
use toolcrib_gateway::Account;

pub(super) enum Report<'a> {
    /// The tool is served. Without an account it is this program's own.
    Served { explanation: Box<Explanation>, account: Option<Account>, place: &'a str },
    /// The tool reaches no client.
    KeptOut { account: Account, mode: Judged },
}

impl<'a> Report<'a> {
    pub(super) fn served(explanation: Explanation, account: Option<Account>, place: &'a str) -> Self {
        Self::Served { explanation: Box::new(explanation), account, place }
    }

    pub(super) fn kept_out(account: Account, mode: Judged) -> Self {
        Self::KeptOut { account, mode }
    }

    /// Returns the report as JSON. Every member is present in both variants; unknown ones are null.
    pub(super) fn as_json(&self) -> Value {
        match self {
            Self::Served { explanation, account, place } => {
                let mut report = explanation.as_json();
                match account {
                    Some(account) => put(&mut report, account),
                    None => put_own(&mut report, place, &explanation.tool),
                }
                report
            }
            Self::KeptOut { account, mode } => {
                let mut report = json!({
                    "tool": account.source.served_as, "server": account.source.server, "effect": null,
                    "mode": mode.mode.name(), "mode_reason": mode.evidence.to_string(), "enable_toolset": null,
                    "toolsets": [{"name": account.source.toolset, "always_loaded": null, "reachable": null, "loaded": null}],
                    "chosen_by": null, "read_only_filter": null, "listed": false, "callable": "no",
                    "reason": account.keeps_out(), "callers": [], "allowed_callers": null,
                    "schema": {"state": null, "input": null, "output": null}, "gate": null});
                put(&mut report, account);
                report
            }
        }
    }
}

fn put(report: &mut Value, account: &Account) {
    let told = serde_json::to_value(account).unwrap_or_default();
    for name in ["source", "filter", "drift", "quarantined"] {
        set(report, name, told.get(name).cloned().unwrap_or_default());
    }
    if let Some(schema) = report.get_mut("schema") {
        set(schema, "state", account.schema.state.into());
        set(schema, "reason", account.schema.reason.as_deref().into());
    }
}

fn put_own(report: &mut Value, place: &str, tool: &str) {
    let source = json!({"server": null, "reached": place, "state": "ready", "reason": null, "own_name": tool,
        "served_as": tool, "offered": true, "toolset": null});
    set(report, "source", source);
    set(report, "filter", json!({"admitted": true, "reason": NO_FILTER}));
    let nothing =
        json!({"state": "no lock", "verdict": null, "action": null, "reason": null, "approve": null});
    set(report, "drift", nothing);
    set(report, "quarantined", Value::Null);
    if let Some(schema) = report.get_mut("schema") {
        set(schema, "reason", Value::Null);
    }
}

fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}

const NO_FILTER: &str = "no server's include or exclude applies to it";
const NO_LOCK: &str = "no lock: the configuration has no [drift], so nothing is pinned";

/// The reason why a tool reaches no client.
pub(super) trait KeepsOut {
    fn keeps_out(&self) -> Option<String>;
}

impl KeepsOut for Account {
    fn keeps_out(&self) -> Option<String> {
        let source = &self.source;
        if !source.offered {
            let why = source.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            return Some(match source.state {
                "ready" => format!("{} does not offer it any more", source.server),
                state => format!("its server {} is {state}{why}", source.server),
            });
        }
        if !self.filter.admitted {
            return Some(self.filter.reason.clone());
        }
        self.quarantined.as_ref().map(|reason| format!("quarantined: {reason}"))
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Served { explanation, account, place } => {
                let all = explanation.to_string();
                let (first, rest) = all.split_once('\n').unwrap_or((&all, ""));
                writeln!(f, "{first}")?;
                match account {
                    Some(account) => decided(f, account)?,
                    None => {
                        writeln!(f, "source    {place}\nfilter    {NO_FILTER}\ndrift     {NO_LOCK}")?;
                    }
                }
                f.write_str(rest)
            }
            Self::KeptOut { account, mode } => {
                writeln!(f, "tool      {}", account.source.served_as)?;
                decided(f, account)?;
                match &account.schema.reason {
                    Some(reason) => writeln!(f, "schema    {}: {}", account.schema.state, one_line(reason))?,
                    None => writeln!(f, "schema    {}", account.schema.state)?,
                }
                writeln!(f, "mode      {mode}")?;
                writeln!(f, "toolset   {}", account.source.toolset)?;
                writeln!(f, "gate      not reached: the tool is not served")?;
                writeln!(f, "listed    no")?;
                let reason = account.keeps_out().unwrap_or_else(|| "it is not served".to_owned());
                writeln!(f, "callable  no: {}", one_line(&reason))
            }
        }
    }
}

/// Writes the lines for source, filter and drift.
fn decided(f: &mut fmt::Formatter<'_>, account: &Account) -> fmt::Result {
    let source = &account.source;
    let why = source.reason.as_deref().map(|reason| format!(" ({})", one_line(reason))).unwrap_or_default();
    let own = if source.own_name == source.served_as {
        String::new()
    } else {
        format!("; it calls the tool {}", one_line(&source.own_name))
    };
    writeln!(f, "source    {} at {}, {}{why}{own}", source.server, one_line(&source.reached), source.state)?;
    writeln!(f, "filter    {}", account.filter.reason)?;
    let drift = &account.drift;
    match (&drift.reason, drift.action) {
        (Some(reason), Some(action)) => writeln!(f, "drift     {}; policy: {action}", one_line(reason))?,
        _ if drift.state == "no lock" => writeln!(f, "drift     {NO_LOCK}")?,
        _ => writeln!(f, "drift     {}", drift.state)?,
    }
    match &drift.approve {
        Some(approve) => writeln!(f, "approve   once reviewed: {}", one_line(approve)),
        None => Ok(()),
    }
}
