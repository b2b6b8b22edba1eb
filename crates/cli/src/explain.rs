//! `toolcrib explain TOOL --as CLIENT`: says why a client sees a tool and can call it, or why not (R8.4).
//!
//! Serves nothing and calls no tool. The tools come from a configuration (its servers are started and asked), from a
//! file of definitions, or from the demonstration. They are judged by the code and the policy that `serve` uses.

mod report;
mod subject;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use toolcrib::Principal;
use toolcrib::engine::stage::caller;
use toolcrib::engine::{Approach, Caller, Names, Selection};
use toolcrib::protocol::{ClientCapabilities, Era};

use crate::Outcome;
use crate::data::Data;
use crate::exit::{Exit, Failure, print};
use crate::form::{Form, Format};
use crate::gateway::Prefix;
use crate::toolsets::Toolsets;
use report::KeepsOut as _;
use subject::Subject;

#[derive(Debug, clap::Args)]
#[command(after_help = "toolcrib explain desk/transfer_cash --as codex\n\
                        toolcrib explain files/write_file --as claude-code --config toolcrib.toml\n\
                        The tools are those of --config, else of toolcrib.toml where there is one, else the desk's.")]
pub(crate) struct Args {
    /// The tool: as it is served, as SERVER/TOOL, or as its server calls it; desk/TOOL is the demonstration's.
    tool: String,
    /// The name by which the client introduces itself, such as claude-code.
    #[arg(long = "as", value_name = "CLIENT", default_value = "")]
    client: String,
    /// The servers to stand in front of, as for `serve`: they are started and asked for their tools.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    config: Option<PathBuf>,
    /// Definitions to explain instead.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Whether tools carry their server's name [default: always].
    #[arg(long, value_enum)]
    prefix: Option<Prefix>,
    /// How long the servers may take to answer, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    patience: u64,
    /// A file whose section `safety` says which calls have to be confirmed, instead of that of the configuration.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    #[command(flatten)]
    form: Form,
    #[command(flatten)]
    supposed: Supposed,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    toolsets: Toolsets,
}

/// Assumed properties of the client.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The client")]
struct Supposed {
    /// The client speaks MCP 2026-07-28, where calls do not change lists.
    #[arg(long)]
    modern: bool,
    /// The client starts toolcrib as a command, instead of coming over HTTP.
    #[arg(long, conflicts_with = "subject")]
    stdio: bool,
    /// The client declares elicitation: its person can be asked through it.
    #[arg(long)]
    elicitation: bool,
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
}

impl Supposed {
    fn principal(&self) -> Principal {
        match &self.subject {
            Some(subject) => Principal::subject(subject),
            None if self.stdio => Principal::Local,
            None => Principal::Anonymous,
        }
    }

    fn selection(&self) -> Selection {
        let toolsets = self.request_toolsets.as_deref().map(Names::parse);
        Selection { toolsets, read_only: self.request_read_only }
    }

    fn caller<'a>(&self, client: &str) -> Caller<'a> {
        let era = if self.modern { Era::Modern } else { Era::Legacy };
        let approach =
            Approach { selection: self.selection(), user_agent: self.user_agent.as_deref().map(Into::into) };
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation_form = self.elicitation;
        caller::supposed(client, era, capabilities, self.principal(), Arc::new(approach))
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| Failure::new(Exit::Internal, error))?;
    let subject = Subject::open(args, &runtime)?;
    let told = told(args, &subject);
    runtime.block_on(subject.close());
    print(&told?)?;
    Ok(Exit::Nothing)
}

fn told(args: &Args, subject: &Subject) -> Result<String, Failure> {
    let usage = |error| Failure::new(Exit::Usage, error);
    let engine = subject.server.engine();
    let (principal, selection) = (args.supposed.principal(), args.supposed.selection());
    engine.check_selection(&principal, &selection).map_err(|error| usage(error.into()))?;
    let caller = args.supposed.caller(&args.client);
    let account = subject.account(&args.tool)?;
    let own = args.tool.strip_prefix(subject::DESK).filter(|_| account.is_none()).unwrap_or(&args.tool);
    let served = account.as_ref().map_or(own, |account| &account.source.served_as);
    let explanation = engine.explain(&caller, served).filter(|_| {
        // Another server's tool may have the served name that this tool would have.
        account.as_ref().is_none_or(|account| account.keeps_out().is_none())
    });
    let report = match (explanation, account) {
        (Some(explanation), account) => report::Report::served(explanation, account, &subject.place),
        (None, Some(account)) => report::Report::kept_out(account, engine.client_mode(&caller)),
        (None, None) => {
            return Err(usage(anyhow!("there is no tool {:?}", args.tool)).hint(subject.hint(own)));
        }
    };
    Ok(match args.form.format() {
        Format::Terminal => report.to_string(),
        Format::Json => report.as_json().to_string(),
    })
}
