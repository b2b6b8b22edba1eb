//! `toolcrib approve list|allow|deny`: shows and decides the calls that wait for a person's approval.

use std::fmt::Write as _;

use anyhow::anyhow;
use serde_json::{Value, json};
use toolcrib::engine::safety::keep::Decided;
use toolcrib::engine::safety::shown;
use toolcrib::engine::safety::ticket::Approval;
use toolcrib_contract::text::one_line;

use crate::Outcome;
use crate::data::{Data, operate, operator, unkept};
use crate::exit::{Exit, Failure, print};
use crate::form::{Form, Format};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Show the calls that wait, with every argument.
    List {
        #[command(flatten)]
        data: Data,
        #[command(flatten)]
        form: Form,
    },
    /// Let a waiting call run, once, as shown.
    Allow {
        id: String,
        #[command(flatten)]
        data: Data,
        #[command(flatten)]
        form: Form,
    },
    /// Refuse a waiting call.
    Deny {
        id: String,
        #[command(flatten)]
        data: Data,
        #[command(flatten)]
        form: Form,
    },
}

pub(crate) fn run(args: &Args) -> Outcome {
    match &args.what {
        What::List { data, form } => list(data, *form),
        What::Allow { id, data, form } => decide(data, id, true, *form),
        What::Deny { id, data, form } => decide(data, id, false, *form),
    }
}

fn list(data: &Data, form: Form) -> Outcome {
    let (waiting, now_ms) = operate(data, async |safety| {
        let now_ms = safety.now_ms();
        Ok((safety.store().approvals(now_ms).await.map_err(unkept)?, now_ms))
    })?;
    print(&match form.format() {
        Format::Json => {
            let approvals: Vec<Value> = waiting.approvals.iter().map(json_of).collect();
            json!({"approvals": approvals, "more": waiting.more}).to_string()
        }
        Format::Terminal if waiting.approvals.is_empty() => "nothing waits".to_owned(),
        Format::Terminal => {
            let mut texts: Vec<String> =
                waiting.approvals.iter().map(|approval| text(approval, now_ms)).collect();
            if waiting.more > 0 {
                texts.push(format!("{} more wait; decide these to see them", waiting.more));
            }
            texts.join("\n")
        }
    })?;
    Ok(Exit::Nothing)
}

fn text(approval: &Approval, now_ms: u64) -> String {
    let binding = &approval.binding;
    let mut out = format!("{}  {}\n", approval.id, one_line(&binding.tool));
    let client = approval.client.as_deref().map(|client| format!(", calls itself {}", one_line(client)));
    let _ = writeln!(out, "  from      {}{}", one_line(&binding.caller), client.unwrap_or_default());
    let _ = writeln!(out, "  contract  {}", binding.contract);
    let left = approval.expires_ms.saturating_sub(now_ms) / 1_000;
    let _ = writeln!(out, "  expires   in {left} s");
    for line in shown::arguments(&approval.arguments).lines() {
        let _ = writeln!(out, "  | {line}");
    }
    out
}

fn json_of(approval: &Approval) -> Value {
    let binding = &approval.binding;
    json!({"id": approval.id, "caller": binding.caller, "client": approval.client, "action": binding.tool,
        "contract": binding.contract.to_string(), "arguments_digest": binding.arguments.to_string(),
        "arguments": serde_json::from_str::<Value>(&approval.arguments).unwrap_or_default(),
        "created_ms": approval.created_ms, "expires_ms": approval.expires_ms})
}

fn decide(data: &Data, id: &str, allow: bool, form: Form) -> Outcome {
    let decided = operate(data, async |safety| safety.decide(id, allow, &operator()).await.map_err(unkept))?;
    let waiting = || format!("`{}` shows what waits", data.command("approve list"));
    match decided {
        Decided::Done(approval) => {
            let word = if allow { "allowed" } else { "denied" };
            let tool = one_line(&approval.binding.tool);
            let json = json!({"outcome": word, "id": approval.id, "tool": approval.binding.tool});
            form.say(&format!("{word}: {} {tool}", approval.id), &json)?;
            Ok(Exit::Nothing)
        }
        Decided::Unknown => {
            let error = anyhow!("there is no approval {id:?}");
            Err(Failure::new(Exit::Usage, error).hint(waiting()))
        }
        Decided::Over(approval) => {
            let error = anyhow!("{} is not waiting any more: {:?}, or expired", approval.id, approval.state);
            Err(Failure::new(Exit::Usage, error).hint(waiting()))
        }
    }
}
