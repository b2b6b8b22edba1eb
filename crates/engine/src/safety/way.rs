//! How the gate meets a caller, in words, for whoever runs the server (R8.4).
//!
//! Nothing is decided here: [`crate::stage`] decides, by the same marks, and tests hold the two together.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_protocol::{Capability, Era};

use super::policy::Demand;
use super::tools::SafetyTool;
use crate::caller::Caller;
use crate::engine::Engine;
use crate::entry::Entry;

/// How a confirmation is asked for, where one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The server has no gate.
    Off,
    /// Nobody is asked.
    Nobody,
    /// The client asks its person by itself, and is believed.
    Client,
    /// `input_required` with sealed state.
    InputRequired,
    /// `elicitation/create` while the call waits.
    Elicitation,
    /// A person decides in the queue.
    Queue,
    /// `get_confirmation_token`, which proves no person.
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

/// What the gate says of one tool and one caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    pub demand: Demand,
    /// Which rule of the policy said so.
    pub rule: Arc<str>,
    pub way: Way,
    /// What would make it another way.
    pub remark: Option<&'static str>,
    /// An emergency stop that is in force for this caller.
    pub stopped: Option<Box<str>>,
    /// Command that shows the queue, where the call would wait in it.
    pub queue: Option<String>,
}

impl Engine {
    /// How the gate would meet a call of this tool.
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

/// For clients whose person cannot be asked through them.
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
