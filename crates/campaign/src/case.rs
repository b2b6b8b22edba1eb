//! One attack: its preparation, its action, and the gateway as its target.

use std::any::Any;
use std::fmt::{self, Debug, Formatter};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::client::{Post, Wire};
use crate::gateway::{Gateway, OPEN, Server};

/// Source address of attackers that share no quota with the neighbour.
pub(crate) const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Starts the hostile servers of an attack and builds its requests.
pub(crate) type Prepare = dyn Fn(&Setting) -> Result<Attack> + Send + Sync;

/// An attack by its name.
pub(crate) struct Case {
    pub(crate) family: &'static str,
    pub(crate) name: String,
    pub(crate) prepare: Box<Prepare>,
}

impl Case {
    pub(crate) fn new(
        family: &'static str,
        name: impl Into<String>,
        prepare: impl Fn(&Setting) -> Result<Attack> + Send + Sync + 'static,
    ) -> Self {
        Self { family, name: name.into(), prepare: Box::new(prepare) }
    }
}

/// Sizes and programs for preparing attacks.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    /// Path of the program `hostile`, an example of crates/gateway.
    pub(crate) hostile: PathBuf,
    pub(crate) is_small: bool,
}

impl Setting {
    /// Returns a full size, or the size of the short version.
    pub(crate) fn size(&self, full: usize, small: usize) -> usize {
        if self.is_small { small } else { full }
    }
}

/// Repeats an attack until the phase is over; returns the number of requests.
pub(crate) type Storm = dyn Fn(&Target<'_>, &Phase) -> Result<u64> + Send + Sync;
/// Another client that must be served during the attack; the error tells why it was not.
pub(crate) type Honest = dyn Fn(&Target<'_>) -> Result<()> + Send + Sync;

pub(crate) enum Action {
    /// A request that has to be refused: measured alone, then repeated beside the neighbour.
    Request(Post),
    /// A call of a hostile server: measured too, but without a limit on its CPU time, which depends on how much the
    /// server sends before it is refused.
    Poke(Post),
    Storm(Box<Storm>),
}

/// A prepared attack.
pub(crate) struct Attack {
    /// Hostile servers that are added to the configuration before the attack.
    pub(crate) servers: Vec<Server>,
    pub(crate) policy: String,
    pub(crate) action: Action,
    pub(crate) honest: Option<Box<Honest>>,
    /// `true` if the neighbour has a session. Without one it shares the quotas by address with the attacker.
    pub(crate) has_session: bool,
    /// Factor on the length of phases, for attacks that need time to reach their full size.
    pub(crate) phases: u32,
    /// Servers and processes that have to live as long as the attack.
    pub(crate) keep: Vec<Box<dyn Any + Send + Sync>>,
}

impl Attack {
    pub(crate) fn request(post: Post) -> Self {
        Self::new(Action::Request(post))
    }

    pub(crate) fn poke(post: Post) -> Self {
        Self::new(Action::Poke(post))
    }

    pub(crate) fn storm(storm: impl Fn(&Target<'_>, &Phase) -> Result<u64> + Send + Sync + 'static) -> Self {
        Self::new(Action::Storm(Box::new(storm)))
    }

    fn new(action: Action) -> Self {
        Self {
            servers: Vec::new(),
            policy: OPEN.to_owned(),
            action,
            honest: None,
            has_session: false,
            phases: 1,
            keep: Vec::new(),
        }
    }

    /// Adds a hostile server to the configuration.
    pub(crate) fn with_server(mut self, server: Server, keep: impl Any + Send + Sync) -> Self {
        self.servers.push(server);
        self.keep.push(Box::new(keep));
        self
    }

    pub(crate) fn with_policy(mut self, policy: &str) -> Self {
        policy.clone_into(&mut self.policy);
        self
    }

    pub(crate) fn with_session_of_neighbour(mut self) -> Self {
        self.has_session = true;
        self
    }

    pub(crate) fn with_phases(mut self, phases: u32) -> Self {
        self.phases = phases;
        self
    }

    pub(crate) fn with_honest(
        mut self,
        honest: impl Fn(&Target<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.honest = Some(Box::new(honest));
        self
    }
}

impl Debug for Attack {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Attack").field("servers", &self.servers).finish_non_exhaustive()
    }
}

/// The gateway as an attacker sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) gateway: &'a Gateway,
    pub(crate) address: SocketAddr,
    pub(crate) source: Ipv4Addr,
}

impl Target<'_> {
    pub(crate) fn wire(&self, patience: Duration) -> std::io::Result<Wire> {
        Wire::open(self.address, self.source, patience)
    }

    /// Opens a connection with a minimal receive buffer.
    pub(crate) fn narrow_wire(&self, patience: Duration) -> std::io::Result<Wire> {
        Wire::narrow(self.address, self.source, patience)
    }

    /// Uses the neighbour's source address.
    pub(crate) fn beside_neighbour(mut self) -> Self {
        self.source = Ipv4Addr::LOCALHOST;
        self
    }
}

/// Time interval of an attack.
#[derive(Debug)]
pub(crate) struct Phase {
    until: Instant,
    stopped: AtomicBool,
}

impl Phase {
    pub(crate) fn of(time: Duration) -> Self {
        Self { until: Instant::now() + time, stopped: AtomicBool::new(false) }
    }

    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || Instant::now() >= self.until
    }

    /// Waits, at most until the end of the phase.
    pub(crate) fn pause(&self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end && !self.is_over() {
            std::thread::park_timeout(Duration::from_millis(5).min(time));
        }
    }
}
