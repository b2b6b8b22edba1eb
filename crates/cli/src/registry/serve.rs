//! `toolcrib registry serve`: serves the catalogue over HTTP, on loopback only (R6.7).

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use toolcrib_contract::json::{Document, Limits, Node};
use toolcrib_registry::api::{Api, Options, Publisher, Request};
use toolcrib_server::Expected;
use toolcrib_server::RequestHead;
use toolcrib_server::plain::{Answers, PlainListener, PlainResponse};

use super::budget::target;
use crate::Outcome;
use crate::catalogue::Place;
use crate::convert::read;
use crate::exit::{Exit, Failure, print};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to listen. Only loopback: put a proxy in front for anything else.
    #[arg(long, default_value = "127.0.0.1:7421")]
    listen: String,
    /// File of those who may publish: {"publishers":[{"token_env":"VARIABLE","names":["io.github.acme/*"]}]}.
    #[arg(long)]
    publishers: Option<PathBuf>,
    /// Whose budget published extensions keep: official, toolhive, or a file.
    #[arg(long, default_value = "toolhive")]
    target: String,
    /// Breaking changes need no version that says so.
    #[arg(long)]
    no_gate: bool,
    #[command(flatten)]
    place: Place,
}

struct Mounted(Api);

impl Answers for Mounted {
    fn answer(&self, head: RequestHead) -> Pin<Box<dyn Future<Output = PlainResponse> + Send + '_>> {
        let header = |name: &str| head.get(name).map(str::to_owned);
        let own = Request {
            method: head.method().as_str().to_owned(),
            path: head.path().to_owned(),
            query: head.query().unwrap_or_default().to_owned(),
            if_none_match: header("if-none-match"),
            authorization: header("authorization"),
            body: head.body().to_vec(),
        };
        Box::pin(async move {
            let answer = self.0.answer(own).await;
            PlainResponse { status: answer.status, headers: answer.headers, body: answer.body }
        })
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut options = Options::default();
    options.target = target(&args.target)?;
    options.gate = !args.no_gate;
    if let Some(path) = &args.publishers {
        options.publishers = publishers(path)?;
    }
    let api = Api::new(args.place.open()?, options);
    let runtime = tokio::runtime::Runtime::new().map_err(|error| Failure::new(Exit::Internal, error))?;
    runtime.block_on(async {
        let unusable = |error| Failure::new(Exit::Usage, error);
        let bound = PlainListener::bind(Arc::new(Mounted(api)), Expected::loopback(), &args.listen);
        let listener =
            bound.await.with_context(|| format!("cannot listen at {}", args.listen)).map_err(|error| {
                unusable(error).hint("choose another address with --listen, such as 127.0.0.1:0")
            })?;
        let address = listener.address().map_err(|error| unusable(error.into()))?;
        if !address.ip().is_loopback() {
            return Err(unusable(anyhow!("{address} is no loopback address"))
                .hint("listen at 127.0.0.1 and put a proxy in front"));
        }
        let stop = crate::serve::stop();
        print(&format!("toolcrib's registry serves at http://{address}/v0.1/servers\n"))?;
        listener.serve(stop).await.map_err(|error| Failure::new(Exit::Internal, error))?;
        Ok(Exit::Nothing)
    })
}

/// Reads the publishers. Tokens come from the environment, so that the file holds no secret.
fn publishers(path: &Path) -> Result<Vec<Publisher>, Failure> {
    let bytes = read(path)?;
    let usage = |error: anyhow::Error| Failure::new(Exit::Usage, error);
    let document = Document::parse(&bytes, &Limits::file())
        .with_context(|| path.display().to_string())
        .map_err(usage)?;
    let list = document.root().get("publishers").filter(|list| list.is_array());
    let list = list.ok_or_else(|| usage(anyhow!("{}: /publishers is an array", path.display())))?;
    let mut found = Vec::new();
    for (index, node) in list.elements().enumerate() {
        let place = format!("{}: /publishers/{index}", path.display());
        let variable = node
            .get("token_env")
            .and_then(Node::as_str)
            .ok_or_else(|| usage(anyhow!("{place}/token_env is missing")))?;
        let token = std::env::var(&*variable).ok().filter(|token| token.len() >= 16);
        let token = token.ok_or_else(|| {
            usage(anyhow!("{place}: the variable {variable} holds no token of 16 characters or more"))
        })?;
        let names: Vec<String> = node
            .get("names")
            .into_iter()
            .flat_map(Node::elements)
            .filter_map(|name| Some(name.as_str()?.into_owned()))
            .collect();
        if names.is_empty() {
            return Err(usage(anyhow!("{place}/names is empty")));
        }
        found.push(Publisher::new(&token, names));
    }
    Ok(found)
}
