//! The tools that `explain` looks at: a configuration's, a file's, or the demonstration's.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use tokio::runtime::Runtime;
use toolcrib::engine::tool::{BoxFuture, Invocation};
use toolcrib::engine::{Answer, Tool};
use toolcrib::{Server, ServerBuilder, ToolError};
use toolcrib_gateway::{Account, Config, Gateway};

use super::Args;
use crate::add::CONFIG;
use crate::exit::{Exit, Failure};
use crate::safe::{self, Safe};
use crate::toolsets::check;
use crate::{demonstration, gateway, serve, source};

/// Prefix of the names of the demonstration's tools, as in `call`.
pub(super) const DESK: &str = "desk/";

pub(super) struct Subject {
    pub(super) server: Server,
    /// Source of the tools that have no gateway account.
    pub(super) place: String,
    gateway: Option<Arc<Gateway>>,
    /// Tools of a file that cannot be served, with their reasons.
    refused: Vec<(String, String)>,
}

impl Subject {
    pub(super) fn open(args: &Args, runtime: &Runtime) -> Result<Self, Failure> {
        let usual = Path::new(CONFIG);
        let is_desk = args.tool.starts_with(DESK);
        let configuration = match (&args.file, &args.config) {
            (Some(_), _) => None,
            (None, Some(config)) => Some(config.as_path()),
            (None, None) => Some(usual).filter(|usual| usual.exists() && !is_desk),
        };
        let config = configuration.map(|file| config(args, file)).transpose()?;
        let section = config.as_ref().and_then(|config| config.safety.as_ref());
        let safe = Safe::look(&args.data, safe::policy(args.policy.as_deref(), section)?, runtime)?;
        match (&args.file, configuration.zip(config)) {
            (Some(file), _) => stocked(args, &safe, file),
            (None, Some((file, config))) => runtime.block_on(configured(args, &safe, file, config)),
            (None, None) => {
                let server =
                    demonstration::server(demonstration::Subject::Desk, &args.toolsets, Some(&safe))?;
                Ok(Self { server, place: "built in: desk".to_owned(), gateway: None, refused: Vec::new() })
            }
        }
    }

    /// Returns the gateway's account of a tool. `None` if there is no gateway, or the tool is the gateway's own.
    pub(super) fn account(&self, tool: &str) -> Result<Option<Account>, Failure> {
        if let Some((_, reason)) = self.refused.iter().find(|(name, _)| name == tool) {
            let error = anyhow!("{tool} of {} cannot be served: {reason}", self.place);
            return Err(Failure::new(Exit::Usage, error));
        }
        let mut found = self.gateway.as_ref().map(|gateway| gateway.accounts(tool)).unwrap_or_default();
        match (found.pop(), found.is_empty()) {
            (Some(one), true) => Ok(Some(one)),
            (None, _) => Ok(None),
            (Some(last), false) => {
                let all = found.iter().chain([&last]);
                let names: Vec<String> =
                    all.map(|one| format!("{}/{}", one.source.server, one.source.own_name)).collect();
                let error = anyhow!("several servers have a tool {tool:?}: {}", names.join(", "));
                Err(Failure::new(Exit::Usage, error).hint("say which, as SERVER/TOOL"))
            }
        }
    }

    /// Returns a hint for an unknown tool: servers that did not answer, else the nearest names.
    pub(super) fn hint(&self, wanted: &str) -> String {
        let servers = self.gateway.iter().flat_map(|gateway| gateway.status());
        let silent: Vec<String> = servers
            .filter(|server| server.state != "ready")
            .map(|server| format!("{} ({})", server.name, server.reason.as_deref().unwrap_or(server.state)))
            .collect();
        if !silent.is_empty() {
            return format!("these servers did not answer: {}", silent.join(", "));
        }
        let names: Vec<String> = self
            .server
            .list(&toolcrib::Filter::default())
            .iter()
            .filter(|entry| entry.meta().is_none() && entry.safety().is_none())
            .map(|entry| entry.name().to_owned())
            .collect();
        crate::suggestion::hint(wanted, names.iter().map(String::as_str))
    }

    pub(super) async fn close(self) {
        if let Some(gateway) = self.gateway {
            gateway.stop().await;
        }
    }
}

/// Reads a configuration as `serve` does.
fn config(args: &Args, file: &Path) -> Result<Config, Failure> {
    let (config, data) = (Some(file.to_owned()), args.data.clone());
    gateway::config(&serve::Args { config, prefix: args.prefix, data, ..serve::Args::default() })
}

async fn configured(args: &Args, safe: &Safe, file: &Path, config: Config) -> Result<Subject, Failure> {
    let usage = |error: anyhow::Error| Failure::new(Exit::Usage, error);
    let server = gateway::front(&config, &args.toolsets, |builder| safe.apply(builder))?;
    let drift = config.pins.as_ref().map(gateway::pinned).transpose()?;
    let gateway = Gateway::start_pinned(server.engine().clone(), config.sources, drift)
        .map_err(|error| usage(error.into()))?;
    gateway.settled(Duration::from_secs(args.patience)).await;
    Ok(Subject {
        server,
        place: format!("toolcrib itself, in front of {}", file.display()),
        gateway: Some(gateway),
        refused: Vec::new(),
    })
}

/// Builds a server with the tools of a file, which are never called. A tool that cannot be served does not affect the
/// others.
fn stocked(args: &Args, safe: &Safe, file: &Path) -> Result<Subject, Failure> {
    let usage = |error| Failure::new(Exit::Usage, error);
    let builder: ServerBuilder = safe.apply(Server::builder("explained", env!("CARGO_PKG_VERSION")));
    let server = args.toolsets.apply(builder)?.build().map_err(|error| usage(anyhow!(error)))?;
    let (mut entries, mut refused) = (Vec::new(), Vec::new());
    for definition in source::definitions(file)? {
        let name = definition.name().to_owned();
        match server.engine().registry().prepare(definition, None, None, Arc::new(Absent)) {
            Ok(entry) => entries.push(Arc::new(entry)),
            Err(error) => refused.push((name, error.to_string())),
        }
    }
    server.engine().registry().replace_tools(&[], entries).map_err(|error| usage(anyhow!(error)))?;
    check(&server)?;
    Ok(Subject { server, place: file.display().to_string(), gateway: None, refused })
}

/// Tool implementation that always fails; `explain` never calls it.
#[derive(Debug)]
struct Absent;

impl Tool for Absent {
    fn call<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async { Err(ToolError::new("Nothing is called here.")) })
    }
}
