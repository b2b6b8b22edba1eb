//! The greeting of `serve`: the tools, the address, and a command for each known client.

use serde_json::{Value, json};
use toolcrib::Server;

use crate::connect::client::Client;
use crate::terminal::{Paint, Style, Table};

/// Returns the greeting of the demonstration. `kept` describes the data folder. Programs parse the address from the
/// first line.
pub(crate) async fn text(server: &Server, origin: &str, kept: &str) -> String {
    let url = format!("{origin}/mcp");
    let style = Style::of_stdout();
    let what = match server.engine().toolsets().declared.is_empty() {
        true => crate::serve::signatures(server),
        false => toolsets(server, style).await,
    };
    format!("toolcrib serves at {url}\n\n{what}\n{kept}\nconnect\n{}\nstop with Ctrl-C\n", lines(&url))
}

/// Lists the toolsets, whether each is loaded, and their descriptions.
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

/// Lists a command for each client: the client's own if it has one, else `toolcrib connect`.
pub(crate) fn lines(url: &str) -> String {
    let mut table = Table::new(&[]);
    for client in Client::ALL {
        table.row([client.title().to_owned(), client.line(url, &program())]);
    }
    table.render_plain()
}

/// Returns the path that this program was started by, so that printed commands can be copied.
fn program() -> String {
    let first = std::env::args().next().unwrap_or_default();
    if first.contains('/') { first } else { "toolcrib".to_owned() }
}
