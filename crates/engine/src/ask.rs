//! Questions to the client: elicitation, sampling, roots.
//!
//! One `ask` serves both eras. A legacy client is asked on the call's own stream while the handler waits. A modern
//! client gets `input_required`; it calls again with the answers, and the handler runs again from its start and finds
//! them.

use std::fmt;

use serde_json::{Value, json};
use toolcrib_contract::json::{Document, Limits, Node};
use toolcrib_protocol::{Capability, RpcError};

/// One question to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub(crate) method: &'static str,
    /// Raw JSON object.
    pub(crate) params: Box<str>,
    pub(crate) capability: Capability,
}

impl Question {
    /// Asks the user to fill in a form: a flat object schema of strings, numbers, booleans and enums. Never for
    /// secrets.
    #[must_use]
    pub fn elicit(message: &str, requested_schema: &Value) -> Self {
        let params = json!({ "mode": "form", "message": message, "requestedSchema": requested_schema });
        Self {
            method: "elicitation/create",
            params: params.to_string().into(),
            capability: Capability::ElicitationForm,
        }
    }

    /// Asks the user to open a page. Acceptance is consent to open it, not completion.
    #[must_use]
    pub fn elicit_url(message: &str, url: &str) -> Self {
        let params = json!({ "mode": "url", "message": message, "url": url });
        Self {
            method: "elicitation/create",
            params: params.to_string().into(),
            capability: Capability::ElicitationUrl,
        }
    }

    /// Asks for a completion by the client's model; `params` as in `sampling/createMessage`.
    #[must_use]
    pub fn sample(params: &Value) -> Self {
        Self {
            method: "sampling/createMessage",
            params: params.to_string().into(),
            capability: Capability::Sampling,
        }
    }

    /// Asks for the client's roots.
    #[must_use]
    pub fn roots() -> Self {
        Self { method: "roots/list", params: "{}".into(), capability: Capability::Roots }
    }

    /// Relays a request of an upstream server to its client; `None` if the method is none of these or `params` is no
    /// object.
    #[must_use]
    pub fn relay(method: &str, params: Node<'_>) -> Option<Self> {
        let is_url = params.get("mode").is_some_and(|mode| mode.is_text("url"));
        let (method, capability) = match method {
            "elicitation/create" if is_url => ("elicitation/create", Capability::ElicitationUrl),
            "elicitation/create" => ("elicitation/create", Capability::ElicitationForm),
            "sampling/createMessage" => ("sampling/createMessage", Capability::Sampling),
            "roots/list" => ("roots/list", Capability::Roots),
            _ => return None,
        };
        params.is_object().then(|| Self { method, params: params.to_compact().into(), capability })
    }

    #[must_use]
    pub fn capability(&self) -> Capability {
        self.capability
    }

    /// Returns true if an answer has the shape of its method; a modern client with a malformed answer is asked again.
    pub(crate) fn fits(&self, answer: Node<'_>) -> bool {
        let text = |name: &str| answer.get(name).and_then(Node::as_str);
        match self.capability {
            Capability::ElicitationForm | Capability::ElicitationUrl => match text("action").as_deref() {
                Some("accept") => self.accepts(answer.get("content")),
                Some("decline" | "cancel") => true,
                _ => false,
            },
            Capability::Sampling => text("role").is_some() && answer.get("content").is_some(),
            Capability::Roots => answer.get("roots").is_some_and(Node::is_array),
        }
    }

    /// Checks the content of an accepted form for required members and plain types. The specification makes the
    /// schema flat, so only formats and bounds stay unchecked, and the handler sees those.
    fn accepts(&self, content: Option<Node<'_>>) -> bool {
        if self.capability == Capability::ElicitationUrl {
            return true;
        }
        let Some(content) = content.filter(|content| content.is_object()) else { return false };
        let Ok(params) = Document::parse(self.params.as_bytes(), &Limits::message()) else { return false };
        let Some(schema) = params.root().get("requestedSchema") else { return true };
        let required = schema.get("required").into_iter().flat_map(Node::elements);
        let complete = required.filter_map(Node::as_str).all(|name| content.get(&name).is_some());
        complete
            && schema.get("properties").into_iter().flat_map(Node::members).all(|(name, property)| {
                let value = name.as_str().and_then(|name| content.get(&name));
                value.is_none_or(|value| fits_property(value, property))
            })
    }
}

fn fits_property(value: Node<'_>, property: Node<'_>) -> bool {
    let kind = value.kind().name();
    let typed = match property.get("type").and_then(Node::as_str).as_deref() {
        None => true,
        Some("integer") => {
            kind == "number" && value.as_number().is_some_and(|number| number.as_f64().fract() == 0.0)
        }
        Some(wanted) => wanted == kind,
    };
    let listed = property.get("enum").is_none_or(|options| {
        options.elements().any(|option| option.as_str().is_some_and(|option| value.is_text(&option)))
    });
    let titled = property.get("oneOf").is_none_or(|options| {
        options
            .elements()
            .filter_map(|option| option.get("const")?.as_str())
            .any(|option| value.is_text(&option))
    });
    typed && listed && titled
}

/// Client's answer as raw JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply(pub(crate) Box<str>);

/// User's response to a form or page.
#[derive(Debug, Clone, PartialEq)]
pub enum Elicited {
    Accepted(Value),
    Declined,
    Cancelled,
}

impl Reply {
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or(Value::Null)
    }

    /// Reads the answer as the response to an elicitation.
    #[must_use]
    pub fn elicited(&self) -> Elicited {
        let mut value = self.value();
        match value.get("action").and_then(Value::as_str) {
            Some("accept") => Elicited::Accepted(value.get_mut("content").map_or(json!({}), Value::take)),
            Some("decline") => Elicited::Declined,
            _ => Elicited::Cancelled,
        }
    }
}

/// Questions that a modern client has to answer before the call can go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputRequired {
    pub(crate) questions: Vec<(Box<str>, Question)>,
}

impl InputRequired {
    /// For a tool that relays questions of another server.
    #[must_use]
    pub fn new(questions: Vec<(Box<str>, Question)>) -> Self {
        Self { questions }
    }
}

/// Reason why a question got no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskError {
    /// The client must answer first and call again; return this from the handler with `?`.
    InputRequired(Box<InputRequired>),
    /// The client did not declare the capability for this question.
    NotDeclared(Capability),
    /// There is no stream or session on which this client could be asked.
    Unreachable,
    /// The client answered with an error.
    Refused(RpcError),
    /// The client did not answer in time.
    TooLate,
    /// The call was cancelled while it waited for the answer.
    Cancelled,
    /// The answer does not have the shape that was asked for.
    Malformed,
    /// More questions than one call may ask at once.
    TooMany,
}

// Not `std::error::Error`: otherwise the blanket `From` of `ToolError` would make it a handler's failure.
impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InputRequired(_) => f.write_str("the client has to answer first"),
            Self::NotDeclared(capability) => {
                write!(f, "this needs a client that supports {}", capability.name())
            }
            Self::Unreachable => {
                f.write_str("this client cannot be asked: it has no session or accepts no stream")
            }
            Self::Refused(error) => write!(f, "the client refused to answer: {}", error.message),
            Self::TooLate => f.write_str("the client did not answer in time"),
            Self::Cancelled => f.write_str("the call was cancelled"),
            Self::Malformed => f.write_str("the client's answer does not have the shape that was asked for"),
            Self::TooMany => f.write_str("too many questions at once"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(question: &Question, answer: &str) -> bool {
        question.fits(Document::parse(answer.as_bytes(), &Limits::message()).unwrap().root())
    }

    #[test]
    fn an_answer_must_have_the_shape_that_was_asked_for() {
        let form = Question::elicit(
            "m",
            &json!({"type": "object", "properties": {"n": {"type": "integer"}, "c": {"type": "string", "enum": ["a"]}},
                "required": ["n"]}),
        );
        assert!(fits(&form, r#"{"action":"accept","content":{"n":1}}"#));
        assert!(fits(&form, r#"{"action":"decline"}"#));
        assert!(!fits(&form, r#"{"action":"accept"}"#));
        assert!(!fits(&form, r#"{"action":"accept","content":{}}"#));
        assert!(!fits(&form, r#"{"action":"accept","content":{"n":"1"}}"#));
        assert!(!fits(&form, r#"{"action":"accept","content":{"n":1.5}}"#));
        assert!(!fits(&form, r#"{"action":"accept","content":{"n":1,"c":"b"}}"#));
        assert!(!fits(&form, r#"{"action":"maybe"}"#));
        assert!(!fits(&form, "7"));
        assert!(fits(&Question::roots(), r#"{"roots":[]}"#));
        assert!(!fits(&Question::roots(), r#"{"roots":{}}"#));
    }
}
