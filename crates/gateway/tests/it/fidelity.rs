//! Fidelity: the bytes that are forwarded are the bytes that were checked.

use serde_json::{Value, json};

use super::bed::{Bed, http, stdio};

/// R5.4: unknown fields and number precision survive to the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_and_unknown_members_reach_the_server_as_they_were_written() {
    let (_process, web) = http("web", "");
    let bed = Bed::new(vec![stdio("local", ""), web]).await;
    for tool in ["local__echo", "web__echo"] {
        // Every digit of a 64-bit integer, and text whose escapes must stay as they were written.
        let arguments =
            json!({"n": 9_007_199_254_740_993_u64, "x": {"deep": [1, {"unknown": null}]}, "t": "é\u{1}"});
        let seen: Value = serde_json::from_str(&bed.text(tool, arguments.clone()).await).unwrap();
        assert_eq!(seen["arguments"], arguments, "{tool}");
        assert_eq!(seen["name"], "echo", "the server's own name, not ours");
        assert_eq!(seen.pointer("/_meta/io.modelcontextprotocol~1clientCapabilities"), None, "{seen}");
    }
    bed.gateway.stop().await;
}
