//! The guard: the emergency stop, and callers that repeat one call without end (R4.7).

use crate::answer::ToolResult;
use crate::entry::{Behind, Entry};
use crate::refusal::Refusal;
use crate::safety::keep::Scope;
use crate::safety::tools::SafetyTool;
use crate::safety::{Safety, Who};
use crate::session::SessionId;
use crate::stage::{Call, Checked};

pub(super) async fn pass(call: &Call<'_, Checked<'_>>, safety: &Safety) -> Result<(), Refusal> {
    let entry = &*call.stage.0.entry;
    if safety.stops().any() && !works_when_stopped(entry) {
        let who = Who::of(call.caller);
        if let Some(stop) = safety.stops().of(&who.caller).or_else(|| safety.stops().of(&who.stop_key())) {
            let whom = if stop.scope == Scope::Everybody { "Everything is" } else { "You are" };
            let text = format!(
                "Not run: {whom} stopped since an emergency stop by {} ({}). Only an operator can unlock: `toolcrib \
                 unlock`, REST, or an approval of emergency_unlock. Do not try other tools; tell the person.",
                stop.by, stop.reason
            );
            return Err(call.refuse(safety, &who, "stopped", ToolResult::error(text)));
        }
    }
    if entry.safety().is_some_and(SafetyTool::works_when_stopped) {
        return Ok(());
    }
    let policy = safety.policy();
    let most =
        if entry.judged().effect.read_only { policy.repeats_read_only_max } else { policy.repeats_max };
    if most == 0 {
        return Ok(());
    }
    let session = call.caller.peer.session().and_then(|session| session.id()).map(SessionId::as_str);
    let times = safety.repeats().count(
        &call.caller.principal,
        session,
        entry.name(),
        call.arguments(),
        policy.repeat_window_ms,
        safety.now_ms(),
    );
    if times <= most {
        return Ok(());
    }
    Err(Box::pin(stop_caller(call, safety, times)).await)
}

fn works_when_stopped(entry: &Entry) -> bool {
    match entry.behind() {
        Behind::Discovery(_) => true,
        Behind::Safety(tool) => tool.works_when_stopped(),
        Behind::Tool(_) => false,
    }
}

async fn stop_caller(call: &Call<'_, Checked<'_>>, safety: &Safety, times: u32) -> Refusal {
    let who = Who::of(call.caller);
    let entry = &call.stage.0.entry;
    let seconds = safety.policy().repeat_window_ms / 1_000;
    let reason =
        format!("{} was called {times} times with the same arguments within {seconds} s", entry.name());
    if let Err(error) = safety.stop(Scope::Caller(who.stop_key()), "loop detection", &reason).await {
        tracing::error!(target: "toolcrib", "a stop is in force but not kept: {error}");
    }
    let text = format!(
        "Not run: {reason}, so your calls are stopped until an operator unlocks them (`toolcrib unlock --caller \
         {}`). Repeating the call will not help; tell the person.",
        who.stop_key()
    );
    call.refuse(safety, &who, "loop", ToolResult::error(text))
}
