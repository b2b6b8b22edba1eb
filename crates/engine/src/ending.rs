//! [`Ending`] of a call: done, failed, asked, refused or unknown.
//!
//! An ending is judged once, in `stage::live`. Journal, audit, metrics, spans and log are given that value (R12.1:
//! what became of a call is judged once).

use toolcrib_contract::json::{Document, Limits, Node};

use crate::answer::Answer;
use crate::limits::ANSWER_BYTES_MAX;
use crate::refusal::Refusal;

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Ending {
    /// The tool ran to its end. Its answer may still break the output schema, which does not undo the call's effects.
    Done,
    /// The call certainly had no effect, or the tool said that it failed.
    Failed,
    /// The client or a person was asked something before the tool did anything.
    Asked,
    /// The call never reached the tool.
    Refused,
    /// The call was sent or started, and its effect is not known. It is never retried automatically.
    Unknown,
}

impl Ending {
    pub const ALL: [Self; 5] = [Self::Done, Self::Failed, Self::Asked, Self::Refused, Self::Unknown];

    /// Returns the word for the ending in records and messages.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Asked => "asked",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the ending that a word stands for.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ending| ending.word() == word)
    }

    /// Returns true for failed, refused and unknown.
    #[must_use]
    pub const fn is_trouble(self) -> bool {
        !matches!(self, Self::Done | Self::Asked)
    }

    /// Judges a call that did not reach its tool.
    pub(crate) const fn before_the_tool(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::Asks(_) => Self::Asked,
            _ => Self::Refused,
        }
    }

    /// Judges a call that reached its tool and got no answer.
    pub(crate) const fn without_answer(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::Asks(_) => Self::Asked,
            Refusal::Failed(_)
            | Refusal::Protocol(_)
            | Refusal::MissingCapability(_)
            | Refusal::BadState(_)
            | Refusal::CannotSeal(_) => Self::Failed,
            _ => Self::Unknown,
        }
    }

    /// Judges a call by the tool's answer.
    pub(crate) fn by_answer(answer: &Answer) -> Self {
        let by_flag = |is_error: bool| if is_error { Self::Failed } else { Self::Done };
        match answer {
            Answer::Built(result) => by_flag(result.is_error),
            Answer::Forwarded(forwarded) => by_flag(says_error(forwarded.result())),
            Answer::Raw(raw) => {
                let limits = Limits::message().with_bytes_max(ANSWER_BYTES_MAX);
                match Document::parse(raw.as_bytes(), &limits) {
                    Ok(document) if document.root().is_object() => by_flag(says_error(document.root())),
                    // An unreadable answer says nothing about the effect.
                    _ => Self::Unknown,
                }
            }
        }
    }
}

fn says_error(result: Node<'_>) -> bool {
    result.get("isError").and_then(Node::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::ToolResult;

    #[test]
    fn an_ending_is_found_by_its_word() {
        for ending in Ending::ALL {
            assert_eq!(Ending::named(ending.word()), Some(ending));
        }
        assert_eq!(Ending::named("open"), None);
    }

    /// R12.2: an answer with `isError` is *failed*; an unreadable answer is *unknown*.
    #[test]
    fn an_answer_says_itself_whether_the_tool_failed() {
        let raw = |text: &str| Ending::by_answer(&Answer::Raw(text.into()));
        assert_eq!(raw(r#"{"content":[]}"#), Ending::Done);
        assert_eq!(raw(r#"{"content":[],"isError":true}"#), Ending::Failed);
        assert_eq!(raw("[]"), Ending::Unknown);
        assert_eq!(raw("{"), Ending::Unknown);
        assert_eq!(Ending::by_answer(&Answer::from(ToolResult::error("no"))), Ending::Failed);
        assert_eq!(Ending::by_answer(&Answer::from(ToolResult::text("yes"))), Ending::Done);
    }

    /// R12.1, R12.2: a call that was started and not answered is unknown, unless the tool said that it failed.
    #[test]
    fn a_call_without_an_answer_is_unknown_unless_the_tool_said_so() {
        let ended = |refusal: Refusal| Ending::without_answer(&refusal);
        assert_eq!(ended(Refusal::Failed("no".into())), Ending::Failed);
        for refusal in [
            Refusal::Lost("gone".into()),
            Refusal::Panicked,
            Refusal::TooSlow { ms_max: 1 },
            Refusal::Cancelled,
            Refusal::AnswerMalformed,
        ] {
            assert_eq!(ended(refusal), Ending::Unknown);
        }
        assert_eq!(Ending::before_the_tool(&Refusal::Cancelled), Ending::Refused);
        assert_eq!(Ending::before_the_tool(&Refusal::Asks(Vec::new())), Ending::Asked);
    }
}
