//! `toolcrib explain TOOL --as CLIENT`: why a client sees a tool and can call it, or why not.
//!
//! Nothing is served or called: the catalogue is the demonstration's, or that of a file.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use toolcrib::engine::registry::Offer;
use toolcrib::engine::stage::caller;
use toolcrib::engine::tool::{BoxFuture, Invocation};
use toolcrib::engine::{Answer, Approach, Names, Selection, Tool};
use toolcrib::protocol::Era;
use toolcrib::{Principal, Server, ToolError};

use crate::exit::{Exit, Failure, print};
use crate::toolsets::{Toolsets, check};
use crate::{Outcome, demonstration, source};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The tool's name.
    tool: String,
    /// The name by which the client introduces itself, such as claude-code.
    #[arg(long = "as", value_name = "CLIENT", default_value = "")]
    client: String,
    /// Definitions to explain instead of the demonstration tools.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The client speaks MCP 2026-07-28, where calls do not change lists.
    #[arg(long)]
    modern: bool,
    /// The client has a credential of this subject.
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
    /// The client's request chooses these toolsets, by ?toolsets= or X-MCP-Toolsets.
    #[arg(long, value_name = "NAMES")]
    request_toolsets: Option<String>,
    /// The client's request chooses /readonly or X-MCP-Readonly.
    #[arg(long)]
    request_read_only: bool,
    /// The client's user agent.
    #[arg(long, value_name = "TEXT")]
    user_agent: Option<String>,
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    toolsets: Toolsets,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let usage = |error| Failure::new(Exit::Usage, error);
    let server = match &args.file {
        None => demonstration::server(demonstration::Subject::Desk, &args.toolsets, None)?,
        Some(file) => stocked(args, file)?,
    };
    let engine = server.engine();
    let toolsets = args.request_toolsets.as_deref().map(Names::parse);
    let selection = Selection { toolsets, read_only: args.request_read_only };
    let principal = args.subject.as_deref().map_or(Principal::Local, Principal::subject);
    engine.check_selection(&principal, &selection).map_err(|error| usage(error.into()))?;
    let era = if args.modern { Era::Modern } else { Era::Legacy };
    let approach = Approach { selection, user_agent: args.user_agent.as_deref().map(Into::into) };
    let caller = caller::supposed(&args.client, era, principal, Arc::new(approach));
    let explanation = engine
        .explain(&caller, &args.tool)
        .ok_or_else(|| usage(anyhow!("there is no tool {:?}", args.tool)))?;
    print(&match args.format {
        Format::Text => explanation.to_string(),
        Format::Json => explanation.as_json().to_string(),
    })?;
    Ok(Exit::Nothing)
}

/// A server with the tools of a file, which are never called.
fn stocked(args: &Args, file: &std::path::Path) -> Result<Server, Failure> {
    let usage = |error| Failure::new(Exit::Usage, error);
    let builder = Server::builder("explained", env!("CARGO_PKG_VERSION"));
    let server = args.toolsets.apply(builder)?.build().map_err(|error| usage(anyhow!(error)))?;
    let offers = source::definitions(file)?.into_iter().map(|definition| Offer {
        definition,
        toolset: None,
        server: None,
        tool: Arc::new(Absent),
    });
    server.engine().registry().register_all(offers.collect()).map_err(|error| usage(anyhow!(error)))?;
    check(&server)?;
    Ok(server)
}

/// What stands behind a tool that is only looked at.
#[derive(Debug)]
struct Absent;

impl Tool for Absent {
    fn call<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async { Err(ToolError::new("Nothing is called here.")) })
    }
}
