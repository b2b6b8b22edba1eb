//! Size budget of answers: an answer over the operator's limit is kept, and a shorter one with a link to it is sent.
//!
//! Guarantees: the sent answer is within the budget and a valid result; its structured content is an excerpt that
//! satisfies the output schema. The kept answer is the server's own text, byte for byte; only the calling principal
//! can read it, for a limited time, and the memory of all kept answers is bounded. If no shorter answer is valid, the
//! whole one is sent.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use toolcrib_contract::Schema;
use toolcrib_contract::json::{Limits, Node, OwnedDocument};
use toolcrib_engine::{
    Answer, BoxFuture, Content, Forwarded, Invocation, Principal, SessionId, Tool, ToolError, ToolResult,
};
use toolcrib_protocol::write;

use crate::excerpt::{beginning, excerpt};
use crate::limits::{KEPT_ANSWER_MS_MAX, KEPT_ANSWERS_BYTES_MAX, SHOWN_ANSWER_BYTES_MAX};

const SCHEME: &str = "toolcrib-result://";

/// Bytes reserved for the note and the link in a shortened answer.
const FRAME_BYTES: usize = 512;

struct Kept {
    uri: String,
    principal: Principal,
    text: String,
    since: Instant,
}

/// Kept answers of all tools. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Shelf(Arc<Mutex<VecDeque<Kept>>>);

impl Shelf {
    fn put(&self, principal: &Principal, text: String) -> Option<String> {
        if text.len() > KEPT_ANSWERS_BYTES_MAX {
            return None;
        }
        let uri = format!("{SCHEME}{}", SessionId::random().ok()?.as_str());
        let mut kept = self.current();
        let mut bytes = kept.iter().map(|one| one.text.len()).sum::<usize>() + text.len();
        while bytes > KEPT_ANSWERS_BYTES_MAX {
            bytes -= kept.pop_front()?.text.len();
        }
        kept.push_back(Kept { uri: uri.clone(), principal: principal.clone(), text, since: Instant::now() });
        Some(uri)
    }

    /// Removes expired answers; the rest is ordered from oldest to newest.
    fn current(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = Duration::from_millis(KEPT_ANSWER_MS_MAX);
        while kept.front().is_some_and(|one| one.since.elapsed() > oldest) {
            kept.pop_front();
        }
        kept
    }

    /// Returns the result of `resources/read`: `None` if the URI is not of a kept answer, `NotFound` if it expired or
    /// belongs to another principal.
    pub(crate) fn read(&self, uri: &str, principal: &Principal) -> Option<Result<Forwarded, ToolError>> {
        if !uri.starts_with(SCHEME) {
            return None;
        }
        let kept = self.current();
        let found = kept.iter().find(|one| one.uri == uri && one.principal == *principal);
        let Some(found) = found else { return Some(Err(ToolError::NotFound)) };
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":0,"result":{{"contents":[{{"uri":{},"mimeType":"application/json","text":{}}}]}}}}"#,
            write::quoted(uri),
            write::quoted(&found.text)
        );
        let limits = Limits::message().with_bytes_max(KEPT_ANSWERS_BYTES_MAX * 2);
        let document = OwnedDocument::parse_passing(text, &limits).ok();
        Some(document.and_then(Forwarded::new).ok_or(ToolError::NotFound))
    }
}

/// Wrapper of a tool whose answers have a size budget.
pub(crate) struct Budgeted {
    tool: Arc<dyn Tool>,
    bytes_max: usize,
    /// Output schema of the contract.
    promised: Option<Arc<Schema>>,
    shelf: Shelf,
}

impl Budgeted {
    pub(crate) fn new(
        tool: Arc<dyn Tool>,
        bytes_max: usize,
        promised: Option<Arc<Schema>>,
        shelf: Shelf,
    ) -> Self {
        Self { tool, bytes_max, promised, shelf }
    }

    /// Returns the shortened answer; `None` if no shorter one is valid.
    fn shorten(&self, forwarded: &Forwarded, principal: &Principal) -> Option<Answer> {
        let result = forwarded.result();
        let is_error = result.get("isError").and_then(Node::as_bool) == Some(true);
        // An error has no structured content. Content that breaks the contract is left to the output check.
        let structured = result.get("structuredContent").filter(|_| !is_error);
        if let Some(promised) = self.promised.as_deref().filter(|_| !is_error)
            && !structured.is_some_and(|structured| promised.accepts(structured))
        {
            return None;
        }
        let room = self.bytes_max.saturating_sub(FRAME_BYTES);
        let short = match structured {
            None => None,
            Some(structured) => {
                let short = excerpt(structured, room / 2, self.promised.as_deref());
                if short.is_none() {
                    tracing::warn!(target: "toolcrib", "an answer of {} bytes has no shorter form that keeps its schema", result.raw().len());
                }
                Some(short?)
            }
        };
        let uri = self.shelf.put(principal, result.raw().to_owned())?;
        let texts = result.get("content").into_iter().flat_map(Node::elements);
        let texts: Vec<String> =
            texts.filter_map(|block| Some(block.get("text")?.as_str()?.into_owned())).collect();
        let room = room - short.as_deref().map_or(0, str::len);
        let shown = texts.join("\n");
        let shown = beginning(&shown, room.min(SHOWN_ANSWER_BYTES_MAX));
        let note = format!(
            "{shown}\n\n[The answer has {} bytes, more than the {} that are sent. The whole of it is the resource {uri}.]",
            result.raw().len(),
            self.bytes_max
        );
        let mut answer = ToolResult::text(note).with(Content::resource_link(&uri, "the whole answer"));
        if let Some(short) = short {
            let raw = serde_json::value::RawValue::from_string(short).ok()?;
            answer = answer.with_structured(&raw).ok()?;
        }
        Some(if is_error { answer.failed() } else { answer }.into())
    }
}

impl Tool for Budgeted {
    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async move {
            let principal = invocation.context.principal().clone();
            let answer = self.tool.call(invocation).await?;
            match &answer {
                Answer::Forwarded(forwarded) if answer.size() > self.bytes_max => {
                    Ok(self.shorten(forwarded, &principal).unwrap_or(answer))
                }
                _ => Ok(answer),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(shelf: &Shelf, uri: &str, principal: &Principal) -> Result<String, ToolError> {
        let forwarded = shelf.read(uri, principal).unwrap()?;
        let contents = forwarded.result().get("contents").unwrap();
        let text = contents.elements().next().unwrap().get("text").unwrap();
        Ok(text.as_str().unwrap().into_owned())
    }

    /// R5.10: a kept answer belongs to its caller alone, is unchanged, and expires.
    #[tokio::test(start_paused = true)]
    async fn an_answer_is_kept_for_its_caller_for_kept_answer_ms_max() {
        let shelf = Shelf::default();
        let (me, you) = (Principal::subject("me"), Principal::subject("you"));
        let text = "{ \"n\": 1.50,\n\"t\": \"\\u00e9é\" }";
        let uri = shelf.put(&me, text.to_owned()).unwrap();
        assert_eq!(read(&shelf, &uri, &me).unwrap(), text);
        assert!(matches!(read(&shelf, &uri, &you), Err(ToolError::NotFound)));
        assert!(shelf.read("file:///x", &me).is_none(), "somebody else's address");
        tokio::time::advance(Duration::from_millis(KEPT_ANSWER_MS_MAX)).await;
        assert!(read(&shelf, &uri, &me).is_ok());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(matches!(read(&shelf, &uri, &me), Err(ToolError::NotFound)));
        assert!(shelf.0.lock().unwrap().is_empty());
    }

    /// R5.10: the bytes of kept answers are bounded; the oldest answer is evicted first.
    #[tokio::test]
    async fn no_more_than_kept_answers_bytes_max_is_kept() {
        let shelf = Shelf::default();
        let me = Principal::subject("me");
        let third = "x".repeat(KEPT_ANSWERS_BYTES_MAX / 3);
        let uris: Vec<String> = (0..4).map(|_| shelf.put(&me, third.clone()).unwrap()).collect();
        assert!(matches!(read(&shelf, &uris[0], &me), Err(ToolError::NotFound)));
        assert!(uris[1..].iter().all(|uri| read(&shelf, uri, &me).is_ok()));
        assert!(shelf.put(&me, "x".repeat(KEPT_ANSWERS_BYTES_MAX + 1)).is_none(), "too much by itself");
    }
}
