//! The client's own side: it notes progress, and answers when it is asked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, ErrorData,
    Implementation, ProgressNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use serde_json::Value;

#[derive(Debug, Clone)]
pub(crate) struct Handler {
    /// Absent: it does not declare that it can be asked.
    answer: Option<Value>,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) progress: Vec<f64>,
    /// How often the list of tools was said to have changed.
    pub(crate) changes: usize,
    /// Message, and whether a schema for an object came with it.
    pub(crate) asked: Vec<(String, bool)>,
}

impl Handler {
    pub(crate) fn new(answer: Option<Value>) -> Self {
        Self { answer, seen: Arc::default() }
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientHandler for Handler {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        if let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request {
            self.seen().asked.push((message, !requested_schema.properties.is_empty()));
        }
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(self.answer.clone().unwrap_or_default()))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.seen().progress.push(params.progress);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.seen().changes += 1;
    }

    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        config.capabilities.elicitation = self.answer.as_ref().map(|_| ElicitationCapability::default());
        config.client_info = Implementation::new("toolcrib-foreign-rmcp", "1.0.0");
        config
    }
}
