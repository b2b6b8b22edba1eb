//! Spans: received from the client, propagated to the server, and exported to a collector that may be unreachable.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_testkit::deps::{Deps, workspace_root};
use toolcrib_testkit::http::Request;
use toolcrib_testkit::listener::{Listener, Outgoing};
use toolcrib_testkit::port;
use toolcrib_testkit::process::Process;
use toolcrib_testkit::tls::{Certificate, TlsFront};

use super::folder::Folder;
use super::running::{Gateway, PROGRAM, SOON, own_data, until};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// Starts the gateway in front of a server that echoes the parameters of a call. Spans are exported as JSON.
fn gateway(collector: &str) -> Gateway {
    exporting(collector, &[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")])
}

fn exporting(collector: &str, variables: &[(&str, &str)]) -> Gateway {
    let hostile = toolcrib_testkit::deps::built_example("hostile").unwrap_or_else(|error| panic!("{error}"));
    let address = SocketAddr::from(([127, 0, 0, 1], port::free().unwrap()));
    let mut command = Command::new(PROGRAM);
    command.args(["serve", "--listen", &address.to_string()]).args(own_data());
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector).env("OTEL_BSP_SCHEDULE_DELAY", "50");
    command
        .env("OTEL_EXPORTER_OTLP_HEADERS", "api-key=k")
        .envs(variables.iter().copied())
        .arg("--")
        .arg(hostile)
        .args(["stdio", ""]);
    let mut process = Process::start(&mut command).unwrap();
    process.wait_for_line("greeting", SOON, |line| line.contains("stop with Ctrl-C").then_some(())).unwrap();
    Gateway { process, address }
}

fn call(gateway: &Gateway, meta: &Value, header: Option<&str>) -> Value {
    let mut meta = meta.clone();
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "echo", "arguments": {}, "_meta": meta}});
    let mut request = Request::post_json("/mcp", &body.to_string())
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "tools/call")
        .header("Mcp-Name", "echo");
    if let Some(header) = header {
        request = request.header("traceparent", header);
    }
    let answer = request.send(gateway.address).unwrap().json().unwrap();
    let text =
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    serde_json::from_str(&text).unwrap()
}

fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a str> {
    let all = span["attributes"].as_array()?;
    all.iter().find(|one| one["key"] == key)?["value"]["stringValue"].as_str()
}

/// R5.10: one span for the request and one for the upstream call, in the client's trace, whose context the server
/// receives.
#[test]
fn a_clients_trace_goes_through_to_the_server_and_to_the_collector() {
    let arrived: Arc<Mutex<Vec<Value>>> = Arc::default();
    let heard = arrived.clone();
    let collector = Listener::start(move |incoming| {
        assert_eq!((incoming.path(), incoming.header("api-key")), ("/v1/traces", Some("k")));
        assert_eq!(incoming.header("content-type"), Some("application/json"));
        let batch: Value = serde_json::from_str(&incoming.body).unwrap();
        let spans = batch["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
        heard.lock().unwrap().extend(spans);
        Outgoing::json(200, &json!({}))
    })
    .unwrap();
    let gateway = gateway(&collector.url(""));
    let origin = format!("00-{TRACE}-{PARENT}-01");
    let told = call(&gateway, &json!({"traceparent": origin, "tracestate": "a=1", "mine": true}), None);
    assert_eq!(told["_meta"]["mine"], true, "{told}");
    assert_eq!(told["_meta"]["tracestate"], "a=1", "{told}");
    let handed = told["_meta"]["traceparent"].as_str().unwrap().to_owned();
    until("collected", || arrived.lock().unwrap().len() == 2);
    let spans = arrived.lock().unwrap().clone();
    let of =
        |kind: i64| spans.iter().find(|span| span["kind"] == kind).unwrap_or_else(|| panic!("{spans:?}"));
    let (server, client) = (of(2), of(3));
    assert_eq!((server["traceId"].as_str(), server["parentSpanId"].as_str()), (Some(TRACE), Some(PARENT)));
    assert_eq!((&client["traceId"], &client["parentSpanId"]), (&server["traceId"], &server["spanId"]));
    assert_eq!(handed, format!("00-{TRACE}-{}-01", client["spanId"].as_str().unwrap()));
    assert_eq!(server["name"], "tools/call echo");
    assert_eq!(attribute(server, "gen_ai.tool.name"), Some("echo"));
    assert_eq!(attribute(client, "server.name"), Some("server"));
    let time = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
    assert!(time(server, "startTimeUnixNano") <= time(client, "startTimeUnixNano"));
    assert!(time(client, "endTimeUnixNano") <= time(server, "endTimeUnixNano"));
    // By header too; an unsampled trace context is propagated but not recorded.
    let told = call(&gateway, &json!({}), Some(&origin.replace("-01", "-00")));
    let handed = told["_meta"]["traceparent"].as_str().unwrap();
    assert!(handed.starts_with(&format!("00-{TRACE}-")) && handed.ends_with("-00"), "{handed}");
    // Without a trace context a new trace begins.
    let told = call(&gateway, &json!({}), None);
    assert!(!told["_meta"]["traceparent"].as_str().unwrap().contains(TRACE));
    until("collected", || arrived.lock().unwrap().len() == 4);
    assert!(gateway.get("/metrics").1.contains("toolcrib_spans_total{outcome=\"exported\"} 4"));
}

/// R5.10: protobuf, gzip, percent-encoded headers and resource attributes are readable with OpenTelemetry's own
/// messages; a batch that was refused with 503 still arrives, once.
#[test]
fn spans_are_read_by_opentelemetrys_own_messages() {
    let port = port::free().unwrap();
    let python = Deps::of_this_workspace().python().unwrap_or_else(|error| panic!("{error}"));
    let script = workspace_root().join("tests/foreign/python/collector.py");
    let mut collector =
        Process::start(Command::new(python).arg(script).args([&port.to_string(), "2"])).unwrap();
    collector.wait_for_port(([127, 0, 0, 1], port).into(), SOON).unwrap();
    let gateway = exporting(
        &format!("http://127.0.0.1:{port}"),
        &[
            ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "api-key=a%20b"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test"),
        ],
    );
    call(&gateway, &json!({"traceparent": format!("00-{TRACE}-{PARENT}-01"), "tracestate": "a=1"}), None);
    let line =
        collector.wait_for_line("spans", SOON, |line| serde_json::from_str::<Value>(line).ok()).unwrap();
    assert_eq!(line["path"], "/v1/traces");
    assert_eq!(line["headers"]["api-key"], "a b");
    assert_eq!(line["headers"]["content-type"], "application/x-protobuf");
    let all = &line["message"]["resourceSpans"][0];
    let environment = attribute(&all["resource"], "deployment.environment.name");
    assert_eq!((environment, attribute(&all["resource"], "service.name")), (Some("test"), Some("toolcrib")));
    let spans = all["scopeSpans"][0]["spans"].as_array().unwrap();
    let server = spans.iter().find(|span| span["kind"] == "SPAN_KIND_SERVER").unwrap();
    // The JSON encoding of protobuf writes bytes in base64.
    assert_eq!(server["traceId"], "CvdlGRbNQ92ESOshHIAxnA==");
    assert_eq!(server["parentSpanId"], "t61rcWkgMzE=");
    assert_eq!((&server["name"], &server["traceState"]), (&json!("tools/call echo"), &json!("a=1")));
    assert_eq!(attribute(server, "gen_ai.tool.name"), Some("echo"));
    let time = |key: &str| server[key].as_str().unwrap().parse::<u64>().unwrap();
    assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"));
    until("counted", || gateway.get("/metrics").1.contains("toolcrib_spans_total{outcome=\"exported\"} 2"));
}

/// R5.10: a collector whose certificate a private authority has signed; without that authority's file the log names the
/// variable that is missing.
#[test]
fn spans_reach_a_collector_over_tls_with_a_private_authority() {
    let collector = Listener::start(|_| Outgoing::json(200, &json!({}))).unwrap();
    let certificate = Certificate::new().unwrap();
    let front = TlsFront::start(&certificate, collector.address).unwrap();
    let folder = Folder::new("collector");
    let ca_file = folder.file("ca.pem", &certificate.pem());
    let trusting = exporting(&front.url(""), &[("OTEL_EXPORTER_OTLP_CERTIFICATE", &ca_file)]);
    call(&trusting, &json!({}), None);
    until("exported", || trusting.get("/metrics").1.contains("toolcrib_spans_total{outcome=\"exported\"} 2"));
    let wary = exporting(&front.url(""), &[]);
    call(&wary, &json!({}), None);
    let says = "not trusted here; OTEL_EXPORTER_OTLP_CERTIFICATE names one that is";
    until("logged", || wary.process.said().contains(says));
}

/// R14.3: OTLP over gRPC is refused by name, before anything is served.
#[test]
fn grpc_is_refused_by_name() {
    let mut command = Command::new(PROGRAM);
    command.args(["serve", "--listen", "127.0.0.1:0"]).args(own_data());
    command
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317")
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let out = command.args(["--", "true"]).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(said.contains("OTEL_EXPORTER_OTLP_PROTOCOL is \"grpc\"; supported: http/protobuf"), "{said}");
    assert_eq!(out.status.code(), Some(2));
}

/// R5.10: an unreachable collector affects no call, and lost spans are counted.
#[test]
fn a_collector_that_is_gone_costs_no_call() {
    let nobody = format!("http://127.0.0.1:{}", port::free().unwrap());
    let gateway = gateway(&nobody);
    let begun = Instant::now();
    for _ in 0..20 {
        call(&gateway, &json!({}), None);
    }
    assert!(begun.elapsed() < Duration::from_secs(10));
    until("counted", || gateway.get("/metrics").1.contains("toolcrib_spans_total{outcome=\"dropped\"} 40"));
    assert!(gateway.process.said().contains("spans are lost"), "{}", gateway.process.said());
}

/// R5.10: without a collector a client's trace context is passed through unchanged.
#[test]
fn without_a_collector_a_trace_context_passes_untouched() {
    let hostile = toolcrib_testkit::deps::built_example("hostile").unwrap_or_else(|error| panic!("{error}"));
    let gateway = Gateway::start(&["--", &hostile.display().to_string(), "stdio", ""]);
    let origin = format!("00-{TRACE}-{PARENT}-01");
    let told = call(&gateway, &json!({"traceparent": origin}), None);
    assert_eq!(told["_meta"]["traceparent"].as_str(), Some(origin.as_str()));
    assert!(!gateway.get("/metrics").1.contains("toolcrib_spans_total"));
}
