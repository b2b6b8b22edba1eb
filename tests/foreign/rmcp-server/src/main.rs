//! The fixture of the official conformance suite on the official Rust SDK: `rmcp-conformance-server --listen ADDR`.
//!
//! A check that fails without the gateway is a failure of the SDK. The gateway in front of it must pass all others.

mod asking;
mod content;
mod fixture;
mod offers;
mod rounds;

use std::sync::Arc;

use anyhow::{Context as _, Result};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use fixture::Fixture;

#[tokio::main]
async fn main() -> Result<()> {
    let listen = std::env::args().skip_while(|word| word != "--listen").nth(1).context("--listen ADDR")?;
    let fixture = Fixture::new()?;
    let mut config = StreamableHttpServerConfig::default();
    config.legacy_session_mode = true;
    config.allowed_origins = vec!["http://localhost:*".to_owned(), "http://127.0.0.1:*".to_owned()];
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(fixture.clone()), sessions, config);
    let listener = tokio::net::TcpListener::bind(&listen).await?;
    loop {
        let (tcp, _) = listener.accept().await?;
        tcp.set_nodelay(true)?;
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new();
            let _ = connection.serve_connection(TokioIo::new(tcp), service).await;
        });
    }
}
