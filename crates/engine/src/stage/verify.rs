//! Verify stage: checks the answer's structured content against the output schema before it leaves (R2.6).
//!
//! Guarantees: with an output schema, an answer that leaves either keeps it or is an error result without structured
//! content, unless the operator set validation to `warn` or `off`. A result that is an error already passes
//! unchecked, without structured content. A check that exceeds its budget on the serving thread is repeated on the
//! long-work thread.

use toolcrib_contract::Violations;
use toolcrib_contract::json::{Document, Keys, Limits, Node, ObjectWriter};

use super::{Briefly, Call, Executed, Outcome, Verified};
use crate::answer::{Answer, ToolResult};
use crate::engine::{Engine, Fault};
use crate::entry::Entry;
use crate::limits::ANSWER_BYTES_MAX;
use crate::long_work;
use crate::refusal::Refusal;
use crate::validation::Strictness;

/// Members of a result that decide whether and how it is checked.
static JUDGED: Keys<3> = Keys::new(["structuredContent", "isError", "resultType"]);

/// Source of the verdict on structured content.
enum Judge {
    /// Checked on the serving thread, with the short budget.
    Brief,
    /// Checked before, on the long-work thread.
    Known(Result<(), Violations>),
}

impl Judge {
    fn check(&self, entry: &Entry, content: Node<'_>) -> Result<(), Violations> {
        match self {
            Self::Brief => entry.contract().check_output_briefly(content),
            Self::Known(outcome) => outcome.clone(),
        }
    }

    /// Returns true if these violations only say that the short budget was exceeded.
    const fn needs_longer(&self, violations: &Violations) -> bool {
        matches!(self, Self::Brief) && violations.is_unfinished()
    }
}

impl<'a> Call<'a, Executed> {
    #[inline(always)]
    pub(super) fn verify(self) -> Result<Briefly<Call<'a, Verified>, Self>, Refusal> {
        let change = match self.inspect(&Judge::Brief) {
            Err(Refusal::OutputInvalid(violations)) if Judge::Brief.needs_longer(&violations) => {
                return Ok(Briefly::Unfinished(self));
            }
            outcome => outcome?,
        };
        self.verified(change).map(Briefly::Done)
    }

    /// Checks the answer on the long-work thread, with the full budget of a check.
    pub(super) async fn verify_at_length(self) -> Result<Call<'a, Verified>, Refusal> {
        let entry = self.stage.entry.clone();
        let text = match &self.stage.outcome {
            Outcome::Answer(answer) => structured_text(answer),
            Outcome::Asks(_) => None,
        };
        let Some(text) = text else { return Err(Refusal::AnswerMalformed) };
        let checked = long_work::run(move || {
            let document = Document::parse(text.as_bytes(), &answer_limits()).ok()?;
            Some(entry.contract().check_output(document.root()))
        });
        let checked = checked.await.map_err(Refusal::LongWork)?.ok_or(Refusal::AnswerMalformed)?;
        let change = self.inspect(&Judge::Known(checked))?;
        self.verified(change)
    }

    /// Returns the result to send in place of the answer, if the answer has to change.
    fn inspect(&self, judge: &Judge) -> Result<Option<Box<str>>, Refusal> {
        match &self.stage.outcome {
            Outcome::Answer(answer) => inspect(self.engine, &self.stage.entry, answer, judge),
            Outcome::Asks(_) => Ok(None),
        }
    }

    fn verified(self, change: Option<Box<str>>) -> Result<Call<'a, Verified>, Refusal> {
        let Executed { inner, outcome, .. } = self.stage;
        let verified = match outcome {
            Outcome::Answer(answer) => {
                let answer = changed(answer, change);
                Outcome::Answer(if inner { as_call_tool(answer)? } else { answer })
            }
            asks @ Outcome::Asks(_) => asks,
        };
        Ok(Call {
            engine: self.engine,
            caller: self.caller,
            request: self.request,
            stage: Verified(verified),
        })
    }
}

fn inspect(
    engine: &Engine,
    entry: &Entry,
    answer: &Answer,
    judge: &Judge,
) -> Result<Option<Box<str>>, Refusal> {
    if answer.size() > ANSWER_BYTES_MAX {
        return Err(Refusal::AnswerTooLarge { bytes_max: ANSWER_BYTES_MAX });
    }
    match answer {
        Answer::Built(result) => inspect_built(engine, entry, result, judge).map(|()| None),
        Answer::Raw(raw) => {
            let document =
                Document::parse(raw.as_bytes(), &answer_limits()).map_err(|_| Refusal::AnswerMalformed)?;
            inspect_result(engine, entry, document.root(), judge)
        }
        Answer::Forwarded(forwarded) => inspect_result(engine, entry, forwarded.result(), judge),
    }
}

fn inspect_built(engine: &Engine, entry: &Entry, result: &ToolResult, judge: &Judge) -> Result<(), Refusal> {
    if result.is_error || entry.contract().output().is_none() {
        return Ok(());
    }
    let Some(structured) = &result.structured else { return Err(missing(engine, entry)) };
    let document =
        Document::parse(structured.as_bytes(), &answer_limits()).map_err(|_| Refusal::AnswerMalformed)?;
    judge.check(entry, document.root()).map_err(|violations| invalid(engine, entry, judge, violations))
}

/// Inspects a whole result as JSON; returns the result to send in its place, if it has to change.
fn inspect_result(
    engine: &Engine,
    entry: &Entry,
    result: Node<'_>,
    judge: &Judge,
) -> Result<Option<Box<str>>, Refusal> {
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
    let Some(structured) = structured else {
        let refusal = missing(engine, entry);
        return if mode == Strictness::Warn { Ok(None) } else { Err(refusal) };
    };
    let Err(violations) = judge.check(entry, structured) else { return Ok(None) };
    let is_decided = !judge.needs_longer(&violations);
    let refusal = invalid(engine, entry, judge, violations);
    // Under `warn` the violation was reported, and the operator wants the answer passed on.
    if mode == Strictness::Warn && is_decided { Ok(None) } else { Err(refusal) }
}

/// Returns the structured content of an answer, as raw JSON.
fn structured_text(answer: &Answer) -> Option<Box<str>> {
    match answer {
        Answer::Built(result) => result.structured.clone(),
        Answer::Raw(raw) => {
            let document = Document::parse(raw.as_bytes(), &answer_limits()).ok()?;
            Some(document.root().get("structuredContent")?.raw().into())
        }
        Answer::Forwarded(forwarded) => Some(forwarded.result().get("structuredContent")?.raw().into()),
    }
}

/// Returns the answer as it leaves: `change` if given; else without structured content if it is an error, and with
/// the structured content as a text block if the handler gave no text (R2.6).
fn changed(answer: Answer, change: Option<Box<str>>) -> Answer {
    match (answer, change) {
        (_, Some(change)) => Answer::Raw(change),
        (Answer::Built(mut result), None) => {
            if result.is_error {
                result.structured = None;
            } else if let Some(structured) = &result.structured
                && !result.content.iter().any(crate::content::Content::is_text)
            {
                result.content.push(crate::content::Content::text(structured));
            }
            Answer::Built(result)
        }
        (answer, None) => answer,
    }
}

fn answer_limits() -> Limits {
    Limits::message().with_bytes_max(ANSWER_BYTES_MAX)
}

fn invalid(engine: &Engine, entry: &Entry, judge: &Judge, violations: Violations) -> Refusal {
    if judge.needs_longer(&violations) {
        return Refusal::OutputInvalid(violations);
    }
    engine.report(&Fault::OutputInvalid { tool: entry.name(), violations: &violations });
    Refusal::OutputInvalid(violations)
}

fn missing(engine: &Engine, entry: &Entry) -> Refusal {
    engine.report(&Fault::OutputMissing { tool: entry.name() });
    Refusal::OutputMissing
}

/// Returns an inner tool's answer in the form that `call_tool` promises: structured content that is an object.
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

/// Returns a whole result whose structured content is an object, if the result has to change for that.
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

/// Returns an object with the joined text of the content blocks.
fn text_of(blocks: &str) -> Result<Box<str>, Refusal> {
    let document =
        Document::parse(blocks.as_bytes(), &answer_limits()).map_err(|_| Refusal::AnswerMalformed)?;
    let texts = document.root().elements().filter_map(|block| block.get("text")?.as_str());
    let mut object = ObjectWriter::new();
    object.string("text", &texts.collect::<Vec<_>>().join("\n"));
    Ok(object.finish().into())
}
