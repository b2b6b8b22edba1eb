//! nginx in front of the gateway: clients behind a trusted proxy have a share each.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::json;
use toolcrib_testkit::http::Request;
use toolcrib_testkit::nginx::Nginx;

use super::folder::Folder;
use super::running::{Gateway, npm};

const GREEDY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

/// More calls than may wait for a person for one address.
const CALLS: usize = 20;

/// Returns how many calls of a client, each with new arguments, wait for a person before one is refused.
fn waiting(proxy: SocketAddr, client: Ipv4Addr, field: Option<(&str, &str)>) -> usize {
    let waits = |number: &usize| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "delete_entities", "arguments": {"entityNames": [format!("{number} {field:?}")]},
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {}}}});
        let mut request = Request::post_json("/mcp", &body.to_string())
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", "tools/call")
            .header("Mcp-Name", "delete_entities")
            .from_address(client);
        if let Some((name, value)) = field {
            request = request.header(name, value);
        }
        let answer = request.send(proxy).unwrap().text();
        let is_refused = answer.contains("calls that wait for a person for");
        assert!(is_refused || answer.contains("waits for a person"), "{answer}");
        !is_refused
    };
    (0..CALLS).take_while(waits).count()
}

/// R14.2: behind nginx, which adds to `X-Forwarded-For` or `Forwarded`, one client that uses up its share, or
/// says that it is another, leaves the other its own.
#[test]
fn clients_behind_nginx_have_a_share_each() {
    let spoofed_forwarded = format!("for={OTHER};x=\"");
    let spoofed_x_forwarded = OTHER.to_string();
    for (directive, spoofed) in [
        (
            "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
            ("X-Forwarded-For", &spoofed_x_forwarded),
        ),
        (
            "proxy_set_header Forwarded \"$http_forwarded, for=$remote_addr\";",
            ("Forwarded", &spoofed_forwarded),
        ),
    ] {
        let folder = Folder::new(&format!("proxied-{}", spoofed.0));
        let command = npm("server-memory", &[]);
        let config = format!(
            "trusted_proxies = [\"127.0.0.1\"]\nprefix = \"never\"\n[servers.memory]\ncommand = {:?}\nargs = {:?}\n\
             env = {{ MEMORY_FILE_PATH = {:?} }}\n[safety]\napprovals_pending_max = 1\n",
            command[0],
            &command[1..],
            folder.0.join("memory.json")
        );
        let data = ["--data".to_owned(), folder.0.join("data").display().to_string()];
        let gateway = Gateway::start_with(data, &["--config", &folder.file("toolcrib.toml", &config)]);
        let Some(nginx) = Nginx::start_with(gateway.address, directive) else { return };
        let nginx = nginx.unwrap();
        let (name, value) = spoofed;
        let share = waiting(nginx.address, GREEDY, None);
        assert!((1..CALLS).contains(&share), "{directive}: {share} calls wait");
        let spoofing = waiting(nginx.address, GREEDY, Some((name, value)));
        // A malformed hop ends the search at the proxy, which has a share of its own.
        assert_eq!(spoofing, if name == "Forwarded" { share } else { 0 }, "{directive}");
        assert_eq!(waiting(nginx.address, OTHER, None), share, "{directive}");
    }
}
