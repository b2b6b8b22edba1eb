//! `toolcrib stop` and `toolcrib unlock`: set and lift the emergency stop of every process on the data folder (R4.7).
//!
//! `stop` returns when every process has put the stop in force. Otherwise it names those that did not, with exit code 3
//! (R12.5).

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
    /// Stop only this caller: subject:NAME, local, anonymous (all), anonymous@ADDRESS or anonymous/SESSION.
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
    Scope::named(caller.map_or("", String::as_str))
}

/// Returns the name of a stopped caller in words, with the key that unlocks it.
fn whom(scope: &Scope) -> String {
    match scope {
        Scope::Everybody => "everything".to_owned(),
        Scope::Caller(key) => format!("{} ({key})", scope.words()),
    }
}

fn key(scope: &Scope) -> &str {
    match scope {
        Scope::Everybody => "everything",
        Scope::Caller(key) => key,
    }
}

pub(crate) fn stop(args: &StopArgs) -> Outcome {
    let caller = args.caller.as_ref();
    let scope = Scope::parse(caller.map_or("", String::as_str)).ok_or_else(|| {
        let name = caller.map_or("", String::as_str);
        let error = anyhow!("{name:?} names no caller, so that the stop would stop nobody");
        Failure::new(Exit::Usage, error).hint(format!(
            "a credential is subject:{name}; others are local, anonymous, anonymous@ADDRESS, anonymous/SESSION"
        ))
    })?;
    let held = operate(&args.data, async |safety| {
        safety.stop(scope.clone(), &operator(), &args.reason).await.map_err(unkept)
    })
    .map_err(|failure| {
        failure
            .context("the stop is NOT in force")
            .hint("free space in the data folder and repeat it, or end the processes that serve")
    })?;
    if let Some(warning) = held.warning() {
        let hint =
            "end these processes, or run the command again: the stop holds in one as soon as it runs again";
        return Err(Failure::new(Exit::Unreachable, anyhow!("{warning}")).hint(hint));
    }
    let json = json!({"outcome": "stopped", "caller": caller, "who": scope.words(), "reason": args.reason});
    let lifts = args.data.command(&scope.unlock());
    args.form.say(&format!("stopped: {}; `{lifts}` lifts it", whom(&scope)), &json)?;
    Ok(Exit::Nothing)
}

pub(crate) fn unlock(args: &UnlockArgs) -> Outcome {
    let caller = args.caller.as_ref();
    let (lifted, left) = operate(&args.data, async |safety| {
        let lifted = safety.unlock(scope(caller), &operator()).await.map_err(unkept)?;
        Ok((lifted, safety.stops().all()))
    })?;
    let names: Vec<String> = left.iter().map(|stop| whom(&stop.scope)).collect();
    let keys: Vec<&str> = left.iter().map(|stop| key(&stop.scope)).collect();
    let still =
        if names.is_empty() { String::new() } else { format!("; still stopped: {}", names.join(", ")) };
    let scope = scope(caller);
    if !lifted {
        let error = match caller {
            None if names.is_empty() => anyhow!("nothing is stopped"),
            _ => anyhow!("{} is not stopped{still}", whom(&scope)),
        };
        return Err(Failure::new(Exit::Usage, error));
    }
    let json = json!({"outcome": "unlocked", "caller": caller, "who": scope.words(), "still_stopped": keys});
    args.form.say(&format!("unlocked: {}{still}", whom(&scope)), &json)?;
    Ok(Exit::Nothing)
}
