//! Emergency stop and loop guard: refuses stopped callers, and stops a caller that repeats one call without end
//! (R4.7).

use crate::answer::ToolResult;
use crate::caller::Caller;
use crate::entry::{Behind, Entry};
use crate::refusal::Refusal;
use crate::safety::keep::Stop;
use crate::safety::tools::SafetyTool;
use crate::safety::{Safety, Who};
use crate::session::SessionId;
use crate::stage::{Call, Checked};

pub(super) async fn pass(call: &Call<'_, Checked<'_>>, safety: &Safety) -> Result<(), Refusal> {
    let entry = &*call.stage.0.entry;
    let share = call.caller.share();
    refuse_if_stopped(call, safety)?;
    if entry.safety().is_some_and(SafetyTool::works_when_stopped) {
        return Ok(());
    }
    if let Some(broken) = safety.distrusted()
        && entry.judged().effect.destructive
        && !safety.policy().run_with_broken_audit
    {
        let text = format!(
            "Not run: the audit is broken ({broken}), and a destructive call may not run without it. An operator looks \
             with `{}` and goes on with `{}`. Tell the person.",
            safety.command("audit verify"),
            safety.command("audit restart --reason WHY")
        );
        return Err(call.refuse(safety, &Who::of(call.caller), "broken audit", ToolResult::error(text)));
    }
    let (most, window_ms) = {
        let policy = safety.policy();
        let read_only = entry.judged().effect.read_only;
        let most = if read_only { policy.repeats_read_only_max } else { policy.repeats_max };
        (most, policy.repeat_window_ms)
    };
    if most == 0 {
        return Ok(());
    }
    let session = call.caller.peer.session().and_then(|session| session.id()).map(SessionId::as_str);
    let times =
        safety.repeats().count(&share, session, entry.name(), call.arguments(), window_ms, safety.now_ms());
    if times <= most {
        return Ok(());
    }
    Err(Box::pin(stop_caller(call, safety, times)).await)
}

/// Refuses a call whose caller is stopped, unless the tool works during a stop.
pub(super) fn refuse_if_stopped(call: &Call<'_, Checked<'_>>, safety: &Safety) -> Result<(), Refusal> {
    if works_when_stopped(&call.stage.0.entry) {
        return Ok(());
    }
    match stopped(call.caller, safety) {
        None => Ok(()),
        Some(text) => Err(call.refuse(safety, &Who::of(call.caller), "stopped", ToolResult::error(text))),
    }
}

/// Returns the text that tells a caller about the stop in force for it; `None` if there is none.
pub(crate) fn stopped(caller: &Caller<'_>, safety: &Safety) -> Option<String> {
    if !safety.stops().any() {
        return None;
    }
    let now_ms = safety.now_ms();
    let stop = safety.stops().of(&caller.principal, &caller.share(), now_ms)?;
    Some(format!(
        "Not run: an emergency stop by {} is in force for {} ({}). {} Do not try other tools; tell the person.",
        stop.by,
        stop.scope.words(),
        stop.reason,
        way_out(safety, &stop, now_ms)
    ))
}

/// Returns true if a tool works during a stop: discovery tools and the tools of the stop itself do.
pub(crate) fn works_when_stopped(entry: &Entry) -> bool {
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
    let stop = safety.looping(&who.user.share, &reason);
    let text = format!(
        "Not run: {reason}, so {} may call nothing more. {} Repeating the call will not help; tell the person.",
        stop.scope.words(),
        way_out(safety, &stop, stop.since_ms)
    );
    if let Err(error) = safety.put_stop(stop).await {
        tracing::error!(target: "toolcrib", "a stop is in force but not kept: {error}");
    }
    call.refuse(safety, &who, "loop", ToolResult::error(text))
}

/// Returns the text that says how the stop ends.
fn way_out(safety: &Safety, stop: &Stop, now_ms: u64) -> String {
    let unlock = safety.command(&stop.scope.unlock());
    let way = format!("an operator can lift it: `{unlock}`, REST, or an approval of emergency_unlock.");
    match stop.expires_ms {
        None => format!("Only {way}"),
        Some(end_ms) => {
            let left_s = end_ms.saturating_sub(now_ms).div_ceil(1_000);
            format!("It ends by itself in {left_s} s; before that {way}")
        }
    }
}
