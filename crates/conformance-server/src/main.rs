//! Fixture of the official MCP conformance suite, served at `http://<listen>/mcp` or over stdio.

mod asking;
mod content;
mod media;
mod prompts;
mod resources;
mod rounds;
mod signals;

use clap::Parser;
use toolcrib::{HttpOptions, Server};

#[derive(Parser)]
struct Arguments {
    /// The address to listen at.
    #[arg(long, default_value = "127.0.0.1:8001")]
    listen: String,
    /// Serve stdin and stdout instead.
    #[arg(long)]
    stdio: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let server = Server::builder("toolcrib-conformance-server", env!("CARGO_PKG_VERSION"))
        .instructions("Fixture for the MCP conformance suite.")
        .build()?;
    content::register(&server)?;
    signals::register(&server)?;
    asking::register(&server)?;
    rounds::register(&server)?;
    prompts::register(&server)?;
    resources::register(&server)?;
    if arguments.stdio {
        server.serve_stdio().await?;
    } else {
        // The suite's check of parallel streams needs streams.
        let options = HttpOptions { streams_when_listed_first: true, ..HttpOptions::default() };
        server.serve_http_with(&arguments.listen, options).await?;
    }
    Ok(())
}
