//! Hostile servers of the example `hostile`, over stdio and HTTP.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use toolcrib_testkit::process::Process;

use crate::case::{Attack, Case, Setting};
use crate::client::Post;
use crate::gateway::Server;

/// Maximum lifetime of a stdio server in seconds.
const STDIO_SECONDS_MAX: &str = "120";

/// Behaviours over HTTP.
const HTTP: [&str; 24] = [
    "hang",
    "half-head",
    "half-body",
    "half-event",
    "closes",
    "closes-body",
    "huge",
    "huge-chunks",
    "endless-head",
    "endless-sse",
    "endless-event",
    "endless-empty-lines",
    "endless-pings",
    "endless-interim-heads@list",
    "endless-trailers@start",
    "one-byte-event-chunks",
    "drip",
    "drip-head",
    "drip-trailers",
    "not-http",
    "unauthorized",
    "depth-bomb",
    "garbage",
    "forgets",
];

/// Behaviours over stdio.
const STDIO: [&str; 27] = [
    "silent",
    "hang",
    "half",
    "babble",
    "garbage",
    "wrong-id",
    "string-id",
    "depth-bomb",
    "no-object",
    "huge",
    "dies",
    "closes-mid-frame",
    "asks-forever",
    "storm",
    "endless-cursor",
    "many-pages",
    "heavy-pages",
    "same-cursor",
    "million-tools",
    "hang-list",
    "endless-stderr",
    "endless-blank-lines",
    "endless-pings",
    "endless-notices",
    "endless-stray-answers",
    "costly-schemas",
    "costly-schemas-later",
];

pub(super) fn cases() -> Vec<Case> {
    let http = HTTP.into_iter().map(|behaviour| {
        Case::new("servers", format!("http-{behaviour}"), move |setting| over_http(setting, behaviour))
    });
    let stdio = STDIO.into_iter().map(|behaviour| {
        Case::new("servers", format!("stdio-{behaviour}"), move |setting| over_stdio(setting, behaviour))
    });
    http.chain(stdio).collect()
}

fn poke() -> Attack {
    Attack::poke(Post::modern("tools/call", &json!({"name": "bad__poke", "arguments": {}})))
}

fn over_http(setting: &Setting, behaviour: &str) -> Result<Attack> {
    let (server, process) = start_http(setting, behaviour)?;
    Ok(poke().with_server(server, process))
}

/// Starts a hostile server over HTTP with one tool, `poke`.
pub(super) fn start_http(setting: &Setting, behaviour: &str) -> Result<(Server, Process)> {
    let mut command = Command::new("chrt");
    command.args(["--idle", "0"]).arg(&setting.hostile).args(["http", behaviour]);
    let mut process = Process::start(&mut command)?;
    let address = process.wait_for_address(Duration::from_secs(10))?;
    Ok((Server::at("bad", address), process))
}

fn over_stdio(setting: &Setting, behaviour: &str) -> Result<Attack> {
    let program = setting.hostile.display().to_string();
    // A killed gateway cannot end its children, so they have to end by themselves.
    let words = ["-s", "KILL", STDIO_SECONDS_MAX, "chrt", "--idle", "0", &program, "stdio", behaviour];
    let reach = format!("command = \"timeout\"\nargs = {words:?}");
    Ok(poke().with_server(Server { name: "bad", reach }, ()))
}
