//! The life of a `tools/call`, one stage after the other.
//!
//! Guarantees: each stage takes what the stage before it made and nothing else can make, so none can be skipped or
//! put in another order.
//!
//! ```text
//! caller  → Call<Known>      who, which era                            stage/caller.rs
//! view    → Call<Resolved>   which contract, in this caller's view     stage/view.rs
//! check   → Call<Checked>    headers and arguments keep the contract   stage/check.rs
//! gate    → Call<Cleared>    may it run at all                         stage/gate.rs
//! journal → Call<Recorded>   an intent, before a destructive call      stage/journal.rs
//! execute → Call<Executed>   handler or upstream, bounded              stage/execute.rs
//! check   → Call<Verified>   the answer keeps the contract             stage/verify.rs
//! reply   → bytes                                                      stage/reply.rs
//! ```
//! Where safety is not switched on, there is nothing to pass and nothing to write: `gate.rs` says so, once for both.
//! Whatever refuses ends in [`crate::refusal::Refusal::rescue`].

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

/// It is known who calls.
#[derive(Debug)]
pub struct Known;

/// The tool is in the caller's view.
#[derive(Debug)]
pub struct Resolved<'a> {
    entry: Arc<Entry>,
    arguments: Arguments<'a>,
    /// Named by `call_tool` and not by the request itself.
    inner: bool,
    /// The confirmation token that came with the arguments, taken out of them.
    token: Option<Box<str>>,
}

/// Headers and arguments keep the contract.
#[derive(Debug)]
pub struct Checked<'a>(Resolved<'a>);

/// Nothing forbids the call, and whoever had to confirm it did.
#[derive(Debug)]
pub struct Cleared<'a> {
    resolved: Resolved<'a>,
    pass: Pass<'a>,
}

/// What lets a call through the gate, to be burnt when its intent is written.
#[derive(Debug)]
struct Pass<'a> {
    safety: &'a Safety,
    clearance: Clearance,
}

/// What must be durable before the call leaves is durable.
#[derive(Debug)]
pub struct Recorded<'a> {
    resolved: Resolved<'a>,
    receipt: Receipt<'a>,
    /// Kind of confirmation that the call has, where it needed one.
    confirmed: Option<ConfirmedBy>,
}

/// The tool answered, or asks.
#[derive(Debug)]
pub struct Executed {
    entry: Arc<Entry>,
    inner: bool,
    outcome: Outcome,
}

/// What executing came to; nothing else makes one.
#[derive(Debug)]
struct Ran(Outcome);

#[derive(Debug)]
enum Outcome {
    Answer(Answer),
    /// An `input_required` result without its closing brace.
    Asks(Vec<u8>),
}

/// The answer keeps the contract.
#[derive(Debug)]
pub struct Verified(Outcome);

impl<'a, S> Call<'a, S> {
    /// The same call one stage on.
    #[inline(always)]
    fn at<T>(self, stage: impl FnOnce(S) -> T) -> Call<'a, T> {
        Call { engine: self.engine, caller: self.caller, request: self.request, stage: stage(self.stage) }
    }
}

/// Outcome of a stage that has little time on the thread that serves.
enum Briefly<T, U> {
    Done(T),
    /// The stage needs more time, see [`crate::long_work`].
    Unfinished(U),
}

/// The whole life. `ending` says at every moment what has become of the call: a call that is dropped on its way ends
/// as what it says then.
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

/// All that comes before the tool.
#[inline(always)]
async fn prepare<'a>(
    engine: &'a Engine,
    caller: &'a Caller<'a>,
    request: &'a Request<'a>,
) -> Result<Call<'a, Recorded<'a>>, Refusal> {
    // One statement for each stage that waits: what is done with is not kept while the next one runs.
    let checked = match (Call { engine, caller, request, stage: Known }).resolve()?.check()? {
        Briefly::Done(checked) => checked,
        Briefly::Unfinished(resolved) => Box::pin(resolved.check_at_length()).await?,
    };
    match checked.unwatched() {
        Ok(recorded) => Ok(recorded),
        // Boxed: a call that nobody watches is no larger for it.
        Err((checked, safety)) => Box::pin(watched(checked, safety)).await,
    }
}

/// Gate and journal, where safety is switched on.
async fn watched<'a>(
    checked: Call<'a, Checked<'a>>,
    safety: &'a Safety,
) -> Result<Call<'a, Recorded<'a>>, Refusal> {
    match checked.clear(safety).await {
        Ok(cleared) => cleared.record().await,
        Err(refusal) => {
            // Its record waits to be written, and refusals must not pile up faster than they are.
            safety.trail().room().await;
            Err(refusal)
        }
    }
}

/// An `input_required` result as it leaves.
pub(crate) fn asked(engine: &Engine, id: &str, required: Vec<u8>) -> Reply {
    reply::input_required(engine, id, required)
}

/// A result written for a revision: what a refusal that is a tool's failure becomes.
pub(crate) fn written(
    engine: &Engine,
    id: &str,
    revision: toolcrib_protocol::Revision,
    result: &crate::answer::ToolResult,
) -> Reply {
    reply::tool_result(engine, id, revision, result)
}
