//! The person at the terminal, who confirms a call and answers elicitations during it.
//!
//! Guarantees: a question is asked only if standard input and standard error are terminals. Otherwise it is declined,
//! and standard error names a question of the server. End of input cancels.

use std::io::IsTerminal as _;

use serde_json::{Map, Value, json};
use toolcrib::Asked;
use toolcrib_contract::text::one_line;

use super::questionnaire::Questionnaire;

/// Prefix of the key of the gate's confirmation question.
const CONFIRMATION: &str = "toolcrib-confirm-";

/// Maximum characters of a question in the message that it was declined.
const MENTION_CHARS: usize = 120;

#[derive(Debug, Default)]
pub(super) struct Person {
    is_there: bool,
    /// The gate asked for a confirmation and no terminal was there to answer.
    pub(super) was_missing: bool,
    /// The person did not confirm the call.
    pub(super) declined: bool,
}

impl Person {
    pub(super) fn at_terminal() -> Self {
        let is_there = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        Self { is_there, ..Self::default() }
    }

    /// Returns the client capabilities to declare. With `--yes` and no terminal none are declared: a gateway behind
    /// this one has other ways to ask.
    pub(super) fn capabilities(&self, agreed: bool) -> Map<String, Value> {
        let declared = match (self.is_there, agreed) {
            (true, _) => json!({"elicitation": {"form": {}, "url": {}}}),
            (false, false) => json!({"elicitation": {"form": {}}}),
            (false, true) => json!({}),
        };
        declared.as_object().cloned().unwrap_or_default()
    }

    /// Answers one elicitation, as a client would.
    pub(super) fn answer(&mut self, asked: Asked<'_>) -> Value {
        if asked.method != "elicitation/create" {
            return json!({"action": "cancel"});
        }
        let confirms = asked.key.starts_with(CONFIRMATION);
        let answer = if self.is_there {
            self.ask(asked, confirms)
        } else {
            if !confirms {
                let message = asked.params.get("message").and_then(Value::as_str).unwrap_or_default();
                let mention: String = one_line(message).chars().take(MENTION_CHARS).collect();
                eprintln!(
                    "toolcrib: the server asks {mention:?}; declined, because there is no terminal to answer at"
                );
            }
            self.was_missing |= confirms;
            json!({"action": "decline"})
        };
        let is_yes = answer.pointer("/content/confirm") == Some(&Value::Bool(true));
        self.declined |= confirms && !is_yes;
        answer
    }

    fn ask(&self, asked: Asked<'_>, confirms: bool) -> Value {
        let (input, output) = (std::io::stdin().lock(), std::io::stderr().lock());
        let mut questionnaire = Questionnaire::new(input, output);
        // An I/O error of the terminal cancels.
        let answered = questionnaire.answer(asked.params, confirms);
        answered.unwrap_or_else(|_| json!({"action": "cancel"}))
    }
}
