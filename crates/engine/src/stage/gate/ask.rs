//! Confirmation of a gated call, best way first (R4.5).
//!
//! Order: an answer that this server sealed; a trusted gateway's statement; a token or approval handle in the
//! arguments; else a question: `input_required` (modern), `elicitation/create` (legacy), the approval queue, and last
//! the two-step token, which does not prove that a person agreed. Every wait has a deadline, and every refusal says
//! what to do next.

use serde_json::json;
use toolcrib_contract::Digest;
use toolcrib_protocol::Capability;

use crate::answer::ToolResult;
use crate::ask::{AskError, Elicited, InputRequired, Question, Reply};
use crate::context::Context;
use crate::limits::{APPROVAL_BYTES_MAX, CONFIRMATION_CHARS_MAX};
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::round::Round;
use crate::safety::audit::{Event, Kind};
use crate::safety::keep::{Queued, Room, Scope};
use crate::safety::policy::Demand;
use crate::safety::ticket::{
    self, APPROVAL_PREFIX, ARGUMENT, Approval, ApprovalState, Binding, Clearance, TOKEN_PREFIX,
};
use crate::safety::tools::SafetyTool;
use crate::safety::vouch::{self, QUESTION_PREFIX, Unvouched};
use crate::safety::{Safety, Who};
use crate::stage::{Call, Checked};

type Gated<'a> = Call<'a, Checked<'a>>;

pub(super) async fn confirmed(call: &Gated<'_>, safety: &Safety) -> Result<Clearance, Refusal> {
    let who = Who::of(call.caller);
    let resolved = &call.stage.0;
    let person = resolved.entry.judged().demand == Demand::Human;
    // The person at the client is not an operator: `emergency_unlock` accepts only an approval from the queue.
    let operator = resolved.entry.safety() == Some(SafetyTool::Unlock);
    let round = call.engine.round(call.caller, call.request)?;
    if !operator && let Some(clearance) = answered(call, safety, &who, &round)? {
        return Ok(clearance);
    }
    let unvouched = match vouched(call, safety, person).filter(|_| !operator) {
        Some(Ok(clearance)) => return Ok(clearance),
        Some(Err(why)) => Some(why),
        None => None,
    };
    if let Some(token) = resolved.token.as_deref() {
        return presented(call, safety, &who, token, person, operator);
    }
    if !operator && let Some(clearance) = ask_client(call, safety, &who, &round, unvouched.as_ref()).await? {
        return Ok(clearance);
    }
    // A client behind a gateway could not present this server's tokens or approval handles, so none is offered.
    if let Some(why) = unvouched {
        return Err(call.refuse(safety, &who, "gateway not believed", unbelieved(call, &why)));
    }
    if safety.policy().queue || person {
        return Err(queue(call, safety, &who, person).await);
    }
    Err(call.refuse(
        safety,
        &who,
        "two-step token asked for",
        ToolResult::error(two_step(resolved.entry.name())),
    ))
}

/// Checks a gateway's statement that this call was confirmed, if one came with it.
fn vouched(call: &Gated<'_>, safety: &Safety, person: bool) -> Option<Result<Clearance, Unvouched>> {
    let statement = call.request.params.meta?.get(vouch::STATEMENT)?;
    let own = safety.voucher()?.public();
    let shown = vouch::Shown {
        own: &own,
        trusted: &safety.policy().trusted_gateways,
        tool: call.stage.0.entry.name(),
        arguments: &Digest::of_verbatim(call.arguments()),
        person,
        now_ms: safety.now_ms(),
    };
    Some(shown.check(statement.raw()))
}

fn unbelieved(call: &Gated<'_>, why: &Unvouched) -> ToolResult {
    let (name, way_out) = (call.stage.0.entry.name(), why.way_out());
    ToolResult::error(format!(
        "Not run: {name} has to be confirmed here too, and the confirmation of the gateway in front is not accepted: \
         {why}. {way_out} Tell the person."
    ))
}

/// Returns the clearance in the state that a modern client brought back, if this server sealed it.
fn answered(
    call: &Gated<'_>,
    safety: &Safety,
    who: &Who,
    round: &Round,
) -> Result<Option<Clearance>, Refusal> {
    if !round.is_sealed() {
        return Ok(None);
    }
    let bound = safety.bound(&call.stage.0.entry);
    let sealed = |nonce: &str| {
        if !nonce.ends_with(&bound) {
            return Err(changed(call, safety, who));
        }
        Ok(Some(Clearance::Sealed { nonce: nonce.to_owned(), expires_ms: round.expires_ms() }))
    };
    if let Some(nonce) = round.cleared() {
        return sealed(nonce);
    }
    let Some((nonce, raw)) = round.answers_to(QUESTION_PREFIX).next() else { return Ok(None) };
    if agrees(&Reply(raw.into())) { sealed(nonce) } else { Err(declined(call, safety, who)) }
}

/// Refuses a call whose contract or policy changed after the person agreed.
fn changed(call: &Gated<'_>, safety: &Safety, who: &Who) -> Refusal {
    let name = call.stage.0.entry.name();
    let text = format!(
        "Not run: {name} or the policy changed since the person agreed. Call {name} again, without requestState, to be \
         asked anew."
    );
    call.refuse(safety, who, "changed since it was confirmed", ToolResult::error(text))
}

fn agrees(reply: &Reply) -> bool {
    matches!(reply.elicited(), Elicited::Accepted(content) if content.get("confirm") == Some(&json!(true)))
}

fn declined(call: &Gated<'_>, safety: &Safety, who: &Who) -> Refusal {
    let text = format!(
        "Not run: the person declined {}. Do not try again unless asked to.",
        call.stage.0.entry.name()
    );
    call.refuse(safety, who, "declined", ToolResult::error(text))
}

fn presented(
    call: &Gated<'_>,
    safety: &Safety,
    who: &Who,
    token: &str,
    person: bool,
    operator: bool,
) -> Result<Clearance, Refusal> {
    if token.starts_with(APPROVAL_PREFIX) {
        return Ok(Clearance::Approval { id: token.to_owned() });
    }
    if token.starts_with(TOKEN_PREFIX) && !operator {
        return Ok(Clearance::Token { hash: safety.key().hash(token), person });
    }
    let text = format!(
        "Not run: {ARGUMENT} must be a token from get_confirmation_token ({TOKEN_PREFIX}…) or the handle of an \
         approval ({APPROVAL_PREFIX}…). Leave it out to have a confirmation asked for."
    );
    Err(call.refuse(safety, who, "no token", ToolResult::error(text)))
}

/// Asks the person at the client; `None` if the client cannot ask.
async fn ask_client(
    call: &Gated<'_>,
    safety: &Safety,
    who: &Who,
    round: &Round,
    unvouched: Option<&Unvouched>,
) -> Result<Option<Clearance>, Refusal> {
    if !call.caller.peer.can(Capability::ElicitationForm) {
        return Ok(None);
    }
    let entry = &call.stage.0.entry;
    let message = vouch::question(entry.name(), entry.judged().effect.destructive, call.arguments().raw());
    // The person must see every argument; a question that is too long goes to the queue instead.
    if message.chars().count() > CONFIRMATION_CHARS_MAX {
        return Ok(None);
    }
    let question = Question::elicit(
        &message,
        &json!({"type": "object", "properties": {"confirm": {
            "type": "boolean", "title": "Run it", "description": "Yes runs the call once, as shown"}}, "required": ["confirm"]}),
    );
    safety.note(about(call, safety, who, Kind::Asked, "elicitation"));
    match &call.caller.peer {
        Peer::Modern(_) => {
            let nonce = ticket::handle("").map_err(|_| crate::round::CannotSeal)?;
            let key = format!("{QUESTION_PREFIX}{nonce}{}", safety.bound(entry)).into_boxed_str();
            let required = InputRequired { questions: vec![(key, question)] };
            let context = context(call, round.clone());
            Err(Refusal::Asks(call.engine.require(call.caller, call.request, &context, &required, None)?))
        }
        Peer::Legacy(_) => match context(call, Round::default()).ask("confirm", question).await {
            Ok(reply) if agrees(&reply) => Ok(Some(Clearance::Asked)),
            Ok(_) => Err(declined(call, safety, who)),
            Err(AskError::NotDeclared(_) | AskError::Unreachable) => Ok(None),
            Err(AskError::Cancelled) => Err(Refusal::Cancelled),
            Err(error) => {
                let mut text = format!("Not run: nobody confirmed it ({error}).");
                if let Some(why) = unvouched {
                    let way_out = why.way_out();
                    text.push_str(&format!(
                        " The confirmation of the gateway in front is not accepted: {why}. {way_out}"
                    ));
                }
                Err(call.refuse(safety, who, "no answer", ToolResult::error(text)))
            }
        },
    }
}

fn context(call: &Gated<'_>, round: Round) -> Context {
    Context::new(
        call.caller.principal.clone(),
        call.caller.peer.clone(),
        call.caller.exchange.clone(),
        None,
        round,
    )
}

fn about(call: &Gated<'_>, safety: &Safety, who: &Who, kind: Kind, note: &str) -> Event {
    let entry = &call.stage.0.entry;
    Event {
        tool: Some(entry.name().to_owned()),
        contract: Some(entry.contract().digest().to_string()),
        arguments: Some(Digest::of_verbatim(call.arguments()).to_string()),
        rule: Some(entry.judged().rule.to_string()),
        note: Some(note.to_owned()),
        ..safety.event(kind, who)
    }
}

/// Puts the call into the approval queue and refuses it with the handle to retry with.
async fn queue(call: &Gated<'_>, safety: &Safety, who: &Who, person: bool) -> Refusal {
    match enqueue(call, safety, who).await {
        Ok(id) => waiting(call, safety, &id, person),
        Err(text) => call.refuse(safety, who, "not queued", ToolResult::error(text)),
    }
}

async fn enqueue(call: &Gated<'_>, safety: &Safety, who: &Who) -> Result<String, String> {
    let entry = &call.stage.0.entry;
    let name = entry.name();
    let raw = call.arguments().raw();
    if raw.len() > APPROVAL_BYTES_MAX {
        return Err(format!(
            "Not run: a person has to see every argument, and these are over {APPROVAL_BYTES_MAX} bytes. Call {name} with less."
        ));
    }
    let arguments = Digest::of_verbatim(call.arguments());
    let id = ticket::handle(APPROVAL_PREFIX).map_err(|error| format!("Not run: {error}."))?;
    let now_ms = safety.now_ms();
    let approval = Approval {
        id: id.clone(),
        binding: Binding {
            caller: who.caller.clone(),
            session: who.session.clone(),
            tool: name.to_owned(),
            contract: entry.contract().digest(),
            arguments,
            policy: safety.fingerprint(),
        },
        client: who.client.clone(),
        arguments: raw.to_owned(),
        created_ms: now_ms,
        expires_ms: now_ms.saturating_add(safety.policy().approval_ms),
        state: ApprovalState::Pending,
        decided_by: None,
    };
    let event = Event { ticket: Some(id.clone()), ..about(call, safety, who, Kind::Asked, "approval queue") };
    let (calls, bytes) = safety.policy().approval_allowances();
    let share = Scope::of(&who.user.share).key().to_owned();
    let room = Room { share, user: who.user.clone(), calls, bytes };
    match safety.store().put_approval(approval, room, event).await {
        Ok(Queued::New) => Ok(id),
        Ok(Queued::Already(id)) => Ok(id),
        Ok(Queued::Full { exceeded, until_ms }) => Err(format!(
            "Not run: it has to wait for a person, and there may be {exceeded}. Try again when one is decided, or in {} \
             s, when the first expires.",
            until_ms.saturating_sub(now_ms).div_ceil(1_000)
        )),
        Err(error) => {
            tracing::error!(target: "toolcrib", "{error}");
            Err("Not run: it has to be confirmed, and the queue cannot be written. Tell the person."
                .to_owned())
        }
    }
}

fn waiting(call: &Gated<'_>, safety: &Safety, id: &str, person: bool) -> Refusal {
    let name = call.stage.0.entry.name();
    let seconds = safety.policy().approval_ms / 1_000;
    let mut text = format!(
        "Not run yet: {name} waits for a person's approval as {id}.\nA person decides with `{}` (or deny), or over REST. When \
         it is allowed, call {name} again with exactly the same arguments and \"{ARGUMENT}\": \"{id}\". It is valid for \
         {seconds} seconds and for one call.",
        safety.command(&format!("approve allow {id}"))
    );
    if !person {
        text.push_str("\n\nOr: ");
        text.push_str(&two_step(name));
    }
    let mut meta = serde_json::Map::new();
    meta.insert(
        "toolcrib/confirmation".to_owned(),
        json!({"status": "pending", "handle": id, "expires_in_seconds": seconds}),
    );
    Refusal::Gated(Box::new(ToolResult::error(text).with_meta(&meta)))
}

fn two_step(name: &str) -> String {
    format!(
        "{name} is destructive and needs a confirmation token: call get_confirmation_token with action \"{name}\", a \
         params_summary that you show to the person, and the arguments; then call {name} with the same arguments and the \
         token as {ARGUMENT}. (A two-step token does not prove that a person agreed.)"
    )
}
