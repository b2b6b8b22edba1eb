//! Pipeline of a `tools/call`, one stage after the other.
//!
//! Guarantees: each stage takes a type that only the stage before it can make, so no stage can be skipped or run out
//! of order.
//!
//! ```text
//! caller  → Call<Known>      who calls, in which era                   stage/caller.rs
//! view    → Call<Resolved>   the contract, in this caller's view       stage/view.rs
//! check   → Call<Checked>    headers and arguments keep the contract   stage/check.rs
//! gate    → Call<Cleared>    stop, policy and confirmation allow it    stage/gate.rs
//! journal → Call<Recorded>   an intent, before a destructive call      stage/journal.rs
//! execute → Call<Executed>   handler or upstream, bounded              stage/execute.rs
//! check   → Call<Verified>   the answer keeps the contract             stage/verify.rs
//! reply   → bytes                                                      stage/reply.rs
//! ```
//! If safety is switched off, `gate` and `journal` are skipped together (`unwatched` in `stage/gate.rs`). Every
//! refusal becomes an answer in [`crate::refusal::Refusal::rescue`].

pub mod caller;
pub(crate) mod check;
pub(crate) mod execute;
pub(crate) mod gate;
mod journal;
mod reply;
mod verify;
mod view;

use std::sync::Arc;

use toolcrib_protocol::Request;

use crate::answer::Answer;
use crate::caller::Caller;
use crate::ending::Ending;
use crate::engine::Engine;
use crate::entry::Entry;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::safety::Safety;
use crate::safety::receipt::Receipt;
use crate::safety::ticket::Clearance;
use crate::safety::vouch::ConfirmedBy;
use crate::tool::Arguments;

/// A `tools/call` at one stage of its life.
#[derive(Debug)]
pub struct Call<'a, S> {
    engine: &'a Engine,
    caller: &'a Caller<'a>,
    request: &'a Request<'a>,
    stage: S,
}

/// Stage: the caller is known.
#[derive(Debug)]
pub struct Known;

/// Stage: the tool is in the caller's view.
#[derive(Debug)]
pub struct Resolved<'a> {
    entry: Arc<Entry>,
    arguments: Arguments<'a>,
    /// `true` if the tool was named by `call_tool` and not by the request itself.
    inner: bool,
    /// Confirmation token, removed from the arguments.
    token: Option<Box<str>>,
}

/// Stage: headers and arguments keep the contract.
#[derive(Debug)]
pub struct Checked<'a>(Resolved<'a>);

/// Stage: nothing forbids the call, and every confirmation it needed was given.
#[derive(Debug)]
pub struct Cleared<'a> {
    resolved: Resolved<'a>,
    pass: Pass<'a>,
}

/// Clearance with which a call passed the gate; it is burnt when the call's intent is written.
#[derive(Debug)]
struct Pass<'a> {
    safety: &'a Safety,
    clearance: Clearance,
}

/// Stage: everything that must be durable before the call leaves is durable.
#[derive(Debug)]
pub struct Recorded<'a> {
    resolved: Resolved<'a>,
    receipt: Receipt<'a>,
    /// Kind of confirmation, if the call needed one.
    confirmed: Option<ConfirmedBy>,
}

/// Stage: the tool answered, or asks the client something.
#[derive(Debug)]
pub struct Executed {
    entry: Arc<Entry>,
    inner: bool,
    outcome: Outcome,
}

/// Outcome of running the tool; only the execute stage makes one.
#[derive(Debug)]
struct Ran(Outcome);

#[derive(Debug)]
enum Outcome {
    Answer(Answer),
    /// An `input_required` result without its closing brace.
    Asks(Vec<u8>),
}

/// Stage: the answer keeps the contract.
#[derive(Debug)]
pub struct Verified(Outcome);

impl<'a, S> Call<'a, S> {
    /// Moves the call to its next stage.
    #[inline(always)]
    fn at<T>(self, stage: impl FnOnce(S) -> T) -> Call<'a, T> {
        Call { engine: self.engine, caller: self.caller, request: self.request, stage: stage(self.stage) }
    }
}

/// Outcome of a stage that has a short time budget on the serving thread.
enum Briefly<T, U> {
    Done(T),
    /// The stage needs more time than its budget; it continues as described in [`crate::long_work`].
    Unfinished(U),
}

/// Runs all stages of a call. `ending` is kept up to date at every await, so that a call whose future is dropped ends
/// with the value it holds then.
pub(crate) async fn live<'a>(
    engine: &'a Engine,
    caller: &'a Caller<'a>,
    request: &'a Request<'a>,
    ending: &mut Ending,
) -> Result<Reply, Refusal> {
    *ending = Ending::Refused;
    let mut recorded = match prepare(engine, caller, request).await {
        Ok(recorded) => recorded,
        Err(refusal) => {
            *ending = Ending::before_the_tool(&refusal);
            return Err(refusal);
        }
    };
    *ending = Ending::Unknown;
    let ran = recorded.execute().await;
    *ending = match &ran {
        Ok(Ran(Outcome::Answer(answer))) => Ending::by_answer(answer),
        Ok(Ran(Outcome::Asks(_))) => Ending::Asked,
        Err(refusal) => Ending::without_answer(refusal),
    };
    recorded.stage.receipt.settle(*ending);
    let verified = match recorded.executed(ran?).verify()? {
        Briefly::Done(verified) => verified,
        Briefly::Unfinished(executed) => Box::pin(executed.verify_at_length()).await?,
    };
    Ok(verified.reply())
}

/// Runs all stages before the tool.
#[inline(always)]
async fn prepare<'a>(
    engine: &'a Engine,
    caller: &'a Caller<'a>,
    request: &'a Request<'a>,
) -> Result<Call<'a, Recorded<'a>>, Refusal> {
    // One statement per stage that awaits, so that its temporaries are dropped before the next stage runs.
    let checked = match (Call { engine, caller, request, stage: Known }).resolve()?.check()? {
        Briefly::Done(checked) => checked,
        Briefly::Unfinished(resolved) => Box::pin(resolved.check_at_length()).await?,
    };
    match checked.unwatched() {
        Ok(recorded) => Ok(recorded),
        // Boxed, so that safety does not enlarge the future of calls without it.
        Err((checked, safety)) => Box::pin(watched(checked, safety)).await,
    }
}

/// Runs gate and journal for an engine with safety switched on.
async fn watched<'a>(
    checked: Call<'a, Checked<'a>>,
    safety: &'a Safety,
) -> Result<Call<'a, Recorded<'a>>, Refusal> {
    match checked.clear(safety).await {
        Ok(cleared) => cleared.record().await,
        Err(refusal) => {
            // Waits for room in the trail, so that records of refusals cannot pile up faster than they are written.
            safety.trail().room().await;
            Err(refusal)
        }
    }
}

/// Returns an `input_required` result as a reply.
pub(crate) fn asked(engine: &Engine, id: &str, required: Vec<u8>) -> Reply {
    reply::input_required(engine, id, required)
}

/// Returns a tool result as a reply for a revision; used for refusals that are tool failures.
pub(crate) fn written(
    engine: &Engine,
    id: &str,
    revision: toolcrib_protocol::Revision,
    result: &crate::answer::ToolResult,
) -> Reply {
    reply::tool_result(engine, id, revision, result)
}
