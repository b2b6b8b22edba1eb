//! Safety: confirmation gate, emergency stop, journal and audit of one server (R4).
//!
//! Switched on by giving an engine a [`Safety`]; without one no call is gated, journalled or audited. Guarantees: a
//! call that must be confirmed and is not never reaches its tool, and neither does a destructive call whose intent
//! cannot be stored; the stop is a flag in memory, in force in every process of a store within `STOP_SEEN_MS_MAX`,
//! and the command that stops returns once every process has confirmed it or is named as unconfirmed.

pub mod allowance;
pub mod audit;
pub mod credential;
pub mod export;
pub(crate) mod housekeeping;
pub mod keep;
pub mod mint;
pub mod operate;
pub mod operating;
pub mod policy;
pub(crate) mod property;
pub mod rate;
pub(crate) mod receipt;
pub mod repeats;
pub mod scope;
pub mod shown;
pub mod stops;
pub mod ticket;
pub mod tools;
pub(crate) mod trail;
pub mod vouch;
pub mod way;

use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwap, Guard};
use toolcrib_contract::Digest;
use toolcrib_protocol::Capability;

use crate::caller::Caller;
use crate::clock::Clock;
use crate::entry::Entry;
use crate::principal::Principal;
use allowance::User;
use audit::{Event, Kind};
use credential::Credentials;
use keep::{Intent, SafetyStore, Scope, Unkept};
use operating::Operating;
use policy::{Demand, InForce, Policy};
use rate::Rates;
use repeats::Repeats;
use stops::Stops;
use ticket::SecretKey;
use trail::{Trace, Trail};
use vouch::Voucher;

/// Gate, emergency stop and audit of one server.
#[derive(Debug)]
pub struct Safety {
    policy: ArcSwap<InForce>,
    store: Arc<dyn SafetyStore>,
    key: SecretKey,
    clock: Arc<dyn Clock>,
    stops: Stops,
    repeats: Repeats,
    credentials: Credentials,
    minting: Rates,
    asking: Rates,
    trail: Trail,
    /// Intents without a known ending that an earlier process left.
    unknown: Vec<Intent>,
    /// Reason why the audit is broken.
    distrust: OnceLock<String>,
    /// Signs statements about confirmed calls for Toolcrib servers behind this one.
    voucher: OnceLock<Voucher>,
    operating: OnceLock<Operating>,
}

impl Safety {
    /// Loads stops and credentials from the store, and the intents that an earlier process left open.
    pub async fn open(
        store: Arc<dyn SafetyStore>,
        policy: Policy,
        key: SecretKey,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, Unkept> {
        let unknown = store.recover(clock.now_ms()).await?;
        let safety = Arc::new(Self {
            policy: ArcSwap::from_pointee(InForce::new(Arc::new(policy))),
            store,
            key,
            clock,
            stops: Stops::default(),
            repeats: Repeats::default(),
            credentials: Credentials::default(),
            minting: Rates::default(),
            asking: Rates::default(),
            trail: Trail::default(),
            unknown,
            distrust: OnceLock::new(),
            voucher: OnceLock::new(),
            operating: OnceLock::new(),
        });
        let revision = safety.store.revision().await?;
        safety.refresh().await?;
        safety.store.acknowledge(revision)?;
        housekeeping::start(&safety);
        Ok(safety)
    }

    /// Returns the current policy, without a lock; [`crate::Engine::set_policy`] replaces it.
    #[must_use]
    pub fn policy(&self) -> Guard<Arc<InForce>> {
        self.policy.load()
    }

    /// Puts a policy and its fingerprint in force, for the next call.
    pub(crate) fn set_policy(&self, policy: Arc<Policy>) {
        self.policy.store(Arc::new(InForce::new(policy)));
    }

    /// Sets how this server is operated; only the first value counts.
    pub fn operate_by(&self, operating: Operating) {
        let _ = self.operating.set(operating);
    }

    /// Returns the command line that runs `verb` on this server's data.
    #[must_use]
    pub fn command(&self, verb: &str) -> String {
        match self.operating.get() {
            Some(operating) => operating.command(verb),
            None => Operating::default().command(verb),
        }
    }

    /// Returns the person at this process's terminal, if it asks one.
    pub(crate) fn person(&self) -> Option<&str> {
        self.operating.get()?.person.as_deref()
    }

    #[must_use]
    pub fn store(&self) -> &Arc<dyn SafetyStore> {
        &self.store
    }

    #[must_use]
    pub fn stops(&self) -> &Stops {
        &self.stops
    }

    #[must_use]
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    #[must_use]
    pub fn key(&self) -> &SecretKey {
        &self.key
    }

    /// Returns the request rates of the REST interface.
    #[must_use]
    pub fn asking(&self) -> &Rates {
        &self.asking
    }

    /// Returns calls that an earlier process started and whose outcome is unknown.
    #[must_use]
    pub fn found_unknown(&self) -> &[Intent] {
        &self.unknown
    }

    /// Sets the key that signs statements about confirmed calls and identifies this server to gateways. Only the
    /// first counts.
    pub fn set_voucher(&self, voucher: Voucher) {
        let _ = self.voucher.set(voucher);
    }

    #[must_use]
    pub fn voucher(&self) -> Option<&Voucher> {
        self.voucher.get()
    }

    /// Marks the audit as broken: from now on no destructive call runs, unless the policy allows it.
    pub fn distrust(&self, reason: String) {
        let _ = self.distrust.set(reason);
    }

    /// Returns the reason why the audit is broken, if it is.
    #[must_use]
    pub fn distrusted(&self) -> Option<&str> {
        self.distrust.get().map(String::as_str)
    }

    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    pub(crate) fn repeats(&self) -> &Repeats {
        &self.repeats
    }

    pub(crate) fn trail(&self) -> &Trail {
        &self.trail
    }

    /// Returns the suffix of a sealed answer's nonce, which binds it to the tool's contract and the current policy.
    pub(crate) fn bound(&self, entry: &Entry) -> String {
        let both = format!("{} {}", entry.contract().digest(), self.fingerprint());
        let digest = audit::to_hex(Digest::of_bytes(both.as_bytes()).as_bytes());
        format!("-{}", digest.get(..32).unwrap_or_default())
    }

    pub(crate) fn fingerprint(&self) -> Digest {
        self.policy.load().fingerprint()
    }

    /// Reloads stops and credentials from the store.
    pub(crate) async fn refresh(&self) -> Result<(), Unkept> {
        let lifted = self.stops.set(self.store.stops(self.now_ms()).await?);
        self.begin_anew(&lifted);
        self.credentials.set(self.store.credentials().await?);
        Ok(())
    }

    /// Resets the loop guard for callers that were unlocked, by this or another process.
    fn begin_anew(&self, lifted: &[Scope]) {
        let anonymous = Principal::Anonymous.key();
        if lifted.iter().any(|scope| scope.key().is_empty() || scope.key() == anonymous) {
            self.repeats.forget_all();
            return;
        }
        let callers: Vec<String> = lifted.iter().map(|scope| scope.key().to_owned()).collect();
        if !callers.is_empty() {
            self.repeats.forget(&callers);
        }
    }

    /// Queues an audit record; the housekeeper writes it.
    pub(crate) fn note(&self, event: Event) {
        self.trail.push(Trace::Whole(Box::new(event)));
    }

    /// Writes all queued records.
    pub async fn flush(&self) -> Result<(), Unkept> {
        self.trail.flush(&*self.store).await
    }

    /// Returns the number of records that were dropped because they could not be written and the queue was full.
    #[must_use]
    pub fn lost_records(&self) -> u64 {
        self.trail.lost().saturating_add(self.store.lost())
    }

    /// Returns the reason why records cannot be written now, if so. Meanwhile calls that are not read-only are
    /// refused.
    #[must_use]
    pub fn unwritable(&self) -> Option<String> {
        self.trail.failing()
    }

    /// Returns true if the caller's client is known and trusted to ask its person itself (R4.4, clients that honour
    /// annotations).
    #[must_use]
    pub fn trusts(&self, caller: &Caller<'_>) -> bool {
        let Some(info) = caller.peer.client_info() else { return false };
        let vouched = match &caller.principal {
            Principal::Local => true,
            Principal::Subject(name) => self.credentials.named(name).is_some_and(|marks| marks.honours),
            Principal::Anonymous => false,
        };
        vouched && self.policy().honours(&info.name)
    }

    /// Returns the least demand from which this caller's list shows the token argument; `None` if its client can be
    /// asked.
    #[must_use]
    pub(crate) fn tokens_from(&self, caller: &Caller<'_>) -> Option<Demand> {
        if caller.peer.can(Capability::ElicitationForm) {
            None
        } else if self.trusts(caller) {
            Some(Demand::Always)
        } else {
            Some(Demand::Unaware)
        }
    }

    /// Returns an audit record about this caller.
    pub(crate) fn event(&self, kind: Kind, who: &Who) -> Event {
        Event {
            caller: Some(who.caller.clone()),
            session: who.session.clone(),
            ..Event::new(self.now_ms(), kind)
        }
    }
}

impl Drop for Safety {
    /// Hands the queued records to the store when the server is dropped.
    fn drop(&mut self) {
        let events = self.trail.take();
        if !events.is_empty() {
            // The write begins with the call; nobody is left to await it.
            drop(self.store.append(events));
        }
    }
}

/// Caller as tickets and records name it, and the user that its use is counted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    pub caller: String,
    pub session: Option<String>,
    pub client: Option<String>,
    pub user: User,
}

impl Who {
    #[must_use]
    pub fn of(caller: &Caller<'_>) -> Self {
        let session = caller.peer.session().and_then(|session| session.id()).map(|id| id.as_str().to_owned());
        let client = caller.peer.client_info().map(|info| info.name.to_string());
        Self { caller: caller.principal.key(), session, client, user: User::of(caller) }
    }

    /// Returns true if a stop of this scope applies to this caller.
    #[must_use]
    pub fn is_within(&self, scope: &Scope) -> bool {
        *scope == Scope::Everybody || scope.key() == self.caller || *scope == Scope::of(&self.user.share)
    }
}
