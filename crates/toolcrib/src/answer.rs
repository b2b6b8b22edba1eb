//! [`IntoAnswer`]: types that a handler may return.

use serde::Serialize;
use toolcrib_engine::{Answer, Content, ToolError, ToolResult};

/// Conversion of a handler's return value to a tool's answer.
pub trait IntoAnswer {
    fn into_answer(self) -> Result<Answer, ToolError>;
}

/// Structured content; the same JSON is added as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl IntoAnswer for Answer {
    fn into_answer(self) -> Result<Answer, ToolError> {
        Ok(self)
    }
}

impl IntoAnswer for ToolResult {
    fn into_answer(self) -> Result<Answer, ToolError> {
        Ok(self.into())
    }
}

impl IntoAnswer for String {
    fn into_answer(self) -> Result<Answer, ToolError> {
        Ok(ToolResult::text(self).into())
    }
}

impl IntoAnswer for &str {
    fn into_answer(self) -> Result<Answer, ToolError> {
        Ok(ToolResult::text(self).into())
    }
}

impl IntoAnswer for () {
    fn into_answer(self) -> Result<Answer, ToolError> {
        Ok(ToolResult::new().into())
    }
}

impl IntoAnswer for Content {
    fn into_answer(self) -> Result<Answer, ToolError> {
        Ok(ToolResult::new().with(self).into())
    }
}

impl IntoAnswer for Vec<Content> {
    fn into_answer(self) -> Result<Answer, ToolError> {
        Ok(self.into_iter().fold(ToolResult::new(), ToolResult::with).into())
    }
}

impl<T: Serialize> IntoAnswer for Json<T> {
    fn into_answer(self) -> Result<Answer, ToolError> {
        Ok(ToolResult::structured(&self.0)?.into())
    }
}

/// Becomes structured content, with the same JSON as text.
impl IntoAnswer for serde_json::Value {
    fn into_answer(self) -> Result<Answer, ToolError> {
        Json(self).into_answer()
    }
}
