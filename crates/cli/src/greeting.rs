//! What `serve` says first: what it serves, where, and the line that connects each known client.

use serde_json::{Value, json};
use toolcrib::Server;

use crate::connect::client::Client;
use crate::terminal::{Paint, Style, Table};

/// What a demonstration says; `kept` is where things are kept. Programs read the address off the first line.
pub(crate) async fn text(server: &Server, origin: &str, kept: &str) -> String {
    let url = format!("{origin}/mcp");
    let style = Style::of_stdout();
    let what = match server.engine().toolsets().declared.is_empty() {
        true => crate::serve::signatures(server),
        false => toolsets(server, style).await,
    };
    format!("toolcrib serves at {url}\n\n{what}\n{kept}\nconnect\n{}\nstop with Ctrl-C\n", lines(&url))
}

/// The toolsets, which are loaded, and what they are for.
async fn toolsets(server: &Server, style: Style) -> String {
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
    table.render(style)
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
