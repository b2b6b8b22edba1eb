//! `toolcrib call SERVER/TOOL key=value…`: makes one call through the same stages as a served call.
//!
//! The server stands behind an engine of its own for this call: the arguments are checked against the contract before
//! they are sent, and the answer before it is shown. The call passes the gate, the emergency stop and the audit of the
//! data folder (R12.3). Questions of the gate or the server are asked at the terminal.

pub(crate) mod arguments;
mod person;
mod questionnaire;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use serde_json::Value;
use tokio::runtime::Runtime;
use toolcrib::engine::entry::Entry;
use toolcrib::engine::safety::ticket::ARGUMENT;
use toolcrib::{Asked, LocalClient, Server};
use toolcrib_contract::json::{Document, Limits};
use toolcrib_engine::Demand;
use toolcrib_gateway::{Drift, Gateway, Source};

use crate::call::person::Person;
use crate::data::Data;
use crate::exit::{Exit, Failure, print};
use crate::safe::{self, Safe};
use crate::toolsets::Toolsets;
use crate::{Outcome, demonstration, gateway, origin};

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
    /// Do not ask before a destructive tool. It is no person: where the policy demands one, the call is refused.
    #[arg(long, short)]
    yes: bool,
    /// Only check the arguments.
    #[arg(long)]
    dry_run: bool,
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
    #[command(flatten)]
    origins: origin::Origins,
    /// A file whose section `safety` says which calls have to be confirmed, instead of that of the file of servers.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    #[command(flatten)]
    data: Data,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Content of the result.
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
    let runtime = Runtime::new().map_err(|error| Failure::new(Exit::Internal, error))?;
    if server == "desk" { at_the_desk(args, tool, &runtime) } else { elsewhere(args, server, tool, &runtime) }
}

fn at_the_desk(args: &Args, tool: &str, runtime: &Runtime) -> Outcome {
    let safe = Safe::at_terminal(&args.data, safe::policy(args.policy.as_deref(), None)?, runtime)?;
    runtime.block_on(async {
        let desk = demonstration::Subject::Desk;
        let server = demonstration::server(desk, &Toolsets::default(), Some(&safe))?;
        let called = Called { args, safe: &safe, server: &server, source: None };
        let outcome = called.call(tool).await;
        safe.settle().await;
        outcome
    })
}

fn elsewhere(args: &Args, server: &str, tool: &str, runtime: &Runtime) -> Outcome {
    let target = args.origins.target(server, &args.data)?;
    let policy = safe::policy(args.policy.as_deref(), target.safety.as_ref())?;
    let safe = Safe::at_terminal(&args.data, policy, runtime)?;
    let drift = target.pins.as_ref().map(gateway::pinned).transpose()?;
    runtime.block_on(async {
        // The gate's own tools are left out: the upstream's tools may have their names.
        let builder = safe.apply(Server::builder("toolcrib", env!("CARGO_PKG_VERSION")));
        let builder = builder.options(|options| options.offers_safety_tools = false);
        let front = builder.build().map_err(|error| Failure::new(Exit::Internal, error))?;
        let source = target.source;
        let gateway = behind(&front, source.clone(), drift, args.origins.patience()).await?;
        let called = Called { args, safe: &safe, server: &front, source: Some((&source, &gateway)) };
        let outcome = called.call(tool).await;
        gateway.stop().await;
        safe.settle().await;
        outcome
    })
}

/// Puts one server behind an engine and waits until the server's tools are listed.
pub(crate) async fn behind(
    front: &Server,
    source: Source,
    drift: Option<Drift>,
    patience: Duration,
) -> Result<Arc<Gateway>, Failure> {
    let internal = |error: anyhow::Error| Failure::new(Exit::Internal, error);
    let gateway = Gateway::start_pinned(front.engine().clone(), vec![source], drift)
        .map_err(|error| internal(error.into()))?;
    gateway.settled(patience).await;
    let status = gateway.status().into_iter().next();
    match status {
        Some(status) if status.state == "ready" => Ok(gateway),
        other => {
            gateway.stop().await;
            let (name, reason) = other.map(|status| (status.name, status.reason)).unwrap_or_default();
            let reason = reason.unwrap_or_else(|| format!("no answer within {} s", patience.as_secs()));
            Err(Failure::new(Exit::Unreachable, anyhow!("{name}: {reason}")))
        }
    }
}

/// A call in preparation, with the engine that runs it.
struct Called<'a> {
    args: &'a Args,
    safe: &'a Safe,
    server: &'a Server,
    /// The server that has the tool; `None` for the demonstration, which runs in this process.
    source: Option<(&'a Source, &'a Gateway)>,
}

impl Called<'_> {
    async fn call(&self, tool: &str) -> Outcome {
        let usage = |error: anyhow::Error| Failure::new(Exit::Usage, error);
        let args = self.args;
        let entry = self.entry(tool)?;
        let contract = entry.contract();
        let mut given =
            arguments::read(contract.definition(), args.args.as_deref(), &args.pairs).map_err(usage)?;
        let token = take_token(&entry, &mut given);
        let text = given.to_string();
        let document =
            Document::parse(text.as_bytes(), &Limits::message()).map_err(|error| usage(error.into()))?;
        if let Err(violations) = contract.check_input(document.root()) {
            let signature = toolcrib_contract::signature(contract.definition());
            let signature = signature.split(" → ").next().unwrap_or(&signature);
            let error = anyhow!("the arguments break the contract of {signature}\n{}", violations.list());
            return Err(usage(error));
        }
        if args.dry_run {
            print("the arguments keep the contract; nothing was called\n")?;
            return Ok(Exit::Nothing);
        }
        if entry.judged().effect.destructive {
            self.safe.verify_audit().await;
        }
        let needs_person = args.yes && entry.judged().demand == Demand::Human && token.is_none();
        let token = match token {
            None if args.yes && !needs_person => self.safe.agreed(&entry, document.root()).await?,
            token => token,
        };
        if let (Some(token), Some(members)) = (token, given.as_object_mut()) {
            members.insert(ARGUMENT.to_owned(), token.into());
        }
        let mut person = Person::at_terminal();
        let capabilities = if needs_person { Default::default() } else { person.capabilities(args.yes) };
        let client = LocalClient { name: Some("toolcrib call".to_owned()), capabilities };
        let asking = self.server.call_asking(&client, entry.name(), given, async |asked: Asked<'_>| {
            tokio::task::block_in_place(|| person.answer(asked))
        });
        let result = asking.await.map_err(|error| Failure::new(Exit::Unreachable, error))?;
        self.told(&entry, &result, &person, needs_person)
    }

    /// Returns the tool's entry, looked up by its served name.
    fn entry(&self, tool: &str) -> Result<Arc<Entry>, Failure> {
        let served = self.source.map_or_else(|| tool.to_owned(), |(source, _)| source.served_name(tool));
        if let Some(entry) = self.server.get(&served) {
            return Ok(entry);
        }
        let usage = |error: anyhow::Error| Failure::new(Exit::Usage, error);
        let all = self.source.into_iter().flat_map(|(_, gateway)| gateway.status());
        let aside = all.flat_map(|status| status.quarantined).find(|one| one.tool == tool);
        if let Some(aside) = aside {
            return Err(usage(anyhow!("{tool} is not served: {}", aside.reason)));
        }
        let names: Vec<String> = self
            .server
            .list(&toolcrib::Filter::default())
            .iter()
            .map(|entry| {
                self.source.map_or(entry.name(), |(source, _)| source.own_name(entry.name())).to_owned()
            })
            .collect();
        let hint = crate::suggestion::hint(tool, names.iter().map(String::as_str));
        Err(usage(anyhow!("there is no tool {tool:?}")).hint(hint))
    }

    /// Prints the result and returns the exit code.
    fn told(&self, entry: &Entry, result: &Value, person: &Person, needs_person: bool) -> Outcome {
        if person.was_missing {
            let error = anyhow!("there is no terminal to ask at");
            let hint = match entry.judged().demand {
                Demand::Human => "the policy demands a person, who confirms the call at a terminal",
                _ => "agree beforehand with --yes, or check with --dry-run",
            };
            return Err(Failure::new(Exit::Usage, error).hint(hint));
        }
        if person.declined && self.args.format == Format::Terminal {
            print("nothing was called\n")?;
            return Ok(Exit::Nothing);
        }
        print(&match self.args.format {
            Format::Json => result.to_string(),
            Format::Terminal => spoken(result),
        })?;
        if needs_person {
            let handle = result.pointer("/_meta/toolcrib~1confirmation/handle").and_then(Value::as_str);
            let then = handle.map(|handle| {
                let command = self.safe.command(&format!("approve allow {handle}"));
                format!(
                    ", or a person allows it with `{command}` and it is called again with {ARGUMENT}={handle}"
                )
            });
            eprintln!(
                "  hint: --yes is no person, and the policy demands one ({}): confirm the call at a terminal without \
                 --yes{}",
                entry.judged().rule,
                then.unwrap_or_default()
            );
        }
        let failed = result.get("isError") == Some(&Value::Bool(true));
        Ok(if failed && !person.declined { Exit::Findings } else { Exit::Nothing })
    }
}

/// Removes the confirmation token or approval handle from the arguments, unless the tool has an argument of that name.
fn take_token(entry: &Entry, given: &mut Value) -> Option<String> {
    let schema = entry.contract().definition().input_schema();
    let owns = schema.and_then(|schema| schema.get("properties")?.get(ARGUMENT)).is_some();
    let members = given.as_object_mut().filter(|_| !owns)?;
    match members.remove(ARGUMENT)? {
        Value::String(token) => Some(token),
        other => Some(other.to_string()),
    }
}

/// Formats the structured content, else the text blocks. Control characters in texts are escaped, so that a server
/// cannot steer the terminal.
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
