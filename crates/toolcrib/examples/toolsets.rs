//! Many tools of which few are listed, over stdio or HTTP:
//!
//! ```sh
//! cargo run -p toolcrib --example toolsets                                  # lists core, discovery and books
//! cargo run -p toolcrib --example toolsets -- --toolsets all                # lists everything
//! cargo run -p toolcrib --example toolsets -- --listen 127.0.0.1:8001       # then also /mcp?toolsets=loans
//! ```

use serde_json::{Value, json};
use toolcrib::{Context, Names, Server, ToolError, ToolSpec, Toolset};

fn library() -> Result<Server, Box<dyn std::error::Error>> {
    let server = Server::builder("library", "1.0.0")
        .toolset(Toolset::new("books", "Find and read books").programmatic())
        .toolset(Toolset::new("loans", "Lend books and take them back"))
        .toolset(Toolset::new("archive", "Things that cannot be undone").tools(&["burn_*"]))
        .options(|options| options.toolsets.start = Some(Names::parse("books")))
        .from_environment()?
        .build()?;
    let book = || json!({"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"], "additionalProperties": false});
    let tools = [
        ToolSpec::new("find_book", "Finds a book by its title").toolset("books").read_only(true),
        ToolSpec::new("lend_book", "Lends a book to a reader").toolset("loans").destructive(false),
        ToolSpec::new("return_book", "Takes a lent book back").toolset("loans").destructive(false),
        ToolSpec::new("burn_book", "Destroys a book for good"),
    ];
    for tool in tools {
        server.add(tool.input_schema(book()), |arguments: Value, _: Context| async move {
            let title = arguments.get("title").and_then(Value::as_str).unwrap_or_default();
            Ok::<_, ToolError>(format!("Done with {title}."))
        })?;
    }
    Ok(server)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = library()?;
    let mut words = std::env::args().skip(1);
    match words.find(|word| word == "--listen").and_then(|_| words.next()) {
        Some(address) => server.serve_http(&address).await?,
        None => server.serve_stdio().await?,
    }
    Ok(())
}
