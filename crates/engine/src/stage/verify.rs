//! Check of the answer: its structured content against the output schema, before it leaves (R2.6).
//!
//! Guarantees: with an output schema, what leaves keeps it or is an error result without structured content. A
//! result that is an error already goes on unchecked, without structured content.

use toolcrib_contract::Violations;
use toolcrib_contract::json::{Document, Limits, Node, ObjectWriter};

use super::{Call, Executed, Outcome, Verified};
use crate::answer::{Answer, ToolResult};
use crate::engine::{Engine, Fault};
use crate::entry::Entry;
use crate::limits::ANSWER_BYTES_MAX;
use crate::refusal::Refusal;
use crate::validation::Mode;

impl<'a> Call<'a, Executed> {
    pub(super) fn verify(self) -> Result<Call<'a, Verified>, Refusal> {
        let engine = self.engine;
        let Executed { entry, outcome } = self.stage;
        let verified = match outcome {
            Outcome::Answer(answer) => Outcome::Answer(verify(engine, &entry, answer)?),
            asks @ Outcome::Asks(_) => asks,
        };
        Ok(Call { engine, caller: self.caller, request: self.request, stage: Verified(verified) })
    }
}

pub(crate) fn verify(engine: &Engine, entry: &Entry, answer: Answer) -> Result<Answer, Refusal> {
    if answer.size() > ANSWER_BYTES_MAX {
        return Err(Refusal::AnswerTooLarge { bytes_max: ANSWER_BYTES_MAX });
    }
    match answer {
        Answer::Built(result) => verify_built(engine, entry, result).map(Answer::Built),
        Answer::Raw(raw) => {
            let document =
                Document::parse(raw.as_bytes(), &answer_limits()).map_err(|_| Refusal::AnswerMalformed)?;
            let changed = verify_result(engine, entry, document.root())?;
            drop(document);
            Ok(Answer::Raw(changed.unwrap_or(raw)))
        }
        Answer::Forwarded(forwarded) => {
            let changed = verify_result(engine, entry, forwarded.result())?;
            Ok(changed.map_or(Answer::Forwarded(forwarded), Answer::Raw))
        }
    }
}

fn verify_built(engine: &Engine, entry: &Entry, mut result: ToolResult) -> Result<ToolResult, Refusal> {
    if result.is_error {
        result.structured = None;
        return Ok(result);
    }
    let Some(structured) = &result.structured else {
        return if entry.contract().output().is_some() { Err(missing(engine, entry)) } else { Ok(result) };
    };
    if entry.contract().output().is_some() {
        let document =
            Document::parse(structured.as_bytes(), &answer_limits()).map_err(|_| Refusal::AnswerMalformed)?;
        entry
            .contract()
            .check_output(document.root())
            .map_err(|violations| invalid(engine, entry, violations))?;
    }
    if !result.content.iter().any(crate::content::Content::is_text) {
        result.content.push(crate::content::Content::text(structured));
    }
    Ok(result)
}

/// A whole result as JSON; gives back what must be sent instead, if anything had to change.
fn verify_result(engine: &Engine, entry: &Entry, result: Node<'_>) -> Result<Option<Box<str>>, Refusal> {
    if !result.is_object() {
        return Err(Refusal::AnswerMalformed);
    }
    let structured = result.get("structuredContent");
    if result.get("isError").and_then(Node::as_bool) == Some(true) {
        if structured.is_none() {
            return Ok(None);
        }
        let mut object = ObjectWriter::new();
        for (key, value) in result.members().filter(|(key, _)| !key.is_text("structuredContent")) {
            object.copy(key, value);
        }
        return Ok(Some(object.finish().into()));
    }
    let complete = result.get("resultType").is_none_or(|kind| kind.is_text("complete"));
    let mode = entry.validation().output;
    if entry.contract().output().is_none() || !complete || mode == Mode::Off {
        return Ok(None);
    }
    let kept = match structured {
        None => Err(missing(engine, entry)),
        Some(structured) => {
            entry.contract().check_output(structured).map_err(|violations| invalid(engine, entry, violations))
        }
    };
    match kept {
        // It was reported; the operator wants it passed on.
        Err(_) if mode == Mode::Warn => Ok(None),
        other => other.map(|()| None),
    }
}

fn answer_limits() -> Limits {
    Limits::message().with_bytes_max(ANSWER_BYTES_MAX)
}

fn invalid(engine: &Engine, entry: &Entry, violations: Violations) -> Refusal {
    engine.report(&Fault::OutputInvalid { tool: entry.name(), violations: &violations });
    Refusal::OutputInvalid(violations)
}

fn missing(engine: &Engine, entry: &Entry) -> Refusal {
    engine.report(&Fault::OutputMissing { tool: entry.name() });
    Refusal::OutputMissing
}
