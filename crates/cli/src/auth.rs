//! `toolcrib auth`: logs in to an upstream server with OAuth in the browser, and keeps the server's tokens (R5.9).

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::anyhow;
use toolcrib_gateway::config::ProcessEnvironment;
use toolcrib_gateway::{Config, Prefixing};
use toolcrib_upstream::oauth::{Grant, forget, login, metadata};
use toolcrib_upstream::spec::Endpoint;
use toolcrib_upstream::{Spec, Transport};

use crate::Outcome;
use crate::add::CONFIG;
use crate::data::Data;
use crate::exit::{Exit, Failure, print};

#[derive(Debug, clap::Args)]
#[command(after_help = "toolcrib auth issues\ntoolcrib auth https://example.org/mcp --no-browser\n\n\
                        A running gateway takes up the new tokens by itself.")]
pub(crate) struct Args {
    /// The name of a server in the file, or its URL.
    #[arg(required_unless_present = "client_metadata")]
    server: Option<String>,
    /// The file that names servers.
    #[arg(long, value_name = "FILE", default_value = CONFIG)]
    config: PathBuf,
    /// Only print the address to open.
    #[arg(long)]
    no_browser: bool,
    /// Log out: forget the tokens that are kept.
    #[arg(long, conflicts_with = "no_browser")]
    forget: bool,
    /// Print the document that says who the gateway is, to be published at URL; `client_metadata_url` names it then.
    #[arg(long, value_name = "URL", conflicts_with_all = ["server", "forget", "no_browser"])]
    client_metadata: Option<String>,
    #[command(flatten)]
    data: Data,
}

pub(crate) fn run(args: &Args) -> Outcome {
    if let Some(url) = &args.client_metadata {
        let document = serde_json::to_string_pretty(&metadata(url));
        print(&format!("{}\n", document.map_err(|error| Failure::new(Exit::Internal, error))?))?;
        return Ok(Exit::Nothing);
    }
    let tokens = args.data.tokens()?;
    let mut spec = spec(args)?;
    spec.keep_tokens_in(&tokens);
    let Transport::Http(endpoint) = &spec.transport else {
        return Err(usage(anyhow!("{:?} is a command: what it needs stands in its env", spec.name)));
    };
    if args.forget {
        let unkept = |error| Failure::new(Exit::Unreachable, anyhow::Error::new(error));
        let was_there = forget(&tokens, &spec.name, &endpoint.url).map_err(unkept)?;
        let said = if was_there { "Logged out." } else { "Nobody was logged in." };
        print(&format!("{said}\n"))?;
        return Ok(Exit::Nothing);
    }
    let Some(oauth) = &endpoint.oauth else {
        return Err(usage(anyhow!("{:?} has a credential in its headers already", spec.name)));
    };
    if oauth.grant == Grant::ClientCredentials {
        return Err(usage(anyhow!("{:?} has client credentials: nobody needs to log in", spec.name)));
    }
    log_in(&spec.name, endpoint, args.no_browser)
}

fn log_in(name: &str, endpoint: &Endpoint, no_browser: bool) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(Exit::Internal, error))?;
    let shown = runtime.block_on(login(name, endpoint, |url| {
        // A closed pipe must not end the login.
        let _ = print(&format!("Open this to log in to {name}:\n\n  {url}\n\n"));
        if !no_browser {
            open(url);
        }
    }));
    let login = shown.map_err(|error| Failure::new(Exit::Unreachable, anyhow::Error::new(error)))?;
    let scopes =
        if login.scopes.is_empty() { String::new() } else { format!(" for {}", login.scopes.join(" ")) };
    let lasts = if login.is_renewable { "renews itself" } else { "has to be repeated when it ends" };
    print(&format!("Logged in to {name} at {}{scopes}; this {lasts}.\n", login.issuer))?;
    Ok(Exit::Nothing)
}

fn usage(error: anyhow::Error) -> Failure {
    Failure::new(Exit::Usage, error)
}

/// Returns the server's specification from the configuration file, or one made from a URL.
fn spec(args: &Args) -> Result<Spec, Failure> {
    let word = args.server.as_deref().unwrap_or_default();
    let is_url = word.starts_with("http://") || word.starts_with("https://");
    if is_url {
        return Ok(Spec::url(word, word));
    }
    let config = Config::load(&args.config, Prefixing::Default, &ProcessEnvironment);
    let config =
        config.map_err(|error| Failure::new(Exit::Usage, error).hint("name another file with --config"))?;
    let names: Vec<&str> = config.sources.iter().map(toolcrib_gateway::Source::name).collect();
    let unknown = || usage(anyhow!("there is no server {word:?} (known: {})", names.join(", ")));
    let found = config.sources.iter().find(|source| source.name() == word);
    found.map(|source| source.spec.clone()).ok_or_else(unknown)
}

/// Opens `url` in the desktop's browser. Failure is ignored, because the address is printed as well.
fn open(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = command.spawn();
}
