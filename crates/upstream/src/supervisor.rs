//! Supervisor of one server: starts it, lists it, watches it, restarts it.
//!
//! Guarantees: a failing server affects no other. Restarts have exponential backoff. Lists are read again when they
//! change, at a limited rate. An expired session is reopened once, however many calls noticed.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use toolcrib_engine::BoxFuture;
use toolcrib_engine::alarm::{Alarm, Alarms};
use toolcrib_engine::by_thread::Apart;
use toolcrib_protocol::{Era, Revision};

use crate::brake::Brake;
use crate::breaker::Breaker;
use crate::catalogue::Catalogue;
use crate::connection::{Connection, Wire};
use crate::error::{Cause, UpstreamError};
use crate::limits::{
    UPSTREAM_IN_FLIGHT_MAX, UPSTREAM_LIST_MS_MAX, UPSTREAM_READY_MS_MAX, UPSTREAM_RELIST_MS_MIN,
    UPSTREAM_RETRY_MS_MAX, UPSTREAM_RETRY_MS_MIN, UPSTREAM_STEADY_MS_MIN,
};
use crate::listing;
use crate::message::Kind;
use crate::parked::Parked;
use crate::request::Request;
use crate::spec::Spec;

/// State of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Starting for the first time, or again after this cause.
    Starting(Option<Cause>),
    Ready(Revision),
    /// Failed; it will be restarted.
    Failed(Cause),
    Stopped,
}

/// Receiver of what a server offers. Called from the server's own task, so it must not block.
pub trait Observer: Send + Sync {
    /// Called when the server was listed, for the first time or again. The returned future resolves when the list is
    /// served; only then is the server *ready* and listed again.
    fn listed(&self, upstream: &Arc<Upstream>, catalogue: Catalogue) -> BoxFuture<'static, ()>;
    fn state_changed(&self, _upstream: &Arc<Upstream>, _state: &State) {}
    fn resource_changed(&self, _upstream: &Arc<Upstream>, _uri: &str) {}
}

/// A supervised server; calls are sent over its current connection.
pub struct Upstream {
    spec: Spec,
    connection: ArcSwapOption<Connection>,
    /// Public key of the server's own gate, from the newest connection.
    gate_key: ArcSwapOption<String>,
    state: watch::Sender<State>,
    stopping: watch::Sender<bool>,
    /// Resources whose changes somebody follows.
    followed: Mutex<BTreeSet<Box<str>>>,
    followed_more: Notify,
    in_flight: Apart<AtomicUsize>,
    alarms: Alarms,
    pub(crate) breaker: Breaker,
    pub(crate) parked: Arc<Parked>,
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("spec", &self.spec)
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

/// Longest backoff in milliseconds that calls wait through; during a longer one they fail.
const QUIET_PAUSE_MS_MAX: u64 = 1_000;

/// A session that lasted this long counts as expired, not as broken from the start.
const SESSION_HELD_MIN: Duration = Duration::from_millis(20);

/// Pause before a server is listed again, as a multiple of the time that its last list took to be served.
const RELIST_REST: u32 = 2;
const RELIST_REST_MAX: Duration = Duration::from_secs(10);

/// Counts a call in flight until it is dropped.
pub(crate) struct Entered<'a>(&'a AtomicUsize);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Timeout for stopping a server at shutdown; longer than its child has to exit.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

impl Upstream {
    /// Starts the supervisor task and returns at once.
    pub fn start(spec: Spec, observer: Arc<dyn Observer>) -> Arc<Self> {
        let upstream = Arc::new(Self {
            spec,
            connection: ArcSwapOption::empty(),
            gate_key: ArcSwapOption::empty(),
            state: watch::Sender::new(State::Starting(None)),
            stopping: watch::Sender::new(false),
            followed: Mutex::default(),
            followed_more: Notify::new(),
            in_flight: Apart::default(),
            alarms: Alarms::default(),
            breaker: Breaker::default(),
            parked: Arc::default(),
        });
        tokio::spawn(upstream.clone().run(observer));
        upstream
    }

    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    #[must_use]
    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Returns a receiver of state changes.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    /// Returns when the first attempt to start the server has succeeded or failed.
    pub async fn settled(&self) -> State {
        let mut states = self.watch();
        match states.wait_for(|state| !matches!(state, State::Starting(_))).await {
            Ok(state) => state.clone(),
            Err(_) => State::Stopped,
        }
    }

    /// Ends the connection or the process; waits a limited time until it is gone.
    pub async fn stop(&self) {
        self.stopping.send_replace(true);
        let mut states = self.watch();
        let stopped = states.wait_for(|state| *state == State::Stopped);
        if tokio::time::timeout(STOP_PATIENCE, stopped).await.is_err() {
            tracing::warn!(target: "toolcrib", upstream = self.spec.name, "it did not stop in time");
        }
    }

    /// Returns the public key of the server's own gate, if it is a Toolcrib server that has one.
    pub(crate) fn gate_key(&self) -> Option<Arc<String>> {
        self.gate_key.load_full()
    }

    /// Counts a call in flight; refuses it if there are too many.
    pub(crate) fn enter(&self) -> Result<Entered<'_>, UpstreamError> {
        let entered = Entered(&self.in_flight.0);
        if entered.0.fetch_add(1, Ordering::Relaxed) >= UPSTREAM_IN_FLIGHT_MAX {
            return Err(UpstreamError::unsent(Cause::Busy));
        }
        Ok(entered)
    }

    /// Returns the deadline of a call that starts now.
    pub(crate) fn alarm(&self) -> Alarm<'_> {
        self.alarms.set(Duration::from_millis(self.spec.call_ms_max))
    }

    /// Returns the number of calls in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.0.load(Ordering::Relaxed)
    }

    /// Subscribes to changes of a resource.
    pub fn follow(&self, uri: &str) {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if followed.len() < toolcrib_engine::limits::SUBSCRIPTIONS_MAX && followed.insert(uri.into()) {
            self.followed_more.notify_one();
        }
    }

    fn followed(&self) -> Vec<Box<str>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Returns a connection to send on; waits for a server that is starting. `stale` is a connection that was found
    /// dead.
    pub(crate) async fn connection(
        &self,
        stale: Option<&Arc<Connection>>,
    ) -> Result<Arc<Connection>, UpstreamError> {
        match self.fresh(stale) {
            Some(connection) => Ok(connection),
            None => Box::pin(self.becomes_ready(stale)).await,
        }
    }

    fn fresh(&self, stale: Option<&Arc<Connection>>) -> Option<Arc<Connection>> {
        let is_fresh =
            |connection: &Arc<Connection>| !stale.is_some_and(|stale| Arc::ptr_eq(stale, connection));
        self.connection.load_full().filter(is_fresh)
    }

    async fn becomes_ready(&self, stale: Option<&Arc<Connection>>) -> Result<Arc<Connection>, UpstreamError> {
        let mut states = self.watch();
        let wait = async {
            loop {
                if let Some(connection) = self.fresh(stale) {
                    return Ok(connection);
                }
                match &*states.borrow_and_update() {
                    State::Failed(cause) => return Err(cause.to_string()),
                    State::Stopped => return Err("it was stopped".to_owned()),
                    State::Starting(_) | State::Ready(_) => {}
                }
                if states.changed().await.is_err() {
                    return Err("it was stopped".to_owned());
                }
            }
        };
        let within = Duration::from_millis(UPSTREAM_READY_MS_MAX);
        let outcome = tokio::time::timeout(within, wait).await;
        let reason = match outcome {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(reason)) => reason,
            Err(_) => match self.state() {
                State::Starting(Some(cause)) => format!("it is still starting again; before, {cause}"),
                _ => "it is still starting".to_owned(),
            },
        };
        Err(UpstreamError::unsent(Cause::Unavailable(reason.into())))
    }

    /// Reports a dead connection; the server is reconnected once, however many calls report it.
    pub(crate) fn renew(&self, dead: &Arc<Connection>, cause: Cause) {
        dead.link().close(cause);
    }

    async fn run(self: Arc<Self>, observer: Arc<dyn Observer>) {
        let mut stopping = self.stopping.subscribe();
        let mut pause_ms = 0;
        let mut after = None;
        loop {
            self.tell(&observer, State::Starting(after.take()));
            let attempt = async {
                let connection = Connection::open(&self.spec).await?;
                let catalogue = self.list(&connection).await?;
                Ok::<_, UpstreamError>((Arc::new(connection), catalogue))
            };
            let opened = tokio::select! {
                opened = attempt => opened,
                _ = stopping.wait_for(|stop| *stop) => break,
            };
            let (cause, is_brief) = match opened {
                Ok((connection, catalogue)) => {
                    tokio::select! {
                        () = observer.listed(&self, catalogue) => {}
                        _ = stopping.wait_for(|stop| *stop) => {}
                    }
                    let since = Instant::now();
                    self.gate_key.store(connection.introduction().gate_key().map(Arc::new));
                    self.connection.store(Some(connection.clone()));
                    self.breaker.succeeded();
                    self.tell(&observer, State::Ready(connection.revision()));
                    let ended = tokio::select! {
                        cause = self.attend(&connection, &observer) => Some(cause),
                        _ = stopping.wait_for(|stop| *stop) => None,
                    };
                    self.connection.store(None);
                    // Calls that arrive now wait for the next connection.
                    self.tell(&observer, State::Starting(ended.clone()));
                    connection.close().await;
                    let Some(cause) = ended else { break };
                    let held = since.elapsed();
                    if held >= Duration::from_millis(UPSTREAM_STEADY_MS_MIN)
                        || (cause == Cause::SessionGone && held >= SESSION_HELD_MIN)
                    {
                        pause_ms = 0;
                    }
                    (cause, pause_ms <= QUIET_PAUSE_MS_MAX)
                }
                Err(error) => {
                    pause_ms = pause_ms.max(UPSTREAM_RETRY_MS_MIN);
                    (*error.cause, false)
                }
            };
            tracing::warn!(target: "toolcrib", upstream = self.spec.name, "{cause}");
            if !is_brief {
                self.tell(&observer, State::Failed(cause.clone()));
            }
            after = Some(cause);
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(pause_ms)) => {}
                _ = stopping.wait_for(|stop| *stop) => break,
            }
            pause_ms = (pause_ms * 2).clamp(UPSTREAM_RETRY_MS_MIN, UPSTREAM_RETRY_MS_MAX);
        }
        self.tell(&observer, State::Stopped);
    }

    fn tell(self: &Arc<Self>, observer: &Arc<dyn Observer>, state: State) {
        observer.state_changed(self, &state);
        self.state.send_replace(state);
    }

    /// Reads all lists, with a timeout for a list whose pages never end.
    async fn list(&self, connection: &Connection) -> Result<Catalogue, UpstreamError> {
        let ms_max = self.spec.start_ms_max;
        match tokio::time::timeout(Duration::from_millis(ms_max), listing::catalogue(connection)).await {
            Ok(listed) => listed,
            Err(_) => Err(UpstreamError::sent(Cause::ListTooSlow { ms_max })),
        }
    }

    /// Follows a connection until it ends; returns the cause.
    async fn attend(self: &Arc<Self>, connection: &Arc<Connection>, observer: &Arc<dyn Observer>) -> Cause {
        let cause = tokio::select! {
            cause = connection.link().closed() => cause,
            cause = self.follow_news(connection, observer) => cause,
            never = async {
                listen(self.clone(), connection.clone()).await;
                std::future::pending().await
            } => never,
        };
        connection.link().close(cause.clone());
        cause
    }

    async fn follow_news(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        observer: &Arc<dyn Observer>,
    ) -> Cause {
        loop {
            connection.news().wait().await;
            // Limits how often a server that announces changes all the time is listed.
            tokio::time::sleep(Duration::from_millis(UPSTREAM_RELIST_MS_MIN)).await;
            for uri in connection.news().take_resources() {
                observer.resource_changed(self, &uri);
            }
            if connection.news().take_lists() {
                match self.list(connection).await {
                    Ok(catalogue) => {
                        let begun = Instant::now();
                        observer.listed(self, catalogue).await;
                        // A server that changes costly lists all the time leaves time to others.
                        let rest = (RELIST_REST * begun.elapsed()).min(RELIST_REST_MAX);
                        tokio::time::sleep(rest).await;
                    }
                    Err(error) if error.is_transport() => return *error.cause,
                    Err(error) => {
                        tracing::warn!(target: "toolcrib", upstream = self.spec.name, "its lists stay as they were: {error}");
                    }
                }
            }
        }
    }
}

/// Receives messages of a server outside of calls.
async fn listen(upstream: Arc<Upstream>, connection: Arc<Connection>) {
    match (&connection.wire, connection.revision().era()) {
        (Wire::Http(http), Era::Legacy) => {
            tokio::join!(http.clone().listen(), subscribe(&upstream, &connection));
        }
        (Wire::Stdio(_) | Wire::Sse(_), Era::Legacy) => subscribe(&upstream, &connection).await,
        (_, Era::Modern) => subscriptions(&upstream, &connection).await,
    }
}

/// Subscriptions of a legacy server: one request per followed resource.
async fn subscribe(upstream: &Upstream, connection: &Connection) {
    let mut told = BTreeSet::new();
    loop {
        for uri in upstream.followed() {
            if told.insert(uri.clone()) {
                let request = Request::new("resources/subscribe").string("uri", &uri);
                if let Err(error) = connection.ask(&request, UPSTREAM_LIST_MS_MAX).await {
                    tracing::debug!(target: "toolcrib", upstream = upstream.spec.name, "{uri} is not followed: {error}");
                }
            }
        }
        upstream.followed_more.notified().await;
    }
}

/// Subscriptions of a modern server: one stream for everything, reopened when more resources are followed.
async fn subscriptions(upstream: &Upstream, connection: &Connection) {
    let mut brake = Brake::default();
    loop {
        let uris: Vec<String> =
            upstream.followed().iter().map(|uri| toolcrib_protocol::write::quoted(uri)).collect();
        let wanted = format!(
            r#"{{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":[{}]}}"#,
            uris.join(",")
        );
        let request = Request::new("subscriptions/listen").raw("notifications", &wanted);
        let Ok(mut pending) = connection.send(&request).await else { return };
        loop {
            let message = tokio::select! {
                message = pending.next() => message,
                () = upstream.followed_more.notified() => break,
            };
            match message {
                Ok(message) if matches!(message.kind(), Kind::Response(_)) => {
                    // A refusal is final: the server does not support it. Otherwise the stream ended.
                    if message.result().is_err() {
                        return;
                    }
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    // Changes in between were missed.
                    connection.news().lists_changed();
                    break;
                }
                Ok(message) => {
                    brake.hold(message.bytes()).await;
                    drop(connection.link().deliver(message));
                }
                // A stream that is open for weeks eventually reaches the byte limit of one answer.
                Err(error) if error.is_transport() || matches!(*error.cause, Cause::TooLarge { .. }) => {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    connection.news().lists_changed();
                    break;
                }
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests;
