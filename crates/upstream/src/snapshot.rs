//! Lists a server once: connects, lists all tools, disconnects. For `capture`, `lock`, `check` and `diff`.

use std::time::Duration;

use crate::catalogue::Listed;
use crate::connection::{Connection, Introduction};
use crate::error::{Cause, UpstreamError};
use crate::listing;
use crate::spec::Spec;

/// Tools of a server at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub introduction: Introduction,
    /// Tools in the server's order.
    pub tools: Vec<Listed>,
}

impl Snapshot {
    /// Returns the definitions as a JSON array, exactly as the server wrote them, without the invalid ones.
    #[must_use]
    pub fn definitions_json(&self) -> String {
        let texts: Vec<&str> = self
            .tools
            .iter()
            .filter_map(|tool| tool.definition.as_ref().ok())
            .map(toolcrib_contract::Definition::text)
            .collect();
        format!("[{}]", texts.join(","))
    }
}

/// Lists a server within `deadline`.
pub async fn snapshot(spec: &Spec, deadline: Duration) -> Result<Snapshot, UpstreamError> {
    let look = async {
        let connection = Connection::open(spec).await?;
        let tools = listing::tools(&connection).await;
        let introduction = connection.introduction().clone();
        connection.close().await;
        Ok(Snapshot { introduction, tools: tools? })
    };
    match tokio::time::timeout(deadline, look).await {
        Ok(looked) => looked,
        Err(_) => {
            let ms_max = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
            Err(UpstreamError::sent(Cause::TooSlow { ms_max }))
        }
    }
}
