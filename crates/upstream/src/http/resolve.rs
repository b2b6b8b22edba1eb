//! Resolves the names of hosts.

use std::net::SocketAddr;

/// Returns the addresses of a host; empty if its name is unknown here.
pub(crate) async fn look_up(host: &str, port: u16) -> Vec<SocketAddr> {
    #[cfg(test)]
    if let Some(answer) = scripted::next() {
        return answer;
    }
    let found = tokio::net::lookup_host((host, port)).await;
    found.map(Iterator::collect).unwrap_or_default()
}

/// Answers for the look-ups of one task, in their order.
#[cfg(test)]
pub(crate) mod scripted {
    use std::cell::RefCell;
    use std::collections::VecDeque;
    use std::net::SocketAddr;

    tokio::task_local! {
        static ANSWERS: RefCell<VecDeque<Vec<SocketAddr>>>;
    }

    pub(super) fn next() -> Option<Vec<SocketAddr>> {
        ANSWERS.try_with(|answers| answers.borrow_mut().pop_front()).ok().flatten()
    }

    /// Runs `task` with these answers.
    pub(crate) async fn with<T>(
        answers: impl IntoIterator<Item = Vec<SocketAddr>>,
        task: impl Future<Output = T>,
    ) -> T {
        ANSWERS.scope(RefCell::new(answers.into_iter().collect()), task).await
    }
}
