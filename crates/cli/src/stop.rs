//! `toolcrib stop` and `toolcrib unlock`: the emergency stop, for every process that uses the data folder.

use anyhow::anyhow;
use serde_json::json;
use toolcrib::engine::safety::keep::Scope;

use crate::Outcome;
use crate::data::{Data, operate, operator, unkept};
use crate::exit::{Exit, Failure};
use crate::form::Form;

#[derive(Debug, clap::Args)]
pub(crate) struct StopArgs {
    /// Why; clients are told.
    #[arg(default_value = "stopped at the command line")]
    reason: String,
    /// Stop only this caller, such as anonymous, local or subject:NAME.
    #[arg(long)]
    caller: Option<String>,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UnlockArgs {
    /// Unlock this caller, as the refusal named it; absent: everybody.
    #[arg(long)]
    caller: Option<String>,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    form: Form,
}

fn scope(caller: Option<&String>) -> Scope {
    caller.map_or(Scope::Everybody, |caller| Scope::Caller(caller.clone()))
}

fn whom(caller: Option<&String>) -> &str {
    caller.map_or("everything", String::as_str)
}

pub(crate) fn stop(args: &StopArgs) -> Outcome {
    let caller = args.caller.as_ref();
    operate(&args.data, async |safety| {
        safety.stop(scope(caller), &operator(), &args.reason).await.map_err(unkept)
    })?;
    let json = json!({"outcome": "stopped", "caller": caller, "reason": args.reason});
    args.form.say(&format!("stopped: {}; `toolcrib unlock` lifts it", whom(caller)), &json)?;
    Ok(Exit::Nothing)
}

pub(crate) fn unlock(args: &UnlockArgs) -> Outcome {
    let caller = args.caller.as_ref();
    let (lifted, left) = operate(&args.data, async |safety| {
        let lifted = safety.unlock(scope(caller), &operator()).await.map_err(unkept)?;
        Ok((lifted, safety.stops().all()))
    })?;
    let names: Vec<&str> = left
        .iter()
        .map(|stop| match &stop.scope {
            Scope::Everybody => "everything",
            Scope::Caller(caller) => caller,
        })
        .collect();
    let still =
        if names.is_empty() { String::new() } else { format!("; still stopped: {}", names.join(", ")) };
    if !lifted {
        let error = match caller {
            None if names.is_empty() => anyhow!("nothing is stopped"),
            _ => anyhow!("{} is not stopped{still}", whom(caller)),
        };
        return Err(Failure::new(Exit::Usage, error));
    }
    let json = json!({"outcome": "unlocked", "caller": caller, "still_stopped": names});
    args.form.say(&format!("unlocked: {}{still}", whom(caller)), &json)?;
    Ok(Exit::Nothing)
}
