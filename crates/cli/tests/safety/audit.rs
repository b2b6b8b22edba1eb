//! The audit of a real server, with every kind of edit applied to it (R4.8).

use serde_json::{Value, json};
use toolcrib_store::rusqlite::{Connection, params};
use toolcrib_testkit::http::Request;

use crate::running::{Folder, PLENTY, Serving, is_refused, text, until};
use crate::size;

const READS: &str = "generate_fantasy_character";

/// Returns a folder whose log has at least `records` records, all of real calls.
fn log(records: usize) -> Folder {
    let folder = Folder::new();
    let serving = Serving::policy(&folder, PLENTY);
    let client = serving.client();
    std::thread::scope(|scope| {
        for part in 0..8 {
            let client = &client;
            scope.spawn(move || {
                for number in 0..records.div_ceil(8) {
                    let theme = format!("{part}-{number}");
                    assert!(client.call(READS, json!({"theme": theme}))["isError"].is_null());
                }
            });
        }
    });
    let arguments = json!({"count": 1});
    let token = client.token("launch_confetti", &arguments);
    client.confirmed("launch_confetti", &arguments, &token);
    serving.end();
    folder
}

/// R4.8: one record per decision, with every promised member, and a destructive call is journalled before it runs.
#[test]
fn every_decision_leaves_its_record() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let client = serving.client();
    client.call(READS, json!({"theme": "sea"}));
    let arguments = json!({"count": 2});
    client.call("launch_confetti", arguments.clone());
    let token = client.token("launch_confetti", &arguments);
    client.confirmed("launch_confetti", &arguments, &token);
    client.confirmed("launch_confetti", &arguments, &token);
    serving.end();
    let listed = folder.does(&["audit", "list", "--format", "json"]);
    let records: Vec<Value> =
        listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["record"].take()).collect();
    let of = |kind: &str, tool: &str| {
        let found = records.iter().find(|record| record["kind"] == kind && record["tool"] == tool);
        found.unwrap_or_else(|| panic!("no {kind} of {tool} in {listed}"))
    };
    let call = of("call", READS);
    for member in ["at_ms", "caller", "contract", "arguments", "decision", "rule", "outcome", "latency_us"] {
        assert!(call.get(member).is_some(), "{member}: {call}");
    }
    assert_eq!((&call["decision"], &call["outcome"]), (&json!("allowed"), &json!("done")));
    assert!(of("asked", "launch_confetti")["ticket"].as_str().unwrap().starts_with("apr_"));
    let given = of("token", "launch_confetti");
    let intent = of("intent", "launch_confetti");
    let outcome = of("outcome", "launch_confetti");
    assert_eq!(intent["ticket"], given["ticket"]);
    assert_eq!((&outcome["intent"], &outcome["outcome"]), (&intent["intent"], &json!("done")));
    assert_eq!(of("refused", "launch_confetti")["note"], "used");
    let place = |kind: &str| records.iter().position(|record| record["kind"] == kind).unwrap();
    assert!(place("intent") < place("outcome"));
    assert!(!listed.contains("ctk_") && !listed.contains("sea"), "neither secrets nor arguments: {listed}");
    assert_eq!(folder.run(&["audit", "verify"]).status.code(), Some(0));
}

/// R4.8: rows that are edited, deleted, inserted or swapped in the database are found.
#[test]
fn any_change_of_the_database_is_found() {
    let folder = log(size(1_200, 10_000));
    let db = Connection::open(folder.path().join("toolcrib.db")).unwrap();
    let count: i64 = db.query_row("SELECT count(*) FROM audit", [], |row| row.get(0)).unwrap();
    let verify = || folder.run(&["audit", "verify"]).status.code();
    assert_eq!(verify(), Some(0));
    let backup = folder.path().join("backup.db");
    db.execute("VACUUM INTO ?1", [backup.to_str().unwrap()]).unwrap();
    let broken = |what: &str, sql: &[&str]| {
        for statement in sql {
            db.execute_batch(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
        assert_eq!(verify(), Some(1), "{what}");
        db.execute("ATTACH ?1 AS backup", [backup.to_str().unwrap()]).unwrap();
        for table in ["audit", "audit_checkpoints", "audit_head", "audit_base", "intents", "tokens"] {
            db.execute_batch(&format!(
                "DELETE FROM {table}; INSERT INTO {table} SELECT * FROM backup.{table}"
            ))
            .unwrap();
        }
        db.execute_batch("DETACH backup").unwrap();
    };
    for seq in [1, 2, count / 2, 1_000, count - 1, count] {
        broken(
            &format!("edit {seq}"),
            &[&format!(
                "UPDATE audit SET body = replace(body, '\"at_ms\":', '\"at_ms\":1') WHERE seq = {seq}"
            )],
        );
        broken(&format!("deletion {seq}"), &[&format!("DELETE FROM audit WHERE seq = {seq}")]);
        let shift = format!(
            "UPDATE audit SET seq = -seq WHERE seq > {seq}; UPDATE audit SET seq = -seq + 1 WHERE seq < 0"
        );
        let insert = format!("INSERT INTO audit SELECT seq + 1, body, link FROM audit WHERE seq = {seq}");
        broken(&format!("insertion {seq}"), &[&shift, &insert]);
        let next = if seq == count { 1 } else { seq + 1 };
        let swap = format!(
            "UPDATE audit SET seq = -1 WHERE seq = {seq}; UPDATE audit SET seq = {seq} WHERE seq = {next};
            UPDATE audit SET seq = {next} WHERE seq = -1"
        );
        broken(&format!("swap {seq}"), &[&swap]);
    }
    broken("cut off", &[&format!("DELETE FROM audit WHERE seq > {}", count - 10)]);
    broken("no head", &["DELETE FROM audit_head"]);
    broken("no checkpoint", &["DELETE FROM audit_checkpoints WHERE seq = 1000"]);
    broken("signature", &["UPDATE audit_head SET signature = zeroblob(64)"]);
    broken("everything", &["DELETE FROM audit"]);
    let all = "DELETE FROM audit; DELETE FROM audit_checkpoints; DELETE FROM audit_head";
    broken("every row of every table", &[all]);
    let head = |seq: i64| {
        format!(
        "DELETE FROM audit WHERE seq > {seq}; DELETE FROM audit_checkpoints WHERE seq > {seq};
        UPDATE audit_head SET (seq, link, signature) = (SELECT seq, link, signature FROM audit_checkpoints WHERE seq = {seq})"
    )
    };
    broken("a checkpoint in place of the end", &[&head(1_000)]);
    let base =
        "INSERT INTO audit_base SELECT 1, seq, link, signature FROM audit_checkpoints WHERE seq = 1000;
        DELETE FROM audit WHERE seq <= 1000; DELETE FROM audit_checkpoints";
    broken("a checkpoint in place of a base", &[base]);
    broken("the end of a call", &["UPDATE intents SET outcome = 'failed'"]);
    broken(
        "a call that nobody made",
        &[
            "INSERT INTO intents SELECT 'int_forged', process, caller, session, tool, contract, arguments, policy, started_ms, outcome FROM intents LIMIT 1",
        ],
    );
    broken("a token that lives again", &["UPDATE tokens SET state = 'live'"]);
    let anchor = folder.path().join("audit.anchor");
    let kept = std::fs::read(&anchor).unwrap();
    for (what, other) in [("emptied", Vec::new()), ("changed", [b"1", &kept[1..]].concat())] {
        std::fs::write(&anchor, other).unwrap();
        let is_found = verify() == Some(1);
        // One of the two entries survives a single changed byte, which is enough.
        assert!(is_found || what == "changed", "an anchor that was {what}");
    }
    std::fs::write(&anchor, &kept).unwrap();
    assert_eq!(verify(), Some(0));
    let links: Vec<u8> = db.query_row("SELECT link FROM audit WHERE seq = 5", [], |row| row.get(0)).unwrap();
    db.execute("UPDATE audit SET link = ?1 WHERE seq = 5", params![&links[..31]]).unwrap();
    assert_eq!(verify(), Some(1), "a link of another length");
}

/// R4.8: an export verifies anywhere with the public key; a flip, drop, insertion or swap at any position is found.
#[test]
fn any_change_of_an_export_is_found_at_every_position() {
    use toolcrib_engine::safety::audit::PublicKey;
    use toolcrib_engine::safety::export::Reading;
    let folder = log(size(1_100, 10_000));
    let file = folder.path().join("export.jsonl");
    folder.does(&["audit", "export", "--out", file.to_str().unwrap()]);
    let key = std::fs::read_to_string(folder.path().join("audit.pub")).unwrap();
    let words = ["audit", "verify", file.to_str().unwrap(), "--key", key.trim()];
    assert_eq!(folder.run(&words).status.code(), Some(0));
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&[u8]> = text.trim_end().as_bytes().split(|byte| *byte == b'\n').collect();
    assert!(lines.len() > size(1_100, 10_000));
    let key = PublicKey::parse(&key).unwrap();
    // The lines before a change are unchanged, so they are read once.
    let goes_on = |before: &Reading, rest: &mut dyn Iterator<Item = &[u8]>| {
        let mut reading = before.clone();
        for line in rest {
            if reading.line(line).is_err() {
                return false;
            }
        }
        reading.end().is_ok()
    };
    assert!(goes_on(&Reading::new(key), &mut lines.iter().copied()));
    let step = size(37, 1);
    let mut before = Reading::new(key);
    for (at, line) in lines.iter().enumerate() {
        if at % step == 0 || at + 3 > lines.len() {
            let after = || lines[at + 1..].iter().copied();
            for bit in [0, line.len() * 4, line.len() * 8 - 1] {
                let mut flipped = line.to_vec();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert!(
                    !goes_on(&before, &mut std::iter::once(&*flipped).chain(after())),
                    "bit {bit} of line {at}"
                );
            }
            assert!(!goes_on(&before, &mut after()), "line {at} dropped");
            assert!(!goes_on(&before, &mut [*line, *line].into_iter().chain(after())), "line {at} doubled");
            if let Some((next, rest)) = lines[at + 1..].split_first() {
                let mut swapped = [*next, *line].into_iter().chain(rest.iter().copied());
                assert!(!goes_on(&before, &mut swapped), "line {at} swapped");
            }
        }
        before.line(line).unwrap();
    }
    // Every bit of one line, checked by the program itself.
    let middle = lines.len() / 2;
    let mut flipped: Vec<Vec<u8>> = lines.iter().map(|line| line.to_vec()).collect();
    for bit in (0..lines[middle].len() * 8).step_by(size(97, 7)) {
        flipped[middle][bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&file, flipped.join(&b'\n')).unwrap();
        assert_eq!(folder.run(&words).status.code(), Some(1), "bit {bit}");
        flipped[middle][bit / 8] ^= 1 << (bit % 8);
    }
}

/// R4.8: records of read-only calls are collected in memory, and a server that shuts down writes them all.
#[test]
fn no_record_is_lost_when_the_server_is_asked_to_end() {
    let folder = Folder::new();
    let serving = Serving::policy(&folder, PLENTY);
    let client = serving.client();
    for number in 0..50 {
        client.call(READS, json!({"theme": number.to_string()}));
    }
    let unknown = Request::get("/nothing").send(serving.address).unwrap();
    assert_eq!(unknown.status, 404);
    serving.end();
    let listed = folder.does(&["audit", "list", "--last", "1000", "--format", "json"]);
    assert_eq!(listed.lines().filter(|line| line.contains(r#""kind":"call""#)).count(), 50);
}

/// R4.8: an older copy of the database is found; destructive calls are refused until an operator starts a new log,
/// which keeps the old one in a file.
#[test]
fn an_older_copy_is_found_and_ends_destructive_calls_until_a_new_log_begins() {
    let folder = log(20);
    let copy = folder.path().join("copy.db");
    let db = || Connection::open(folder.path().join("toolcrib.db")).unwrap();
    db().execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
    let serving = Serving::policy(&folder, PLENTY);
    assert!(serving.client().call(READS, json!({"theme": "later"}))["isError"].is_null());
    serving.end();
    assert_eq!(folder.run(&["audit", "verify"]).status.code(), Some(0));
    for file in ["toolcrib.db", "toolcrib.db-wal", "toolcrib.db-shm"] {
        let _ = std::fs::remove_file(folder.path().join(file));
    }
    std::fs::rename(&copy, folder.path().join("toolcrib.db")).unwrap();
    let verified = folder.run(&["audit", "verify"]);
    assert_eq!(verified.status.code(), Some(1));
    let said = String::from_utf8(verified.stdout).unwrap();
    assert!(said.contains("the log ends at record"), "{said}");

    let serving = Serving::policy(&folder, PLENTY);
    until("said", || serving.process.said().contains("the audit is broken"));
    let client = serving.client();
    let arguments = json!({"count": 1});
    let token = client.token("launch_confetti", &arguments);
    let refused = client.confirmed("launch_confetti", &arguments, &token);
    assert!(is_refused(&refused) && text(&refused).contains("toolcrib audit restart"), "{refused}");
    assert!(client.call(READS, json!({"theme": "goes on"}))["isError"].is_null());
    serving.end();

    let said = folder.does(&["audit", "restart", "--reason", "restored a backup"]);
    assert!(said.contains("audit-broken-"), "{said}");
    assert_eq!(folder.run(&["audit", "verify"]).status.code(), Some(0));
    assert_eq!(folder.run(&["audit", "restart", "--reason", "again"]).status.code(), Some(2), "it is whole");
    let first = folder.does(&["audit", "list", "--last", "1"]);
    assert!(first.contains("kind=restarted") && first.contains("restored a backup"), "{first}");
    let serving = Serving::policy(&folder, PLENTY);
    let client = serving.client();
    let token = client.token("launch_confetti", &arguments);
    let result = client.confirmed("launch_confetti", &arguments, &token);
    assert!(result["isError"].is_null(), "{result}");
    serving.end();
    assert_eq!(folder.run(&["audit", "verify"]).status.code(), Some(0));
    let file = folder.path().join("export.jsonl");
    folder.does(&["audit", "export", "--out", file.to_str().unwrap()]);
    folder.does(&["audit", "verify", file.to_str().unwrap()]);
}

/// R4.8: a wrong key is reported as such, and so is a changed public key file.
#[test]
fn another_key_is_told_from_a_broken_log() {
    let folder = log(8);
    let file = folder.path().join("export.jsonl");
    folder.does(&["audit", "export", "--out", file.to_str().unwrap()]);
    let other = Folder::new();
    Serving::start(&other).end();
    let others_key = std::fs::read_to_string(other.path().join("audit.pub")).unwrap();
    let words = ["audit", "verify", file.to_str().unwrap(), "--key", others_key.trim()];
    let said = folder.run(&words);
    assert_eq!(said.status.code(), Some(1));
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("signed by another key"), "{said}");
    std::fs::write(folder.path().join("audit.pub"), others_key).unwrap();
    let said = folder.run(&["audit", "verify"]);
    assert_eq!(said.status.code(), Some(1));
    assert!(String::from_utf8(said.stderr).unwrap().contains("audit.pub"));
}
