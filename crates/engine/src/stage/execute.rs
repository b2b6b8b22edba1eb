//! Execute stage: runs the tool with a deadline, cancellable, with panics caught.

use toolcrib_protocol::Params;

use super::{Call, Executed, Outcome, Ran, Recorded, Resolved, gate};
use crate::ask::InputRequired;
use crate::context::{Confirmation, Context};
use crate::discovery;
use crate::engine::Fault;
use crate::entry::Behind;
use crate::guarded::Stopped;
use crate::peer::Peer;
use crate::refusal::Refusal;
use crate::round::{Binding, Round};
use crate::safety;
use crate::safety::vouch::AGAIN_PREFIX;
use crate::tool::{Invocation, ToolError};

/// Maximum times that one request runs a handler which returns `InputRequired` to a legacy client.
pub(crate) const ROUNDS_MAX: usize = 10;

impl<'a> Call<'a, Recorded<'a>> {
    /// Takes `&self`: an async fn that takes `self` stores it twice in its state machine.
    pub(super) async fn execute(&self) -> Result<Ran, Refusal> {
        let Recorded { resolved: Resolved { entry, arguments, .. }, .. } = &self.stage;
        let tool = match entry.behind() {
            Behind::Tool(tool) => tool,
            Behind::Discovery(_) | Behind::Safety(_) => {
                // Boxed: the engine's own tools are rare, and their future must not enlarge every call's state.
                let answer = Box::pin(own(self, entry, arguments.node())).await;
                return answer
                    .map(|answer| Ran(Outcome::Answer(answer)))
                    .map_err(|error| refuse(self, error));
            }
        };
        let params = &self.request.params;
        let mut round = self.engine.round(self.caller, self.request)?;
        for _ in 0..ROUNDS_MAX {
            let context = context(self, params, round);
            let invocation = Invocation {
                name: entry.name(),
                contract: entry.contract(),
                arguments: arguments.node(),
                params: params.node(),
                context: &context,
            };
            let call = self.engine.guarded(|| tool.call(invocation), &self.caller.exchange);
            let outcome = match call.await {
                Ok(Ok(answer)) => Outcome::Answer(answer),
                Ok(Err(ToolError::InputRequired(required))) => match &self.caller.peer {
                    Peer::Modern(_) => {
                        let cleared = carried_on(self)?;
                        let require = self.engine.require(
                            self.caller,
                            self.request,
                            &context,
                            &required,
                            cleared.as_deref(),
                        );
                        Outcome::Asks(require?)
                    }
                    Peer::Legacy(_) => {
                        // Boxed: rare, and it must not enlarge every call's state.
                        round = Box::pin(ask_again(&context, *required)).await?;
                        self.refuse_if_stopped()?;
                        continue;
                    }
                },
                Ok(Err(error)) => return Err(refuse(self, error)),
                Err(stopped) => return Err(stop(self, stopped)),
            };
            return Ok(Ran(outcome));
        }
        Err(Refusal::Failed("The tool asked too often.".into()))
    }

    /// Refuses to continue a call whose caller was stopped while its client was asked.
    fn refuse_if_stopped(&self) -> Result<(), Refusal> {
        let stopped = self.engine.safety().and_then(|safety| gate::stopped(self.caller, safety));
        stopped.map_or(Ok(()), |text| Err(Refusal::Failed(text.into())))
    }

    /// Moves the call to its next stage. Its ending is recorded already and does not depend on the check of its
    /// answer.
    #[inline(always)]
    pub(super) fn executed(self, Ran(outcome): Ran) -> Call<'a, Executed> {
        self.at(|Recorded { resolved: Resolved { entry, inner, .. }, .. }| Executed { entry, inner, outcome })
    }
}

/// Returns a nonce that lets the next round of a confirmed call pass the gate without a new confirmation.
fn carried_on(call: &Call<'_, Recorded<'_>>) -> Result<Option<String>, Refusal> {
    if !call.stage.receipt.is_confirmed() {
        return Ok(None);
    }
    let nonce = crate::safety::ticket::handle(AGAIN_PREFIX).map_err(|_| crate::round::CannotSeal)?;
    let bound = call.engine.safety().map(|safety| safety.bound(&call.stage.resolved.entry));
    Ok(Some(nonce + &bound.unwrap_or_default()))
}

/// Answers a call of a discovery or safety tool, which the engine implements itself.
async fn own(
    call: &Call<'_, Recorded<'_>>,
    entry: &crate::entry::Entry,
    arguments: toolcrib_contract::json::Node<'_>,
) -> Result<crate::answer::Answer, ToolError> {
    match entry.behind() {
        Behind::Discovery(meta) => discovery::answer(call.engine, call.caller, *meta, arguments).await,
        Behind::Safety(tool) => safety::tools::answer(call.engine, call.caller, *tool, arguments).await,
        Behind::Tool(_) => Err(ToolError::new("This tool is not the engine's own.")),
    }
}

fn context(call: &Call<'_, Recorded<'_>>, params: &Params<'_>, round: Round) -> Context {
    let token = params.progress_token();
    let caller = call.caller;
    let context =
        Context::new(caller.principal.clone(), caller.peer.clone(), caller.exchange.clone(), token, round);
    match (call.stage.confirmed, call.engine.safety(), call.stage.resolved.token.as_deref()) {
        (Some(by), Some(safety), _) => {
            let (voucher, now_ms) = (safety.voucher().cloned(), safety.now_ms());
            context.confirmed(Confirmation { by, voucher, now_ms })
        }
        (None, _, Some(token)) => context.with_unused_token(token),
        _ => context,
    }
}

/// Asks a legacy client on behalf of a tool that returned `InputRequired`; returns the round to call the tool again
/// with.
pub(crate) async fn ask_again(context: &Context, required: InputRequired) -> Result<Round, Refusal> {
    let keys: Vec<Box<str>> = required.questions.iter().map(|(key, _)| key.clone()).collect();
    let questions = required.questions.into_iter().map(|(key, question)| (key.into(), question)).collect();
    let replies = context.ask_all(questions).await.map_err(|error| match ToolError::from(error) {
        ToolError::MissingCapability(capability) => Refusal::MissingCapability(capability),
        ToolError::Failed(text) => Refusal::Failed(text),
        ToolError::Unknown(text) => Refusal::Lost(text),
        _ => Refusal::Failed("The tool asked something that this client cannot be asked.".into()),
    })?;
    let kept = context.kept_raw();
    Ok(context.round().clone().with(keys.into_iter().zip(replies), kept))
}

fn refuse(call: &Call<'_, Recorded<'_>>, error: ToolError) -> Refusal {
    match error {
        ToolError::Failed(text) => {
            call.engine.report(&Fault::Failed { tool: call.stage.resolved.entry.name(), text: &text });
            Refusal::Failed(text)
        }
        ToolError::Unknown(text) => {
            call.engine.report(&Fault::Failed { tool: call.stage.resolved.entry.name(), text: &text });
            Refusal::Lost(text)
        }
        ToolError::Protocol(error) => Refusal::Protocol(error),
        ToolError::MissingCapability(capability) => Refusal::MissingCapability(capability),
        ToolError::NotFound => Refusal::Failed("Not found.".into()),
        ToolError::InputRequired(_) => Refusal::Failed("The tool asked at the wrong time.".into()),
    }
}

fn stop(call: &Call<'_, Recorded<'_>>, stopped: Stopped) -> Refusal {
    let tool = call.stage.resolved.entry.name();
    match stopped {
        Stopped::Panicked(text) => {
            call.engine.report(&Fault::Panicked { tool, text: &text });
            Refusal::Panicked
        }
        Stopped::TooSlow { ms_max } => {
            call.engine.report(&Fault::TooSlow { tool, ms_max });
            Refusal::TooSlow { ms_max }
        }
        Stopped::Cancelled => Refusal::Cancelled,
    }
}

impl crate::engine::Engine {
    /// Reads the sealed state and the answers that a modern client sent with its retry; empty for a legacy client.
    pub(crate) fn round(
        &self,
        caller: &crate::caller::Caller<'_>,
        request: &toolcrib_protocol::Request<'_>,
    ) -> Result<Round, Refusal> {
        match caller.peer {
            Peer::Legacy(_) => Ok(Round::default()),
            Peer::Modern(_) => Ok(Round::read(request.params, self.sealer(), self.clock(), || {
                Binding::of(&caller.principal, &request.method, request.params)
            })?),
        }
    }

    /// Returns an `input_required` result with its sealed state, without its closing brace.
    pub(crate) fn require(
        &self,
        caller: &crate::caller::Caller<'_>,
        request: &toolcrib_protocol::Request<'_>,
        context: &Context,
        required: &InputRequired,
        cleared: Option<&str>,
    ) -> Result<Vec<u8>, Refusal> {
        let binding = Binding::of(&caller.principal, &request.method, request.params);
        let kept = context.kept_raw();
        Ok(context.round().require(
            required,
            kept.as_deref(),
            cleared,
            self.sealer(),
            self.clock(),
            &binding,
        )?)
    }
}
