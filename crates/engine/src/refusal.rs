//! [`Refusal`]: every reason why a request fails, and the one table from reasons to what the client gets.
//!
//! Guarantees: a protocol error is never mixed up with a tool's failure; every refusal has an answer (a cancelled
//! request gets none, as the specification demands); private details such as values and panic messages stay out of
//! it.

use std::borrow::Cow;

use toolcrib_contract::Violations;
use toolcrib_protocol::header::Mismatch;
use toolcrib_protocol::{Capability, Code, Era, Revision, RpcError};

use crate::answer::ToolResult;
use crate::hub::TooManySubscriptions;
use crate::listing::BadCursor;
use crate::long_work::LongWorkError;
use crate::quota::Full;
use crate::round::{BadState, CannotSeal};
use crate::session::TooManyInFlight;
use crate::template::{TooMuchWork, UriTooLong};

/// Reason why a request got no ordinary answer.
#[derive(Debug)]
pub enum Refusal {
    MethodNotFound(Box<str>),
    /// Modern: `_meta` lacks a required member.
    BadMeta(Box<RpcError>),
    Header(Mismatch),
    UnsupportedVersion(Box<str>),
    InvalidParams(Box<RpcError>),
    UnknownTool(Box<str>),
    UnknownPrompt(Box<str>),
    ResourceNotFound(Box<str>),
    BadCursor(BadCursor),
    BadState(BadState),
    MissingCapability(Capability),
    BadArguments(Violations),
    /// The handler failed with this text.
    Failed(Cow<'static, str>),
    /// The call was forwarded and its outcome is not known.
    Lost(Cow<'static, str>),
    /// JSON-RPC error that the tool returned.
    Protocol(Box<RpcError>),
    Panicked,
    TooSlow {
        ms_max: u64,
    },
    OutputInvalid(Violations),
    OutputMissing,
    AnswerMalformed,
    AnswerTooLarge {
        bytes_max: usize,
    },
    CannotSeal(CannotSeal),
    Busy(TooManyInFlight),
    LongWork(LongWorkError),
    TooManySubscriptions(TooManySubscriptions),
    NeedsStream,
    Cancelled,
    /// The gate refused the call; the result says why and what to do.
    Gated(Box<ToolResult>),
    /// The client must answer a question first: an `input_required` result without its closing brace.
    Asks(Vec<u8>),
}

/// Form in which bad arguments are reported (R2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BadArguments {
    /// Depends on the peer's revision: a tool result from 2025-11-25 on, a JSON-RPC error before.
    #[default]
    ByRevision,
    AsResult,
    AsError,
}

/// Kind of request that was refused: only a tool call can fail with a tool result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    ToolCall,
    Other,
}

/// Answer that the client gets for a refusal.
#[derive(Debug, PartialEq, Eq)]
pub enum Rescued {
    Error {
        status: u16,
        error: RpcError,
    },
    Result(ToolResult),
    /// `input_required` result without its closing brace.
    Asks(Vec<u8>),
    /// No answer: the request was cancelled.
    Silence,
}

impl Refusal {
    /// Maps the refusal to an answer; the only such table.
    #[must_use]
    pub fn rescue(self, scope: Scope, revision: Revision, bad_arguments: BadArguments) -> Rescued {
        let era = revision.era();
        match self {
            Self::MethodNotFound(method) => error(404, era, RpcError::method_not_found(&method)),
            Self::BadMeta(cause) => error(400, era, *cause),
            Self::Header(mismatch) => {
                error(400, era, RpcError::new(Code::HeaderMismatch.for_era(era), mismatch.to_string()))
            }
            Self::UnsupportedVersion(version) => error(400, era, RpcError::unsupported_version(&version)),
            Self::InvalidParams(cause) | Self::Protocol(cause) => error(200, era, *cause),
            Self::UnknownTool(name) => error(200, era, unknown("tool", &name)),
            Self::UnknownPrompt(name) => error(200, era, unknown("prompt", &name)),
            Self::ResourceNotFound(uri) => error(200, era, RpcError::resource_not_found(&uri, era)),
            Self::BadCursor(cause) => error(200, era, RpcError::new(Code::InvalidParams, cause.to_string())),
            Self::BadState(cause) => error(200, era, RpcError::new(Code::InvalidParams, cause.to_string())),
            Self::MissingCapability(capability) => match era {
                Era::Modern => error(400, era, capability.missing()),
                Era::Legacy => failed(
                    scope,
                    era,
                    format!("This needs a client that supports {}.", capability.name()).into(),
                ),
            },
            Self::BadArguments(violations) => bad_arguments_told(&violations, revision, bad_arguments),
            Self::Failed(text) | Self::Lost(text) => failed(scope, era, text),
            Self::Panicked => failed(scope, era, "The tool failed unexpectedly.".into()),
            Self::TooSlow { ms_max } => failed(
                scope,
                era,
                format!("The tool did not finish within {ms_max} ms and was stopped.").into(),
            ),
            Self::OutputInvalid(violations) => {
                failed(scope, era, format!("Output validation failed: {}", violations.one_line()).into())
            }
            Self::OutputMissing => {
                failed(scope, era, "Output validation failed: the tool gave no structured content".into())
            }
            Self::AnswerMalformed => failed(scope, era, "The tool's answer is not a valid result.".into()),
            Self::AnswerTooLarge { bytes_max } => {
                failed(scope, era, format!("The tool's answer is over {bytes_max} bytes.").into())
            }
            Self::CannotSeal(cause) => error(200, era, RpcError::new(Code::InternalError, cause.to_string())),
            Self::LongWork(cause) => {
                failed(scope, era, format!("The call could not be checked: {cause}.").into())
            }
            Self::Busy(cause) => error(200, era, RpcError::new(Code::InvalidRequest, cause.to_string())),
            Self::TooManySubscriptions(cause) => {
                let status = match cause {
                    TooManySubscriptions::Session => 200,
                    TooManySubscriptions::Full(Full::Share(_)) => 429,
                    TooManySubscriptions::Full(Full::Total(_)) => 503,
                };
                error(status, era, RpcError::new(Code::InvalidParams, cause.to_string()))
            }
            Self::NeedsStream => error(
                406,
                era,
                RpcError::new(
                    Code::InvalidRequest,
                    "this method answers with a stream, which the client does not accept",
                ),
            ),
            Self::Cancelled => Rescued::Silence,
            Self::Gated(result) => Rescued::Result(*result),
            Self::Asks(required) => Rescued::Asks(required),
        }
    }
}

fn bad_arguments_told(violations: &Violations, revision: Revision, how: BadArguments) -> Rescued {
    let as_result = match how {
        BadArguments::ByRevision => revision.reports_bad_arguments_as_result(),
        BadArguments::AsResult => true,
        BadArguments::AsError => false,
    };
    if as_result {
        return Rescued::Result(ToolResult::error(format!(
            "Invalid arguments. Correct them and call the tool again:\n{}",
            violations.list()
        )));
    }
    let message = format!("Invalid arguments: {}", violations.one_line());
    error(200, revision.era(), RpcError::new(Code::InvalidParams, message))
}

fn failed(scope: Scope, era: Era, text: Cow<'static, str>) -> Rescued {
    match scope {
        Scope::ToolCall => Rescued::Result(ToolResult::error(text)),
        Scope::Other => error(200, era, RpcError::new(Code::InternalError, text)),
    }
}

fn unknown(what: &str, name: &str) -> RpcError {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
    RpcError::new(Code::InvalidParams, format!("Unknown {what}: {shown}"))
}

/// Legacy peers get JSON-RPC errors with HTTP 200; 406, 429 and 503 are sent in both eras.
fn error(status: u16, era: Era, error: RpcError) -> Rescued {
    let status = if era == Era::Legacy && !matches!(status, 406 | 429 | 503) { 200 } else { status };
    Rescued::Error { status, error }
}

impl From<Mismatch> for Refusal {
    fn from(mismatch: Mismatch) -> Self {
        Self::Header(mismatch)
    }
}

impl From<BadCursor> for Refusal {
    fn from(cause: BadCursor) -> Self {
        Self::BadCursor(cause)
    }
}

impl From<BadState> for Refusal {
    fn from(cause: BadState) -> Self {
        Self::BadState(cause)
    }
}

impl From<CannotSeal> for Refusal {
    fn from(cause: CannotSeal) -> Self {
        Self::CannotSeal(cause)
    }
}

impl From<TooManyInFlight> for Refusal {
    fn from(cause: TooManyInFlight) -> Self {
        Self::Busy(cause)
    }
}

impl From<UriTooLong> for Refusal {
    fn from(cause: UriTooLong) -> Self {
        RpcError::new(Code::InvalidParams, cause.to_string()).into()
    }
}

impl From<TooMuchWork> for Refusal {
    fn from(cause: TooMuchWork) -> Self {
        RpcError::new(Code::InvalidParams, cause.to_string()).into()
    }
}

impl From<TooManySubscriptions> for Refusal {
    fn from(cause: TooManySubscriptions) -> Self {
        Self::TooManySubscriptions(cause)
    }
}

/// An `RpcError` from reading parameters.
impl From<RpcError> for Refusal {
    fn from(cause: RpcError) -> Self {
        Self::InvalidParams(Box::new(cause))
    }
}
