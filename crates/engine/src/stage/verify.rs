//! Check of the answer: its structured content against the output schema, before it leaves (R2.6).
//!
//! Guarantees: with an output schema, what leaves keeps it or is an error result without structured content. A
//! result that is an error already goes on unchecked, without structured content.

use toolcrib_contract::Violations;
use toolcrib_contract::json::{Document, Keys, Limits, Node, ObjectWriter};

use super::{Call, Executed, Outcome, Verified};
use crate::answer::{Answer, ToolResult};
use crate::engine::{Engine, Fault};
use crate::entry::Entry;
use crate::limits::ANSWER_BYTES_MAX;
use crate::refusal::Refusal;
use crate::safety::keep::Outcome as Ended;
use crate::validation::Strictness;

/// What a result is judged by.
static JUDGED: Keys<3> = Keys::new(["structuredContent", "isError", "resultType"]);

impl<'a> Call<'a, Executed<'a>> {
    #[inline(always)]
    pub(super) fn verify(self) -> Result<Call<'a, Verified>, Refusal> {
        let engine = self.engine;
        let Executed { entry, inner, outcome, mut receipt } = self.stage;
        // What ran has run, whatever its answer is worth.
        receipt.settle(ended(&outcome));
        let verified = match outcome {
            Outcome::Answer(answer) => {
                let answer = verify(engine, &entry, answer)?;
                Outcome::Answer(if inner { as_call_tool(answer)? } else { answer })
            }
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

fn verify_built(
    engine: &Engine,
    entry: &Entry,
    mut result: Box<ToolResult>,
) -> Result<Box<ToolResult>, Refusal> {
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
    let [structured, is_error, kind] = result.pick(&JUDGED);
    if is_error.and_then(Node::as_bool) == Some(true) {
        if structured.is_none() {
            return Ok(None);
        }
        let mut object = ObjectWriter::new();
        for (key, value) in result.members().filter(|(key, _)| !key.is_text("structuredContent")) {
            object.copy(key, value);
        }
        return Ok(Some(object.finish().into()));
    }
    let complete = kind.is_none_or(|kind| kind.is_text("complete"));
    let mode = entry.validation().output;
    if entry.contract().output().is_none() || !complete || mode == Strictness::Off {
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
        Err(_) if mode == Strictness::Warn => Ok(None),
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

fn ended(outcome: &Outcome) -> Ended {
    match outcome {
        Outcome::Asks(_) => Ended::Asked,
        Outcome::Answer(Answer::Built(result)) if result.is_error => Ended::Failed,
        Outcome::Answer(Answer::Raw(raw)) if says_error(raw) => Ended::Failed,
        Outcome::Answer(_) => Ended::Done,
    }
}

fn says_error(raw: &str) -> bool {
    let document = Document::parse(raw.as_bytes(), &answer_limits());
    document.is_ok_and(|document| document.root().get("isError").and_then(Node::as_bool) == Some(true))
}

/// An inner tool's answer in the form that `call_tool` promises: structured content, and that an object.
fn as_call_tool(answer: Answer) -> Result<Answer, Refusal> {
    match answer {
        Answer::Built(mut result) if !result.is_error => {
            result.structured = match result.structured.take() {
                Some(raw) if raw.starts_with('{') => Some(raw),
                Some(raw) => Some(format!("{{\"result\":{raw}}}").into()),
                None => {
                    let blocks = result.content.iter().map(crate::content::Content::as_json);
                    Some(text_of(&format!("[{}]", blocks.collect::<Vec<_>>().join(",")))?)
                }
            };
            Ok(Answer::Built(result))
        }
        Answer::Built(result) => Ok(Answer::Built(result)),
        Answer::Raw(raw) => {
            let document =
                Document::parse(raw.as_bytes(), &answer_limits()).map_err(|_| Refusal::AnswerMalformed)?;
            let changed = with_structure(document.root())?;
            drop(document);
            Ok(Answer::Raw(changed.unwrap_or(raw)))
        }
        Answer::Forwarded(forwarded) => {
            let changed = with_structure(forwarded.result())?;
            Ok(changed.map_or(Answer::Forwarded(forwarded), Answer::Raw))
        }
    }
}

/// A whole result with structured content that is an object, if it has to be changed for that.
fn with_structure(result: Node<'_>) -> Result<Option<Box<str>>, Refusal> {
    let structured = result.get("structuredContent");
    let is_error = result.get("isError").and_then(Node::as_bool) == Some(true);
    let complete = result.get("resultType").is_none_or(|kind| kind.is_text("complete"));
    if is_error || !complete || structured.is_some_and(Node::is_object) {
        return Ok(None);
    }
    let wrapped = match structured {
        Some(value) => format!("{{\"result\":{}}}", value.raw()).into(),
        None => text_of(result.get("content").map_or("[]", Node::raw))?,
    };
    let mut object = ObjectWriter::new();
    for (key, value) in result.members().filter(|(key, _)| !key.is_text("structuredContent")) {
        object.copy(key, value);
    }
    object.raw("structuredContent", &wrapped);
    Ok(Some(object.finish().into()))
}

/// The text of content blocks as an object.
fn text_of(blocks: &str) -> Result<Box<str>, Refusal> {
    let document =
        Document::parse(blocks.as_bytes(), &answer_limits()).map_err(|_| Refusal::AnswerMalformed)?;
    let texts = document.root().elements().filter_map(|block| block.get("text")?.as_str());
    let mut object = ObjectWriter::new();
    object.string("text", &texts.collect::<Vec<_>>().join("\n"));
    Ok(object.finish().into())
}
