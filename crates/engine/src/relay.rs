//! Notifications that an upstream server sends during a call, relayed to the call's client.
//!
//! Guarantees: progress carries the client's own token; a log message reaches only a client that wants its level; all
//! other parameters pass unchanged.

use toolcrib_contract::json::{Node, ObjectWriter};
use toolcrib_protocol::Level;

use crate::context::Context;

impl Context {
    /// Relays a notification; methods other than progress and log messages are dropped.
    pub fn relay(&self, method: &str, params: Option<Node<'_>>) {
        let Some(params) = params.filter(|params| params.is_object()) else { return };
        match method {
            "notifications/progress" => {
                let Some(token) = self.progress_token() else { return };
                self.notify(method, &with_token(params, token));
            }
            "notifications/message" => {
                let level = params.get("level").and_then(Node::as_str);
                let level = level.and_then(|level| Level::parse(&level));
                if level.is_some_and(|level| self.peer().logs(level)) {
                    self.notify(method, &params.to_compact());
                }
            }
            _ => {}
        }
    }
}

fn with_token(params: Node<'_>, token: &str) -> String {
    let mut object = ObjectWriter::new();
    for (key, value) in params.members() {
        if key.is_text("progressToken") {
            object.raw("progressToken", token);
        } else {
            object.copy(key, value);
        }
    }
    object.finish()
}
