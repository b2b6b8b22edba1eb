//! [`Gate`]: how the gate would treat a caller's call, described for the operator (R8.4, `explain`).
//!
//! Nothing is decided here: [`crate::stage`] decides by the same conditions, and tests keep the two equal.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_protocol::{Capability, Era};

use super::policy::Demand;
use super::tools::SafetyTool;
use crate::caller::Caller;
use crate::engine::Engine;
use crate::entry::Entry;

/// Way in which a confirmation is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The server has no gate.
    Off,
    /// No confirmation is needed.
    Nobody,
    /// The client is trusted to ask its person itself.
    Client,
    /// `input_required` with sealed state.
    InputRequired,
    /// `elicitation/create` while the call waits.
    Elicitation,
    /// A person decides in the approval queue.
    Queue,
    /// Two-step token of `get_confirmation_token`, which does not prove a person.
    Token,
}

impl Way {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Nobody => "nobody",
            Self::Client => "client",
            Self::InputRequired => "input_required",
            Self::Elicitation => "elicitation",
            Self::Queue => "queue",
            Self::Token => "token",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Off => "the server has no gate",
            Self::Nobody => "nobody is asked",
            Self::Client => "left to the client, which asks its person by itself",
            Self::InputRequired => "its person is asked by input_required",
            Self::Elicitation => "its person is asked by elicitation/create",
            Self::Queue => "it waits in the queue for a person",
            Self::Token => "by the two-step token of get_confirmation_token, which proves no person",
        }
    }
}

/// Treatment of one tool and one caller by the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    pub demand: Demand,
    /// Rule of the policy that decided.
    pub rule: Arc<str>,
    pub way: Way,
    /// Hint at what would change the way.
    pub remark: Option<&'static str>,
    /// Emergency stop that applies to this caller.
    pub stopped: Option<Box<str>>,
    /// Command that shows the approval queue, if the call would wait in it.
    pub queue: Option<String>,
}

impl Engine {
    /// Returns how the gate would treat a call of this tool.
    #[must_use]
    pub fn gate(&self, caller: &Caller<'_>, entry: &Entry) -> Gate {
        let judged = entry.judged();
        let (demand, rule) = (judged.demand, judged.rule.clone());
        let Some(safety) = self.safety() else {
            return Gate { demand, rule, way: Way::Off, remark: None, stopped: None, queue: None };
        };
        let stop = safety.stops().of(&caller.principal, &caller.share(), safety.now_ms());
        let works = entry.meta().is_some() || entry.safety().is_some_and(SafetyTool::works_when_stopped);
        let stopped =
            stop.filter(|_| !works).map(|stop| format!("by {}: {}", stop.by, stop.reason).into_boxed_str());
        let known = caller.peer.client_info().is_some_and(|info| safety.policy().honours(&info.name));
        let operator = entry.safety() == Some(SafetyTool::Unlock);
        let elicits = caller.peer.can(Capability::ElicitationForm);
        let (way, remark) = match demand {
            Demand::Never => (Way::Nobody, None),
            Demand::Unaware if safety.trusts(caller) => (Way::Client, None),
            _ if elicits && !operator => {
                let modern = caller.peer.era() == Era::Modern;
                (if modern { Way::InputRequired } else { Way::Elicitation }, None)
            }
            Demand::Unaware if known => (
                last_way(safety.policy().queue, demand),
                Some(
                    "clients of this name ask by themselves, and are believed over stdio or with a credential that --honours",
                ),
            ),
            _ if operator => (Way::Queue, None),
            _ => (
                last_way(safety.policy().queue, demand),
                Some("a client that declares elicitation would have its person asked"),
            ),
        };
        let queue = (way == Way::Queue).then(|| safety.command("approve list"));
        Gate { demand, rule, way, remark, stopped, queue }
    }
}

/// Returns the way for clients whose person cannot be asked through them.
const fn last_way(queue: bool, demand: Demand) -> Way {
    if queue || matches!(demand, Demand::Human) { Way::Queue } else { Way::Token }
}

impl Gate {
    #[must_use]
    pub fn as_json(&self) -> Value {
        json!({"demand": self.demand.name(), "rule": &*self.rule, "asked": self.way.name(), "remark": self.remark,
            "stopped": self.stopped.as_deref()})
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(stopped) = &self.stopped {
            write!(f, "stopped {stopped}; ")?;
        }
        f.write_str(self.way.words())?;
        self.queue.iter().try_for_each(|command| write!(f, ": `{command}`"))?;
        write!(f, " ({})", self.rule)?;
        self.remark.map_or(Ok(()), |remark| write!(f, "; {remark}"))
    }
}
