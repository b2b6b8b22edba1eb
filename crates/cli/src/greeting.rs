//! What `serve` says first: what it serves, where, and the line that connects each known client.

use std::fmt::Write as _;

use serde_json::{Value, json};
use toolcrib::Server;

use crate::connect::client::Client;
use crate::terminal::{Paint, Style, Table};

/// What the demonstration server serves.
pub(crate) async fn desk(server: &Server, url: &str) -> String {
    let style = Style::of_stdout();
    let mut text =
        format!("{} serves desk, a demonstration, at {url}\n\n", style.paint("toolcrib", Paint::Strong));
    let options = server.engine().toolsets();
    let answer = server.call("list_available_toolsets", json!({})).await.unwrap_or_default();
    let mut table = Table::new(&["", "TOOLSET", "TOOLS", "WHAT FOR"]);
    for set in answer.pointer("/structuredContent/toolsets").and_then(Value::as_array).into_iter().flatten() {
        let word = |name: &str| set.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = word("name");
        let always = set.get("always_loaded").and_then(Value::as_bool) == Some(true);
        let loaded = always || options.start.as_ref().is_none_or(|start| start.has(&name));
        let (state, paint) = if loaded { ("loaded", Paint::Good) } else { ("on demand", Paint::Faint) };
        let state = style.paint(state, paint);
        let count = set.get("tool_count").map(Value::to_string).unwrap_or_default();
        table.row([state, name, count, word("description")]);
    }
    text.push_str(&table.render(style));
    let _ = write!(text, "\nconnect\n{}", lines(url));
    text.push_str("\nstop with Ctrl-C\n");
    text
}

/// The line for each client: its own command where it has one, else ours.
pub(crate) fn lines(url: &str) -> String {
    let mut table = Table::new(&[]);
    for client in Client::ALL {
        table.row([client.title().to_owned(), client.line(url, &program())]);
    }
    table.render_plain()
}

/// How this program was called, so that its lines can be copied.
fn program() -> String {
    let first = std::env::args().next().unwrap_or_default();
    if first.contains('/') { first } else { "toolcrib".to_owned() }
}
