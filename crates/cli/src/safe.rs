//! Gate, emergency stop, audit and credentials for every server that this program runs (R12.3).

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::runtime::Runtime;
use toolcrib::engine::clock::SystemClock;
use toolcrib::engine::entry::Entry;
use toolcrib::engine::safety::mint::Wish;
use toolcrib::engine::safety::operating::Operating;
use toolcrib::engine::safety::policy::{Demand, Policy};
use toolcrib::engine::safety::ticket::Issuer;
use toolcrib::engine::safety::{Safety, Who};
use toolcrib::engine::stage::caller;
use toolcrib::protocol::{ClientCapabilities, Era};
use toolcrib::{Credentialled, HttpOptions, Principal, ServerBuilder};
use toolcrib_contract::json::Node;
use toolcrib_contract::text::one_line;
use toolcrib_store::{DataFolder, Keys, SqliteProfiles, SqliteSafety, Store};

use crate::data::{Data, operator, unkept};
use crate::exit::{Exit, Failure};

/// File in the data folder with the secret of the operator's credential, which the first start creates.
const OPERATOR_FILE: &str = "operator.token";

/// Maximum wait of a final checkpoint of the database.
const CLOSING_PATIENCE: Duration = Duration::from_secs(10);

/// Safety of a server, with the data folder behind it.
pub(crate) struct Safe {
    safety: Arc<Safety>,
    /// `None` if there is no data folder, which is only allowed while nothing is served.
    kept: Option<Kept>,
}

struct Kept {
    profiles: Arc<SqliteProfiles>,
    folder: DataFolder,
}

impl Safe {
    /// Opens the data folder for a server, warns of calls with an unknown outcome, and verifies the audit in the
    /// background.
    pub(crate) fn open(data: &Data, policy: Policy, runtime: &Runtime) -> Result<Self, Failure> {
        let safe = Self::opened(data, policy, data.operating(), runtime)?;
        warn_of_unknown(&safe.safety);
        safe.watch_audit();
        Ok(safe)
    }

    /// Opens the data folder for one call of this process. The person at the terminal is recorded with each
    /// confirmation.
    pub(crate) fn at_terminal(data: &Data, policy: Policy, runtime: &Runtime) -> Result<Self, Failure> {
        let operating = Operating { person: Some(operator()), ..data.operating() };
        let safe = Self::opened(data, policy, operating, runtime)?;
        warn_of_unknown(&safe.safety);
        Ok(safe)
    }

    fn opened(data: &Data, policy: Policy, operating: Operating, runtime: &Runtime) -> Result<Self, Failure> {
        let folder = data.open()?;
        let profiles = folder.profiles().map_err(unkept)?;
        let safety = runtime.block_on(folder.safety(policy)).map_err(unkept)?;
        safety.operate_by(operating);
        Ok(Self { safety, kept: Some(Kept { profiles, folder }) })
    }

    /// Verifies the audit on its own thread.
    fn watch_audit(&self) {
        let Some(walk) = self.walk() else { return };
        // Without the thread the server still runs; `toolcrib audit verify` remains.
        if let Err(error) = std::thread::Builder::new().name("toolcrib-audit".to_owned()).spawn(walk) {
            eprintln!("toolcrib: the audit is not verified: {error}");
        }
    }

    /// Verifies the audit and waits for the result.
    pub(crate) async fn verify_audit(&self) {
        let Some(walk) = self.walk() else { return };
        if tokio::task::spawn_blocking(walk).await.is_err() {
            eprintln!("toolcrib: the audit is not verified");
        }
    }

    /// Returns a closure that verifies the audit. A broken audit is reported, and destructive calls are refused from
    /// then on.
    fn walk(&self) -> Option<impl FnOnce() + Send + use<>> {
        let kept = self.kept.as_ref()?;
        let (log, key, safety) = (kept.folder.audit(), kept.folder.keys.signer.public(), self.safety.clone());
        Some(move || {
            let reason = match log.verify(key) {
                Ok(Ok(_)) => return,
                Ok(Err(broken)) => broken.to_string(),
                Err(error) => error.to_string(),
            };
            eprintln!(
                "toolcrib: the audit is broken: {reason}; destructive calls are refused; look with `{}`, go on with `{}`",
                safety.command("audit verify"),
                safety.command("audit restart --reason WHY")
            );
            safety.distrust(reason);
        })
    }

    /// Opens the data folder for inspection only. A missing folder is not created; an in-memory store takes its place.
    pub(crate) fn look(data: &Data, policy: Policy, runtime: &Runtime) -> Result<Self, Failure> {
        if data.path().is_some_and(|path| path.is_dir()) {
            return Self::opened(data, policy, data.operating(), runtime);
        }
        let keys = Keys::random().map_err(unkept)?;
        let store = Store::in_memory().and_then(|store| SqliteSafety::new(store, keys.signer, None));
        let store = Arc::new(store.map_err(unkept)?);
        let opened = Safety::open(store, policy, keys.secrets, Arc::new(SystemClock));
        let safety = runtime.block_on(opened).map_err(unkept)?;
        safety.operate_by(data.operating());
        Ok(Self { safety, kept: None })
    }

    /// Returns the full command line that runs `verb` on this data folder.
    pub(crate) fn command(&self, verb: &str) -> String {
        self.safety.command(verb)
    }

    /// Returns a token for one call that was agreed to beforehand, or `None` if the policy demands none.
    pub(crate) async fn agreed(
        &self,
        entry: &Arc<Entry>,
        arguments: Node<'_>,
    ) -> Result<Option<String>, Failure> {
        if entry.judged().demand == Demand::Never {
            return Ok(None);
        }
        let nobody = ClientCapabilities::default();
        let caller = caller::supposed("", Era::Modern, nobody, Principal::Local, Arc::default());
        let who = Who::of(&caller);
        let summary = "agreed to beforehand with --yes";
        let (arguments, issuer) = (Some(arguments), Issuer::Caller);
        let minted = self.safety.mint(Wish { who: &who, entry, summary, arguments, issuer }).await;
        let minted = minted.map_err(|error| Failure::new(Exit::Unreachable, error))?;
        Ok(Some(minted.secret.as_str().to_owned()))
    }

    /// Waits until all records are on disk, at the end of a process.
    pub(crate) async fn settle(&self) {
        let store = self.safety.store();
        // The empty append completes after all writes that were queued before it.
        for written in [self.safety.flush().await, store.append(Vec::new()).await] {
            if let Err(error) = written {
                eprintln!("toolcrib: what was recorded of the call may be lost: {error}");
            }
        }
    }

    /// Flushes the audit and checkpoints the database at the end of a process. Threads that still hold the store would
    /// keep it from doing so on drop.
    pub(crate) fn close(&self, runtime: &Runtime) {
        if let Err(error) = runtime.block_on(self.safety.flush()) {
            eprintln!("toolcrib: records of the audit are lost: {error}");
        }
        if let Some(kept) = &self.kept {
            kept.folder.store.checkpoint(CLOSING_PATIENCE);
        }
    }

    pub(crate) fn apply(&self, builder: ServerBuilder) -> ServerBuilder {
        builder.safety(self.safety.clone()).options(|options| {
            if let Some(kept) = &self.kept {
                options.sealer = Some(kept.folder.keys.sealer.clone());
                options.toolsets.profiles = kept.profiles.clone();
            }
        })
    }

    /// Returns HTTP options for `listen`: credentials are optional on loopback and required elsewhere.
    pub(crate) fn http(&self, listen: &str) -> HttpOptions {
        let authenticator = Arc::new(Credentialled::new(self.safety.clone(), !is_loopback(listen)));
        HttpOptions { authenticator, ..HttpOptions::default() }
    }

    /// Describes the data folder for the greeting. The first start creates an operator's credential and writes its
    /// secret into the data folder.
    pub(crate) async fn greeting(&self, origin: &str) -> Result<String, Failure> {
        let Some(kept) = &self.kept else { return Ok(String::new()) };
        let mut text = format!("data:     {}\n", kept.folder.path().display());
        if let Some(operator) = self.operator(kept).await? {
            let line = format!("operator: bearer secret in {}, for {origin}/api/v1/\n", operator.display());
            text.push_str(&line);
        }
        Ok(text)
    }

    async fn operator(&self, kept: &Kept) -> Result<Option<PathBuf>, Failure> {
        let path = kept.folder.path().join(OPERATOR_FILE);
        if !self.safety.credentials().is_empty() {
            return Ok(path.exists().then_some(path));
        }
        let secret = self.safety.add_credential("operator", true, false).await.map_err(unkept)?;
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // A file that is left over keeps its mode: it goes first.
        let cleared = match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        let written =
            cleared.and_then(|()| options.open(&path)).and_then(|mut file| writeln!(file, "{secret}"));
        written.map_err(|error| Failure::new(Exit::Internal, error))?;
        Ok(Some(path))
    }
}

/// Returns the policy in force: that of `--policy FILE`, else the section `[safety]` of the configuration, else the
/// default.
pub(crate) fn policy(file: Option<&Path>, section: Option<&Policy>) -> Result<Policy, Failure> {
    match file {
        Some(file) => read_policy(file),
        None => Ok(section.cloned().unwrap_or_default()),
    }
}

fn read_policy(path: &Path) -> Result<Policy, Failure> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    let text = text.map_err(|error| Failure::new(Exit::Unreachable, error))?;
    let policy = Policy::parse(&text).with_context(|| format!("{}", path.display()));
    policy.map_err(|error| Failure::new(Exit::Usage, error))
}

/// Returns true for a loopback address or a Unix socket. An unparsable address counts as reachable by others.
fn is_loopback(listen: &str) -> bool {
    if listen.starts_with(toolcrib_server::UNIX_PREFIX) {
        // The socket's file mode admits only processes of the same user.
        return true;
    }
    let host = listen.rsplit_once(':').map_or(listen, |(host, _)| host).trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Warns of calls that an earlier process began and whose outcome is unknown.
fn warn_of_unknown(safety: &Safety) {
    for intent in safety.found_unknown() {
        let tool = one_line(&intent.binding.tool);
        eprintln!(
            "toolcrib: nobody knows how {} ended ({}, begun at {} ms); it is not tried again; `{}`",
            tool,
            intent.id,
            intent.started_ms,
            safety.command("audit unknown")
        );
    }
}
