//! `toolcrib serve`: the demonstration tools at one endpoint, for every client from 2024 to 2026, with gate, emergency
//! stop and audit on.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use toolcrib::engine::safety::Safety;
use toolcrib::engine::safety::policy::Policy;
use toolcrib::{Credentialled, HttpOptions};
use toolcrib_contract::text::one_line;
use toolcrib_store::{DataFolder, SqliteProfiles};

use crate::data::{Data, unkept};
use crate::exit::{Exit, Failure, print};
use crate::toolsets::Toolsets;
use crate::{Outcome, demonstration};

const ADDRESS: &str = "127.0.0.1:7420";
/// The secret of the operator's credential that the first start makes.
const OPERATOR_FILE: &str = "operator.token";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The address to listen at. Any but loopback asks every client for a credential.
    #[arg(long, default_value = ADDRESS)]
    listen: String,
    /// Serve standard input and output instead, for clients that start commands.
    #[arg(long)]
    stdio: bool,
    /// A file whose section [safety] says which calls have to be confirmed.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    toolsets: Toolsets,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            listen: ADDRESS.to_owned(),
            stdio: false,
            policy: None,
            data: Data::default(),
            toolsets: Toolsets::default(),
        }
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let internal = |error: std::io::Error| Failure::new(Exit::Internal, error);
    let policy = args.policy.as_ref().map_or_else(|| Ok(Policy::default()), policy)?;
    let folder = args.data.open()?;
    let profiles = Arc::new(SqliteProfiles::open(folder.store.clone()).map_err(unkept)?);
    let runtime = tokio::runtime::Runtime::new().map_err(internal)?;
    runtime.block_on(async {
        let safety = folder.safety(policy).await.map_err(unkept)?;
        warn_of_unknown(&safety);
        let sealer = folder.keys.sealer.clone();
        let safe = demonstration::Safe { safety: safety.clone(), sealer, profiles };
        let server = demonstration::server(&args.toolsets, Some(safe))?;
        if args.stdio {
            server.serve_stdio().await.map_err(internal)?;
            return Ok(Exit::Nothing);
        }
        let operator = operator(&safety, &folder).await?;
        let required = !is_loopback(&args.listen);
        let authenticator = Arc::new(Credentialled::new(safety, required));
        let options = HttpOptions { authenticator, ..HttpOptions::default() };
        let bound = server.bind_http(&args.listen, options).await.map_err(|error| {
            let error = anyhow::Error::new(error).context(format!("cannot listen at {}", args.listen));
            Failure::new(Exit::Usage, error).hint("choose another address with --listen, such as 127.0.0.1:0")
        })?;
        let address = bound.address().map_err(internal)?;
        print(&greeting(&server, &format!("http://{address}"), &folder, operator.as_deref()))?;
        bound.serve(stop()).await.map_err(internal)?;
        Ok(Exit::Nothing)
    })
}

fn policy(path: &PathBuf) -> Result<Policy, Failure> {
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

/// The first start makes an operator's credential and leaves its secret in the data folder.
async fn operator(safety: &Safety, folder: &DataFolder) -> Result<Option<PathBuf>, Failure> {
    let path = folder.path().join(OPERATOR_FILE);
    if !safety.credentials().is_empty() {
        return Ok(path.exists().then_some(path));
    }
    let secret = safety.add_credential("operator", true, false).await.map_err(unkept)?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&path).and_then(|mut file| writeln!(file, "{secret}"));
    written.map_err(|error| Failure::new(Exit::Internal, error))?;
    Ok(Some(path))
}

fn greeting(
    server: &toolcrib::Server,
    origin: &str,
    folder: &DataFolder,
    operator: Option<&std::path::Path>,
) -> String {
    let mut text = format!("toolcrib serves at {origin}/mcp\n\n");
    let own = server.list(&toolcrib::Filter::default());
    for entry in own.iter().filter(|entry| entry.meta().is_none() && entry.safety().is_none()) {
        let contract = entry.contract();
        let signature = toolcrib_contract::signature(contract.definition());
        text.push_str(&format!("  {:<12} {signature}\n", crate::show::badge(contract.effect())));
    }
    text.push_str(
        "\ndestructive calls have to be confirmed: get_confirmation_token, or `toolcrib approve list`\n",
    );
    text.push_str(&format!("data:     {}\n", folder.path().display()));
    if let Some(operator) = operator {
        text.push_str(&format!("operator: bearer secret in {}, for {origin}/api/v1/\n", operator.display()));
    }
    text.push_str(&format!(
        "\nconnect a client: claude mcp add --transport http toolcrib {origin}/mcp\nstop with Ctrl-C\n"
    ));
    text
}

async fn stop() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        },
        Err(_) => {
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}
