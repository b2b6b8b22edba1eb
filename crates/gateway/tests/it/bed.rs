//! Test bed: a gateway in this process and servers to put behind it.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib::{Filter, Server};
use toolcrib_gateway::{Gateway, ServerStatus, Source};
use toolcrib_testkit::deps::built_example;
use toolcrib_testkit::process::Process;
use toolcrib_upstream::{Spec, Transport};

/// Timeout for everything that must happen.
pub(crate) const SOON: Duration = Duration::from_secs(20);

pub(crate) struct Bed {
    pub(crate) server: Server,
    pub(crate) gateway: Arc<Gateway>,
}

fn hostile() -> String {
    built_example("hostile").unwrap().display().to_string()
}

/// A stdio server with this behaviour of `hostile`; its call timeout is one second.
pub(crate) fn stdio(name: &str, behaviour: &str) -> Source {
    let words = [hostile(), "stdio".to_owned(), behaviour.to_owned()];
    let mut spec = Spec::command(name, &words).unwrap();
    spec.call_ms_max = 1_000;
    Source::new(spec, true)
}

/// An HTTP server with this behaviour; its process ends when the returned handle is dropped.
pub(crate) fn http(name: &str, behaviour: &str) -> (Process, Source) {
    let mut process = Process::start(Command::new(hostile()).args(["http", behaviour])).unwrap();
    let address = process.wait_for_address(SOON).unwrap();
    let mut spec = Spec::url(name, &format!("http://{address}/mcp"));
    spec.call_ms_max = 1_000;
    (process, Source::new(spec, true))
}

/// Sets an environment variable of a stdio server.
pub(crate) fn with_env(mut source: Source, key: &str, value: &str) -> Source {
    if let Transport::Stdio(command) = &mut source.spec.transport {
        command.env.insert(key.to_owned(), value.to_owned());
    }
    source
}

impl Bed {
    pub(crate) async fn new(sources: Vec<Source>) -> Self {
        Self::behind(Server::new("gateway", "1").unwrap(), sources).await
    }

    /// Starts a gateway with the discovery tools.
    pub(crate) async fn with_discovery(sources: Vec<Source>) -> Self {
        let builder =
            Server::builder("gateway", "1").options(|options| options.toolsets.discovery = Some(true));
        Self::behind(builder.build().unwrap(), sources).await
    }

    async fn behind(server: Server, sources: Vec<Source>) -> Self {
        let gateway = Gateway::start(server.engine().clone(), sources).unwrap();
        gateway.settled(SOON).await;
        Self { server, gateway }
    }

    pub(crate) fn tools(&self) -> Vec<String> {
        self.server.list(&Filter::default()).iter().map(|entry| entry.name().to_owned()).collect()
    }

    pub(crate) fn status(&self, name: &str) -> ServerStatus {
        self.gateway.status().into_iter().find(|status| status.name == name).unwrap()
    }

    /// Calls a tool and returns the first text of its successful result.
    pub(crate) async fn text(&self, tool: &str, arguments: Value) -> String {
        let result =
            self.server.call(tool, arguments).await.unwrap_or_else(|error| panic!("{tool}: {error}"));
        assert_ne!(result["isError"], true, "{tool}: {result}");
        result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
    }

    /// Calls a tool and returns the text of its error and how long it took.
    pub(crate) async fn refusal(&self, tool: &str) -> (String, Duration) {
        let begun = Instant::now();
        let result =
            self.server.call(tool, json!({})).await.unwrap_or_else(|error| panic!("{tool}: {error}"));
        assert_eq!(result["isError"], true, "{tool}: {result}");
        (result["content"][0]["text"].as_str().unwrap().to_owned(), begun.elapsed())
    }

    /// Waits until `is_true` returns `true`.
    pub(crate) async fn until(&self, what: &str, mut is_true: impl FnMut(&Self) -> bool) {
        let end = Instant::now() + SOON;
        while !is_true(self) {
            assert!(Instant::now() < end, "not {what}: {:?}", self.gateway.status());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Returns `true` if a process exists and is not a zombie.
pub(crate) fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}
