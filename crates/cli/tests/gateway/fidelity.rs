//! Forwarded messages keep digits, white space and unknown members in both directions.

use serde_json::Value;
use toolcrib_testkit::http::Request;
use toolcrib_testkit::process::Process;

use super::running::{Gateway, SOON};

fn hostile() -> String {
    let path = toolcrib_testkit::deps::built_example("hostile").unwrap_or_else(|error| panic!("{error}"));
    path.display().to_string()
}

/// Returns the text of the answer to a call of `tool` with these arguments, as it came over the wire.
fn call(gateway: &Gateway, tool: &str, arguments: &str) -> String {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"own":1.0}"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{meta},"extra":[1.00]}}}}"#
    );
    let request = Request::post_json("/mcp", &body)
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "tools/call")
        .header("Mcp-Name", tool);
    request.send(gateway.address).unwrap().text()
}

/// R5.4: numbers, unknown members and text reach the server and come back as they were written, on both transports.
#[test]
fn every_digit_and_every_unknown_member_survives_in_both_directions() {
    let mut process = Process::start(std::process::Command::new(hostile()).args(["http", "long"])).unwrap();
    let address = process.wait_for_address(SOON).unwrap();
    let url = format!("http://{address}/mcp");
    let stdio = hostile();
    for words in [vec!["--", &stdio, "stdio", "long"], vec![&url]] {
        let gateway = Gateway::start(&words);
        let arguments = r#"{"n":1.50,"big":9007199254740993,"long":0.1000000000000000055511151231257827,"t":"\u00e9é","deep":{"unknown":[null,-0]}}"#;
        let answer: Value = serde_json::from_str(&call(&gateway, "raw", arguments)).unwrap();
        let arrived = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        for part in [arguments, r#""own":1.0"#, r#""extra":[1.00]"#] {
            assert!(arrived.contains(part), "{part} in {arrived}");
        }
        let back = call(&gateway, "rows", "{}");
        for part in [r#"{ "n": 1.50, "big": 9007199254740993 }"#, r#""x-own": 0.10"#, r#""total": 2000"#] {
            assert!(
                back.contains(part) || back.contains(&part.replace(": ", ":")),
                "{part} in {}",
                &back[..200]
            );
        }
    }
}
