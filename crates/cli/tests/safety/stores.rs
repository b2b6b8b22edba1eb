//! Two databases in one data folder: the safety journal and the catalogue (issue 21).

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib_store::Store;
use toolcrib_store::catalogue::Catalogue;
use toolcrib_store::rusqlite::Connection;

use crate::running::{Folder, PLENTY, PROGRAM, Serving, pause};

const TOOL: &str = "transfer_gold";

/// Maximum time of a destructive call while another process locks the catalogue; for unoptimised code on a busy
/// machine.
const UNDELAYED: Duration = Duration::from_millis(250);

/// Maximum time of a destructive call while an import uses processor and disk.
const UNBLOCKED: Duration = Duration::from_secs(2);

/// Returns an upstream file of many servers with ten tools each.
fn catalogue(tools: usize) -> String {
    let names: Vec<String> = (0..10).map(|tool| format!("\"look_{tool}\"")).collect();
    let (names, mut servers) = (names.join(","), String::new());
    for server in 0..tools.div_ceil(10) {
        let mut definitions = String::new();
        for tool in 0..10 {
            let comma = if tool == 0 { "" } else { "," };
            let _ = write!(
                definitions,
                r#"{comma}{{"name":"look_{tool}","description":"Looks for thing {tool} of {server}.","inputSchema":{{"type":"object","properties":{{"id":{{"type":"string"}}}}}}}}"#
            );
        }
        let comma = if server == 0 { "" } else { "," };
        let _ = write!(
            servers,
            r#"{comma}{{"name":"io.example/s{server}","description":"One of many.","version":"1.0.0","packages":[{{"registryType":"oci","identifier":"example/s{server}:1","transport":{{"type":"stdio"}}}}],"_meta":{{"io.modelcontextprotocol.registry/publisher-provided":{{"io.github.stacklok":{{"example/s{server}:1":{{"status":"active","tools":[{names}],"tool_definitions":[{definitions}]}}}}}}}}}}"#
        );
    }
    format!(
        r#"{{"version":"1.0.0","meta":{{"last_updated":"2026-01-01T00:00:00Z"}},"data":{{"servers":[{servers}]}}}}"#
    )
}

fn servers(folder: &Path) -> usize {
    let listed = Command::new(PROGRAM)
        .args(["list", "--format", "json"])
        .env("TOOLCRIB_DATA", folder)
        .env_remove("TOOLCRIB_STORE")
        .output()
        .unwrap();
    assert!(listed.status.success(), "{listed:?}");
    String::from_utf8(listed.stdout).unwrap().matches("io.example/s").count()
}

/// Issue 21, two stores: while a write transaction is open on the catalogue, the intent of a destructive call is
/// written without delay.
#[test]
fn a_write_of_the_catalogue_never_delays_a_destructive_call() {
    let folder = Folder::new();
    let serving = Serving::policy(&folder, PLENTY);
    let client = serving.client();
    let arguments = json!({"from": "a", "to": "b", "amount": 1});
    let tokens: Vec<String> = (0..5).map(|_| client.token(TOOL, &arguments)).collect();
    drop(Catalogue::open(folder.path().join("catalogue.db").to_str().unwrap()).unwrap());
    let import = Connection::open(folder.path().join("catalogue.db")).unwrap();
    import.execute_batch("BEGIN IMMEDIATE; DELETE FROM catalogue_servers").unwrap();
    for token in tokens {
        let begun = Instant::now();
        let result = client.confirmed(TOOL, &arguments, &token);
        assert_eq!(result["structuredContent"]["transferred"], 1, "{result}");
        assert!(begun.elapsed() < UNDELAYED, "{:?}", begun.elapsed());
    }
    import.execute_batch("ROLLBACK").unwrap();
    serving.end();
}

/// Issue 21, two stores: during an import of many tools in the same data folder every destructive call runs.
/// `TOOLCRIB_IMPORT_TOOLS` sets another size, such as 200000.
#[test]
fn an_import_of_many_tools_never_holds_up_a_destructive_call() {
    let tools = std::env::var("TOOLCRIB_IMPORT_TOOLS").ok().and_then(|text| text.parse().ok());
    let tools: usize = tools.unwrap_or(20_000);
    let folder = Folder::new();
    let file = folder.path().join("many.json");
    std::fs::write(&file, catalogue(tools)).unwrap();
    let serving = Serving::policy(&folder, PLENTY);
    let client = serving.client();
    let arguments = json!({"from": "a", "to": "b", "amount": 1});
    let mut import = Command::new(PROGRAM)
        .args(["registry", "import", file.to_str().unwrap()])
        .env("TOOLCRIB_DATA", folder.path())
        .env_remove("TOOLCRIB_STORE")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (mut calls, mut longest) = (0, Duration::ZERO);
    while import.try_wait().unwrap().is_none() {
        let token = client.token(TOOL, &arguments);
        let begun = Instant::now();
        let result = client.confirmed(TOOL, &arguments, &token);
        assert_eq!(result["structuredContent"]["transferred"], 1, "{result}");
        longest = longest.max(begun.elapsed());
        calls += 1;
        pause(Duration::from_millis(5));
    }
    assert!(import.wait().unwrap().success());
    eprintln!("{calls} destructive calls during an import of {tools} tools, the longest took {longest:?}");
    assert!(calls > 3 && longest < UNBLOCKED, "{calls} calls, the longest took {longest:?}");
    serving.end();
    assert_eq!(servers(folder.path()), tools.div_ceil(10));
}

/// Issue 21, two stores: a process that is killed at any moment of moving the catalogue of an earlier version loses
/// nothing of the catalogue or the journal.
#[test]
fn a_killed_move_of_the_catalogue_loses_nothing() {
    let made = Folder::new();
    let serving = Serving::policy(&made, PLENTY);
    let client = serving.client();
    let token = client.token(TOOL, &json!({"from": "a", "to": "b", "amount": 1}));
    client.confirmed(TOOL, &json!({"from": "a", "to": "b", "amount": 1}), &token);
    serving.end();
    // As in an earlier version: both in one file.
    {
        let store = Store::open(&made.path().join("toolcrib.db")).unwrap();
        let done = toolcrib_registry::import::import(
            &store.into(),
            catalogue(2_000).into_bytes(),
            &toolcrib_registry::import::Options::default(),
        );
        assert_eq!(done.unwrap().added, 200);
    }
    let _ = std::fs::remove_file(made.path().join("catalogue.db"));
    for round in 0..12_u64 {
        let folder = Folder::new();
        for name in ["toolcrib.db", "keys", "audit.pub", "audit.anchor"] {
            std::fs::copy(made.path().join(name), folder.path().join(name)).unwrap();
        }
        let mut moving = Command::new(PROGRAM)
            .args(["audit", "restart", "--reason", "opens the folder"])
            .arg("--data")
            .arg(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        pause(Duration::from_millis(round * 6));
        let _ = moving.kill();
        moving.wait().unwrap();
        assert_eq!(servers(folder.path()), 200, "killed after {} ms", round * 6);
        assert_eq!(folder.run(&["audit", "verify"]).status.code(), Some(0));
        let old = Connection::open(folder.path().join("toolcrib.db")).unwrap();
        let left: i64 = old
            .query_row("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'catalogue%'", [], |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(left, 0, "nothing of it is left in the journal");
    }
}

/// Issue 21: after a clean shutdown both database files are complete without their write-ahead logs.
#[test]
fn both_databases_are_whole_after_a_clean_stop() {
    let folder = Folder::new();
    let serving = Serving::policy(&folder, PLENTY);
    let client = serving.client();
    for number in 0..20 {
        client.call("generate_fantasy_character", json!({"theme": number.to_string()}));
    }
    let file = folder.path().join("few.json");
    std::fs::write(&file, catalogue(100)).unwrap();
    let imported = Command::new(PROGRAM)
        .args(["registry", "import", file.to_str().unwrap()])
        .env("TOOLCRIB_DATA", folder.path())
        .env_remove("TOOLCRIB_STORE")
        .output()
        .unwrap();
    assert!(imported.status.success(), "{imported:?}");
    serving.end();
    for name in ["toolcrib.db-wal", "catalogue.db-wal"] {
        let size = std::fs::metadata(folder.path().join(name)).map_or(0, |file| file.len());
        assert_eq!(size, 0, "{name}");
    }
    // Copies only the database files and keys, without the write-ahead logs.
    let other = Folder::new();
    for name in ["toolcrib.db", "catalogue.db", "keys", "audit.pub", "audit.anchor"] {
        std::fs::copy(folder.path().join(name), other.path().join(name)).unwrap();
    }
    assert_eq!(other.run(&["audit", "verify"]).status.code(), Some(0));
    let listed = other.does(&["audit", "list", "--last", "1000"]);
    assert_eq!(listed.matches("kind=call").count(), 20);
    assert_eq!(servers(other.path()), 10);
}
