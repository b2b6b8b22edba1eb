//! Gate, emergency stop, audit and credentials, for every server that this program runs.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use tokio::runtime::Runtime;
use toolcrib::engine::safety::Safety;
use toolcrib::engine::safety::policy::Policy;
use toolcrib::{Credentialled, HttpOptions, ServerBuilder};
use toolcrib_contract::text::one_line;
use toolcrib_store::{DataFolder, SqliteProfiles};

use crate::data::{Data, unkept};
use crate::exit::{Exit, Failure};

/// The secret of the operator's credential that the first start makes.
const OPERATOR_FILE: &str = "operator.token";

/// What switches safety on.
pub(crate) struct Safe {
    safety: Arc<Safety>,
    profiles: Arc<SqliteProfiles>,
    folder: DataFolder,
}

impl Safe {
    /// Opens the data folder and reads the policy; says what an earlier process left unfinished.
    pub(crate) fn open(data: &Data, policy: Option<&Path>, runtime: &Runtime) -> Result<Self, Failure> {
        let policy = policy.map_or_else(|| Ok(Policy::default()), read_policy)?;
        let folder = data.open()?;
        let profiles = Arc::new(SqliteProfiles::open(folder.store.clone()).map_err(unkept)?);
        let safety = runtime.block_on(folder.safety(policy)).map_err(unkept)?;
        warn_of_unknown(&safety);
        Ok(Self { safety, profiles, folder })
    }

    pub(crate) fn apply(&self, builder: ServerBuilder) -> ServerBuilder {
        builder.safety(self.safety.clone()).options(|options| {
            options.sealer = Some(self.folder.keys.sealer.clone());
            options.toolsets.profiles = self.profiles.clone();
        })
    }

    /// Who may call at `listen`: anybody on this machine, elsewhere those with a credential.
    pub(crate) fn http(&self, listen: &str) -> HttpOptions {
        let authenticator = Arc::new(Credentialled::new(self.safety.clone(), !is_loopback(listen)));
        HttpOptions { authenticator, ..HttpOptions::default() }
    }

    /// Where things are kept, for a greeting. The first start makes an operator's credential and leaves its secret in
    /// the data folder.
    pub(crate) async fn greeting(&self, origin: &str) -> Result<String, Failure> {
        let mut text = format!("data:     {}\n", self.folder.path().display());
        if let Some(operator) = self.operator().await? {
            let line = format!("operator: bearer secret in {}, for {origin}/api/v1/\n", operator.display());
            text.push_str(&line);
        }
        Ok(text)
    }

    async fn operator(&self) -> Result<Option<PathBuf>, Failure> {
        let path = self.folder.path().join(OPERATOR_FILE);
        if !self.safety.credentials().is_empty() {
            return Ok(path.exists().then_some(path));
        }
        let secret = self.safety.add_credential("operator", true, false).await.map_err(unkept)?;
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&path).and_then(|mut file| writeln!(file, "{secret}"));
        written.map_err(|error| Failure::new(Exit::Internal, error))?;
        Ok(Some(path))
    }
}

fn read_policy(path: &Path) -> Result<Policy, Failure> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    let text = text.map_err(|error| Failure::new(Exit::Unreachable, error))?;
    let policy = Policy::parse(&text).with_context(|| format!("{}", path.display()));
    policy.map_err(|error| Failure::new(Exit::Usage, error))
}

/// What cannot be read as an address is taken for one that others can reach.
fn is_loopback(listen: &str) -> bool {
    let host = listen.rsplit_once(':').map_or(listen, |(host, _)| host).trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Calls that an earlier process began and whose end nobody knows.
fn warn_of_unknown(safety: &Safety) {
    for intent in safety.found_unknown() {
        let tool = one_line(&intent.binding.tool);
        eprintln!(
            "toolcrib: nobody knows how {} ended ({}, begun at {} ms); it is not tried again; `toolcrib audit unknown`",
            tool, intent.id, intent.started_ms
        );
    }
}
