//! `toolcrib call SERVER/TOOL key=value…`: one call, through the same stages as any other.
//!
//! The server stands behind an engine of its own for the time of the call, so that its arguments are checked by the
//! contract before anything leaves, and its answer before it is shown. A destructive tool is asked about first.

pub(crate) mod arguments;

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use serde_json::Value;
use toolcrib::Server;
use toolcrib_contract::json::{Document, Limits};
use toolcrib_gateway::{Gateway, Source};
use toolcrib_upstream::Spec;

use crate::exit::{Exit, Failure, print};
use crate::terminal::confirmed;
use crate::toolsets::Toolsets;
use crate::{Outcome, demonstration, origin};

#[derive(Debug, clap::Args)]
#[command(after_help = "toolcrib call desk/get_expectancy account=pro\n\
                        toolcrib call http://127.0.0.1:7420/mcp/get_quote symbol=ACME\n\
                        Texts may stand as they are; `key:=JSON` is JSON whatever the schema says.")]
pub(crate) struct Args {
    /// The tool, behind the server that has it: a name in toolcrib.toml, a URL, or desk, the demonstration.
    #[arg(value_name = "SERVER/TOOL")]
    tool: String,
    /// Arguments as key=value, read by the tool's schema.
    #[arg(conflicts_with = "args", value_name = "KEY=VALUE")]
    pairs: Vec<String>,
    /// All arguments as one JSON object.
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    /// Do not ask before a destructive tool.
    #[arg(long, short)]
    yes: bool,
    /// Only check the arguments.
    #[arg(long)]
    dry_run: bool,
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
    #[command(flatten)]
    origins: origin::Origins,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// What the tool says.
    #[value(alias = "text")]
    Terminal,
    /// The whole result, as MCP has it.
    Json,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let wrong = || {
        let error = anyhow!("{:?} names no tool of a server", args.tool);
        Failure::new(Exit::Usage, error).hint("write SERVER/TOOL, such as desk/get_quote")
    };
    let (server, tool) = args
        .tool
        .rsplit_once('/')
        .filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
        .ok_or_else(wrong)?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| Failure::new(Exit::Internal, error))?;
    runtime.block_on(async {
        if server == "desk" {
            return call(
                args,
                &demonstration::server(demonstration::Subject::Desk, &Toolsets::default(), None)?,
                tool,
            )
            .await;
        }
        let spec = args.origins.spec(server)?;
        let (server, gateway) = behind(spec, args.origins.patience()).await?;
        let outcome = call(args, &server, tool).await;
        gateway.stop().await;
        outcome
    })
}

/// A server behind an engine of its own.
pub(crate) async fn behind(spec: Spec, patience: Duration) -> Result<(Server, Arc<Gateway>), Failure> {
    let internal = |error: anyhow::Error| Failure::new(Exit::Internal, error);
    let server =
        Server::new("toolcrib", env!("CARGO_PKG_VERSION")).map_err(|error| internal(error.into()))?;
    let sources = vec![Source::new(spec, false)];
    let gateway = Gateway::start(server.engine().clone(), sources).map_err(|error| internal(error.into()))?;
    gateway.settled(patience).await;
    let status = gateway.status().into_iter().next();
    match status {
        Some(status) if status.state == "ready" => Ok((server, gateway)),
        other => {
            gateway.stop().await;
            let (name, reason) = other.map(|status| (status.name, status.reason)).unwrap_or_default();
            let reason = reason.unwrap_or_else(|| format!("no answer within {} s", patience.as_secs()));
            Err(Failure::new(Exit::Unreachable, anyhow!("{name}: {reason}")))
        }
    }
}

async fn call(args: &Args, server: &Server, tool: &str) -> Outcome {
    let usage = |error: anyhow::Error| Failure::new(Exit::Usage, error);
    let Some(entry) = server.get(tool) else {
        let names: Vec<String> =
            server.list(&toolcrib::Filter::default()).iter().map(|entry| entry.name().to_owned()).collect();
        let hint = crate::suggestion::hint(tool, names.iter().map(String::as_str));
        return Err(usage(anyhow!("there is no tool {tool:?}")).hint(hint));
    };
    let contract = entry.contract();
    let given = arguments::read(contract.definition(), args.args.as_deref(), &args.pairs).map_err(usage)?;
    let text = given.to_string();
    let document =
        Document::parse(text.as_bytes(), &Limits::message()).map_err(|error| usage(error.into()))?;
    if let Err(violations) = contract.check_input(document.root()) {
        let signature = toolcrib_contract::signature(contract.definition());
        let signature = signature.split(" → ").next().unwrap_or(&signature);
        return Err(usage(anyhow!("the arguments break the contract of {signature}\n{}", violations.list())));
    }
    if args.dry_run {
        print("the arguments keep the contract; nothing was called\n")?;
        return Ok(Exit::Nothing);
    }
    if contract.effect().destructive && !args.yes {
        let question = format!("{tool} is destructive. Call it with {text}?");
        if !confirmed(&question, "agree beforehand with --yes, or check with --dry-run")? {
            print("nothing was called\n")?;
            return Ok(Exit::Nothing);
        }
    }
    let result = server.call(tool, given).await.map_err(|error| Failure::new(Exit::Unreachable, error))?;
    print(&match args.format {
        Format::Json => result.to_string(),
        Format::Terminal => spoken(&result),
    })?;
    Ok(if result.get("isError") == Some(&Value::Bool(true)) { Exit::Findings } else { Exit::Nothing })
}

/// Structured content, laid out; else the texts. What a server sends cannot steer the terminal.
fn spoken(result: &Value) -> String {
    if let Some(content) = result.get("structuredContent") {
        return serde_json::to_string_pretty(content).unwrap_or_default();
    }
    let blocks = result.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts = blocks.map(|block| match block.get("text").and_then(Value::as_str) {
        Some(text) => text.lines().map(toolcrib_contract::text::escaped).collect::<Vec<_>>().join("\n"),
        None => block.to_string(),
    });
    texts.collect::<Vec<_>>().join("\n")
}
