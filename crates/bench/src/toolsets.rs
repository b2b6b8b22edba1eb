//! 10,000 tools: a view built from nothing, its prepared list over HTTP against a plain static response of the same
//! size, and a search.

use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http_body_util::Full;
use hyper::service::service_fn;
use serde_json::json;
use toolcrib::engine::listing::Render;
use toolcrib::engine::registry::Offer;
use toolcrib::engine::seal::Sealer;
use toolcrib::engine::tool::{BoxFuture, Invocation};
use toolcrib::engine::toolset::bits::Bits;
use toolcrib::engine::toolset::callers::Vendor;
use toolcrib::engine::toolset::catalogue::Catalogue;
use toolcrib::engine::toolset::standing::Standing;
use toolcrib::engine::{Answer, Tool};
use toolcrib::protocol::{CacheHint, CacheScope, Era};
use toolcrib::{Definition, HttpOptions, Server, ToolError, ToolResult, Toolset};

use crate::race::{Claim, Effort, Race};
use crate::serving::listed;

const TOOLS: usize = 10_000;
const SETS: usize = 40;
const QUERIES: [&str; 4] = [
    "find the newest records of a department",
    "tool number 77",
    "which authors are linked to a closed record",
    "limit how many records are returned",
];

#[derive(Debug)]
struct Nothing;

impl Tool for Nothing {
    fn call<'a>(&'a self, _: Invocation<'a>) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async { Ok(ToolResult::text("x").into()) })
    }
}

fn server() -> Result<Server> {
    let mut builder = Server::builder("many", "1");
    for set in 0..SETS {
        let toolset = Toolset::new(&format!("set{set:02}"), "A group of tools");
        builder = builder.toolset(if set % 2 == 0 { toolset.programmatic() } else { toolset });
    }
    let server = builder.build()?;
    let mut offers = Vec::with_capacity(TOOLS);
    for number in 0..TOOLS {
        let (name, description, schema) = listed(number);
        let definition = json!({"name": name, "description": description, "inputSchema": schema,
            "annotations": {"readOnlyHint": true}});
        offers.push(Offer {
            definition: Definition::from_value(&definition)?,
            toolset: Some(format!("set{:02}", number % SETS).into()),
            server: None,
            tool: Arc::new(Nothing),
        });
    }
    server.engine().registry().register_all(offers)?;
    Ok(server)
}

/// A keep-alive connection that repeats `tools/list`.
struct Client {
    tcp: TcpStream,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

impl Client {
    fn new(address: SocketAddr) -> Result<Self> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}}}})
        .to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/list\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Ok(Self { tcp: TcpStream::connect(address)?, request: request.into(), buffer: vec![0; 1 << 20] })
    }

    /// Sends one request and reads the whole answer; returns the size of its body.
    fn ask(&mut self) -> Result<usize> {
        self.tcp.write_all(&self.request)?;
        let mut head = Vec::new();
        let (length, mut rest) = loop {
            let read = self.tcp.read(&mut self.buffer)?;
            head.extend_from_slice(self.buffer.get(..read).unwrap_or_default());
            if read == 0 {
                bail!("the connection ended");
            }
            if let Some(at) = head.windows(4).position(|four| four == b"\r\n\r\n") {
                let text = String::from_utf8_lossy(head.get(..at).unwrap_or_default()).to_ascii_lowercase();
                if !text.starts_with("http/1.1 200") {
                    bail!("{text}");
                }
                let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
                break (length.context("no length")?.trim().parse::<usize>()?, head.len() - at - 4);
            }
        };
        while rest < length {
            let read = self.tcp.read(&mut self.buffer)?;
            if read == 0 {
                bail!("the connection ended");
            }
            rest += read;
        }
        Ok(length)
    }
}

/// Serves the same bytes for every request, on hyper.
async fn serve_static(listener: tokio::net::TcpListener, body: Bytes) {
    while let Ok((tcp, _)) = listener.accept().await {
        let body = body.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
                let body = body.clone();
                async move {
                    drop(request);
                    let mut response = hyper::Response::new(Full::new(body));
                    let json = hyper::header::HeaderValue::from_static("application/json");
                    response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
                    Ok::<_, std::convert::Infallible>(response)
                }
            });
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(hyper_util::rt::TokioIo::new(tcp), service)
                .await;
        });
    }
}

pub(crate) fn run(effort: Effort) -> Result<bool> {
    let server = server()?;
    let snapshot = server.engine().registry().load_full();
    let options = server.engine().toolsets();
    let render = Render {
        page_items: TOOLS * 2,
        hint: CacheHint { ttl_ms: 0, scope: CacheScope::Private },
        meta: "{}".into(),
        sealer: Sealer::random()?,
    };
    let kits = snapshot.catalogue.kits().len();
    let all = Standing {
        reach: Bits::all(kits),
        loaded: Bits::all(kits),
        read_only: false,
        vendor: None,
        tokens: None,
    };
    let anthropic = Standing { vendor: Some(Vendor::Anthropic), ..all.clone() };
    let build = |standing: &Standing| {
        let catalogue = Catalogue::new(snapshot.tools.clone(), options.clone());
        let _ = black_box(catalogue.view(standing).listing().page(Era::Modern, None, &render));
    };
    let most = Claim::TimeAtMost(Duration::from_millis(50));
    let mut holds = Race::new("A view of 10,000 tools, from the registry's entries to the bytes of its list")
        .with("build", most, || build(&all))
        .with("build, half of them with callers", most, || build(&anthropic))
        .with("the search index", Claim::None, || {
            let catalogue = Catalogue::new(snapshot.tools.clone(), options.clone());
            black_box(catalogue.index().len());
        })
        .run(effort);

    let runtime = tokio::runtime::Runtime::new()?;
    let bound = runtime.block_on(server.bind_http("127.0.0.1:0", HttpOptions::default()))?;
    let address = bound.address()?;
    runtime.spawn(bound.serve(std::future::pending()));
    let size = Client::new(address)?.ask()?;
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
    let static_address = listener.local_addr()?;
    runtime.spawn(serve_static(listener, Bytes::from(vec![b'x'; size])));
    let (mut plain, mut ours) = (Client::new(static_address)?, Client::new(address)?);
    println!("\n{size} bytes");
    holds &= Race::new("Its prepared list over HTTP")
        .with("a static response of that size", Claim::None, || {
            black_box(plain.ask().unwrap_or_default());
        })
        .with("tools/list", Claim::FasterThanFirst(0.9), || {
            black_box(ours.ask().unwrap_or_default());
        })
        .run(effort);
    if plain.ask()? != size || ours.ask()? != size {
        bail!("an answer has another size");
    }

    let index = snapshot.catalogue.index();
    let (mut queries, mut again) = (QUERIES.iter().cycle(), QUERIES.iter().cycle());
    let most = Claim::TimeAtMost(Duration::from_millis(2));
    holds &= Race::new("search_tools over 10,000 tools that share their words")
        .with("the ranking alone", Claim::None, || {
            let query = queries.next().copied().unwrap_or_default();
            black_box(index.search(query, 10, |at| snapshot.catalogue.admits(at, &all.reach, false)));
        })
        .with("the whole call", most, || {
            let query = again.next().copied().unwrap_or_default();
            let call = server.call("search_tools", json!({"query": query, "limit": 10}));
            black_box(runtime.block_on(call).map(|found| found.to_string()).unwrap_or_default());
        })
        .run(effort);
    Ok(holds)
}
