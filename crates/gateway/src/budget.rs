//! Answers over a size that the operator set are kept, and a shorter one that links to them is sent.
//!
//! Guarantees: what is sent is a valid result; what is kept is the server's own text and can be read by the principal
//! that called, for a while; there is never more than a limit of it. An answer with structured content that the
//! contract promises is not shortened: half of it would break the contract.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use toolcrib_contract::json::{Limits, Node, OwnedDocument};
use toolcrib_engine::{
    Answer, BoxFuture, Content, Forwarded, Invocation, Principal, SessionId, Tool, ToolError, ToolResult,
};
use toolcrib_protocol::write;

use crate::limits::{KEPT_ANSWER_MS_MAX, KEPT_ANSWERS_BYTES_MAX, SHOWN_ANSWER_CHARS_MAX};

const SCHEME: &str = "toolcrib-result://";

struct Kept {
    uri: String,
    principal: Principal,
    text: String,
    since: Instant,
}

/// The answers of all tools; clones are the same shelf.
#[derive(Clone, Default)]
pub(crate) struct Shelf(Arc<Mutex<VecDeque<Kept>>>);

impl Shelf {
    fn put(&self, principal: &Principal, text: String) -> Option<String> {
        let uri = format!("{SCHEME}{}", SessionId::random().ok()?.as_str());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = Duration::from_millis(KEPT_ANSWER_MS_MAX);
        let bytes = |kept: &VecDeque<Kept>| kept.iter().map(|one| one.text.len()).sum::<usize>();
        while kept.front().is_some_and(|one| {
            one.since.elapsed() > oldest || bytes(&kept) + text.len() > KEPT_ANSWERS_BYTES_MAX
        }) {
            kept.pop_front();
        }
        kept.push_back(Kept { uri: uri.clone(), principal: principal.clone(), text, since: Instant::now() });
        Some(uri)
    }

    /// The result of `resources/read`; `None` for an address of somebody else's.
    pub(crate) fn read(&self, uri: &str, principal: &Principal) -> Option<Result<Forwarded, ToolError>> {
        if !uri.starts_with(SCHEME) {
            return None;
        }
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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

/// A tool whose answers have a budget.
pub(crate) struct Budgeted {
    tool: Arc<dyn Tool>,
    bytes_max: usize,
    shelf: Shelf,
}

impl Budgeted {
    pub(crate) fn new(tool: Arc<dyn Tool>, bytes_max: usize, shelf: Shelf) -> Self {
        Self { tool, bytes_max, shelf }
    }

    fn shorten(&self, forwarded: &Forwarded, principal: &Principal) -> Option<Answer> {
        let result = forwarded.result();
        if result.get("structuredContent").is_some() {
            return None;
        }
        let bytes = result.raw().len();
        let uri = self.shelf.put(principal, result.to_compact())?;
        let texts = result.get("content").into_iter().flat_map(Node::elements);
        let shown: String = texts
            .filter_map(|block| block.get("text")?.as_str().map(std::borrow::Cow::into_owned))
            .collect::<Vec<_>>()
            .join("\n")
            .chars()
            .take(SHOWN_ANSWER_CHARS_MAX.min(self.bytes_max / 4))
            .collect();
        let note = format!(
            "{shown}\n\n[The answer has {bytes} bytes, more than the {} that are sent. The whole of it is the resource {uri}.]",
            self.bytes_max
        );
        let short = ToolResult::text(note).with(Content::resource_link(&uri, "the whole answer"));
        let is_error = result.get("isError").and_then(Node::as_bool) == Some(true);
        Some(Answer::Built(if is_error { short.failed() } else { short }))
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
