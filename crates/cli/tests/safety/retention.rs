//! The audit in segments: archived and pruned, and the rest verifies (issue 21).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use toolcrib_contract::Digest;
use toolcrib_engine::safety::audit::{Event, Kind};
use toolcrib_engine::safety::keep::{Admission, Intent};
use toolcrib_engine::safety::policy::Policy;
use toolcrib_engine::safety::ticket::{Binding, Clearance};
use toolcrib_store::DataFolder;
use toolcrib_store::rusqlite::Connection;

use crate::running::{Folder, PLENTY, PROGRAM, Serving, pause, until};

fn now_ms() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// Appends `records` records with the same time.
fn append(folder: &Path, records: usize, at_ms: u64) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let data = DataFolder::open(folder).unwrap();
    runtime.block_on(async {
        let safety = data.safety(Policy::default()).await.unwrap();
        let note = Some("n".repeat(200));
        let events = (0..records).map(|_| Event { note: note.clone(), ..Event::new(at_ms, Kind::Call) });
        safety.store().append(events.collect()).await.unwrap();
    });
}

/// Begins a call that never ends; at the next start its outcome is unknown.
fn begin_a_call(folder: &Path, at_ms: u64) -> String {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let data = DataFolder::open(folder).unwrap();
    let id = format!("int_{at_ms}");
    runtime.block_on(async {
        let safety = data.safety(Policy::default()).await.unwrap();
        let digest = Digest::of_bytes(b"x");
        let binding = Binding {
            caller: "local".to_owned(),
            session: None,
            tool: "transfer_gold".to_owned(),
            contract: digest,
            arguments: digest,
            policy: digest,
        };
        let intent = Intent { id: id.clone(), binding, started_ms: at_ms, ending: None };
        let event = Event { intent: Some(id.clone()), ..Event::new(at_ms, Kind::Intent) };
        let admission = Admission { clearance: Clearance::Free, intent, event, now_ms: at_ms };
        safety.store().admit(admission).await.unwrap().unwrap();
    });
    id
}

/// Creates a folder with old records, among them a call with an unknown outcome, and new ones.
fn aged(old: usize, new: usize) -> Folder {
    let folder = Folder::new();
    begin_a_call(folder.path(), 1_000);
    append(folder.path(), old, 2_000);
    append(folder.path(), new, now_ms());
    folder
}

fn code(folder: &Folder, words: &[&str]) -> Option<i32> {
    folder.run(words).status.code()
}

fn pruned(folder: &Folder, words: &[&str]) -> Value {
    let said = folder.does(&[&["audit", "prune", "--format", "json"], words].concat());
    serde_json::from_str(&said).unwrap()
}

fn archives(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// R4.8, retention: old segments go to files, the rest verifies, each file verifies, and all of them are consecutive.
#[test]
fn old_records_are_archived_and_everything_verifies() {
    let folder = aged(2_500, 600);
    let place = folder.path().join("archive");
    let place_text = place.to_str().unwrap();
    let age = ["--older-than", "30d"];
    let would = pruned(&folder, &[&age[..], &["--dry-run"]].concat());
    assert_eq!(
        (&would["outcome"], &would["records"], &would["last"]),
        (&json!("would_prune"), &json!(2_000), &json!(2_000))
    );
    let refused = folder.run(&[&["audit", "prune"], &age[..]].concat());
    assert_eq!(refused.status.code(), Some(2), "deleting has to be confirmed");
    assert!(String::from_utf8(refused.stderr).unwrap().contains("--archive"));
    let size = || std::fs::metadata(folder.path().join("toolcrib.db")).unwrap().len();
    let before = size();
    let done = pruned(&folder, &[&age[..], &["--archive", place_text]].concat());
    assert_eq!((&done["outcome"], &done["records"]), (&json!("pruned"), &json!(2_000)), "{done}");
    assert!(size() < before / 2 + before / 8, "space is given back: {before} to {}", size());
    let file = place.join("audit-1-2000.jsonl");
    assert_eq!(archives(&place), std::slice::from_ref(&file));
    assert_eq!(done["files"][0]["file"], file.to_str().unwrap());
    assert_eq!(code(&folder, &["audit", "verify"]), Some(0));
    for what in [file.to_str().unwrap(), place_text] {
        assert_eq!(code(&folder, &["audit", "verify", what]), Some(0), "{what}");
    }
    let listed = folder.does(&["audit", "list", "--last", "20"]);
    let digest = done["files"][0]["digest"].as_str().unwrap();
    let told = listed.lines().find(|line| line.contains("kind=pruned")).unwrap();
    assert!(
        told.contains("audit-1-2000.jsonl") && told.contains(digest) && told.contains("2000 records"),
        "{told}"
    );
    assert_eq!(pruned(&folder, &[&age[..], &["--archive", place_text]].concat())["outcome"], "nothing");

    // The call with an unknown outcome is still listed, and its state is still verified.
    assert!(String::from_utf8(folder.run(&["audit", "unknown"]).stdout).unwrap().contains("int_1000"));
    let db = Connection::open(folder.path().join("toolcrib.db")).unwrap();
    db.execute_batch("UPDATE intents SET outcome = 'done'").unwrap();
    assert_eq!(code(&folder, &["audit", "verify"]), Some(1), "the end of a call whose records were pruned");
    db.execute_batch("UPDATE intents SET outcome = 'unknown'").unwrap();
    db.execute_batch(
        "INSERT INTO intents SELECT 'int_forged', process, caller, session, tool, contract, arguments, policy,
         started_ms, outcome FROM intents LIMIT 1",
    )
    .unwrap();
    assert_eq!(code(&folder, &["audit", "verify"]), Some(1), "a call that nobody made");
    db.execute_batch("DELETE FROM intents WHERE id = 'int_forged'").unwrap();
    drop(db);

    // By size, in two further prunings.
    for last in [3_000, 4_000] {
        append(folder.path(), 500, now_ms());
        let done = pruned(&folder, &["--keep-size", "1kB", "--archive", place_text]);
        assert_eq!(done["last"], last, "{done}");
        assert_eq!(code(&folder, &["audit", "verify"]), Some(0));
    }
    let files = archives(&place);
    assert_eq!(files.len(), 3);
    let texts: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    let said = folder.does(&["audit", "verify", texts[2], texts[0], texts[1]]);
    assert!(said.starts_with("4000 records, unbroken"), "{said}");
    assert_eq!(code(&folder, &["audit", "verify", place_text]), Some(0));
    let key = std::fs::read_to_string(folder.path().join("audit.pub")).unwrap();
    for file in &texts {
        assert_eq!(
            code(&folder, &["audit", "verify", file, "--key", key.trim()]),
            Some(0),
            "{file} by itself"
        );
    }
    let serving = Serving::policy(&folder, PLENTY);
    assert!(serving.client().call("generate_fantasy_character", json!({}))["isError"].is_null());
    serving.end();
    assert_eq!(code(&folder, &["audit", "verify"]), Some(0), "the log goes on");
}

/// R4.8, retention: a moved base, the base of another segment, a missing segment, and forged archives are found.
#[test]
fn tampering_with_segments_is_found() {
    let folder = aged(2_200, 10);
    let place = folder.path().join("archive");
    let place_text = place.to_str().unwrap();
    for _ in 0..3 {
        pruned(&folder, &["--keep-size", "1kB", "--archive", place_text]);
        append(folder.path(), 1_400, now_ms());
    }
    assert_eq!(archives(&place).len(), 3);
    let verify = || code(&folder, &["audit", "verify"]);
    let chain = || code(&folder, &["audit", "verify", place_text]);
    assert_eq!((verify(), chain()), (Some(0), Some(0)));
    let db = Connection::open(folder.path().join("toolcrib.db")).unwrap();
    let backup = folder.path().join("backup.db");
    db.execute("VACUUM INTO ?1", [backup.to_str().unwrap()]).unwrap();
    let restore = || {
        db.execute("ATTACH ?1 AS backup", [backup.to_str().unwrap()]).unwrap();
        for table in
            ["audit", "audit_checkpoints", "audit_head", "audit_base", "audit_pruned", "intents", "tokens"]
        {
            let copy = format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM backup.{table}");
            db.execute_batch(&copy).unwrap();
        }
        db.execute_batch("DETACH backup").unwrap();
    };
    let base: i64 = db.query_row("SELECT seq FROM audit_base", [], |row| row.get(0)).unwrap();
    let title = |file: &Path| -> Value {
        let text = std::fs::read_to_string(file).unwrap();
        serde_json::from_str::<Value>(text.lines().next().unwrap()).unwrap()["audit"]["after"].take()
    };
    let files = archives(&place);
    let of = |file: &Path| {
        let after = title(file);
        let text = |name: &str| after[name].as_str().unwrap().to_owned();
        format!(
            "UPDATE audit_base SET seq = {}, link = x'{}', signature = x'{}'",
            after["seq"],
            text("hash"),
            text("signature")
        )
    };
    let older = files.iter().find(|file| !title(file).is_null()).unwrap();
    for (what, sql) in [
        (
            "a moved base",
            format!("UPDATE audit_base SET seq = {}; DELETE FROM audit WHERE seq <= {}", base + 5, base + 5),
        ),
        (
            "a base of a later record, with its link",
            format!(
                "UPDATE audit_base SET (seq, link) = (SELECT seq, link FROM audit WHERE seq = {0}); DELETE FROM audit WHERE seq <= {0}",
                base + 5
            ),
        ),
        ("a checkpoint in place of the base", {
            let at = (base / 1_000 + 1) * 1_000;
            format!(
                "UPDATE audit_base SET (seq, link, signature) = (SELECT seq, link, signature FROM audit_checkpoints WHERE seq = {at});
                 DELETE FROM audit WHERE seq <= {at}"
            )
        }),
        ("the base of another segment", of(older)),
        ("no base", "DELETE FROM audit_base".to_owned()),
        (
            "a missing segment",
            format!("DELETE FROM audit WHERE seq BETWEEN {} AND {}", base + 100, base + 200),
        ),
        ("no record of the pruning", "DELETE FROM audit WHERE body LIKE '%\"pruned\"%'".to_owned()),
    ] {
        db.execute_batch(&sql).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(verify(), Some(1), "{what}");
        restore();
        assert_eq!(verify(), Some(0), "{what} was taken back");
    }
    // Archives: a missing one in the middle or at the end, an edited, a truncated, and one sealed with another key.
    let kept: Vec<(PathBuf, Vec<u8>)> =
        files.iter().map(|file| (file.clone(), std::fs::read(file).unwrap())).collect();
    let sorted = {
        let mut sorted = kept.clone();
        sorted.sort_by_key(|(file, _)| title(file)["seq"].as_u64().unwrap_or(0));
        sorted
    };
    for at in [1, 2] {
        std::fs::remove_file(&sorted[at].0).unwrap();
        assert_eq!(chain(), Some(1), "archive {at} is missing");
        std::fs::write(&sorted[at].0, &sorted[at].1).unwrap();
    }
    let (middle, text) = &sorted[1];
    let lines: Vec<&str> = std::str::from_utf8(text).unwrap().lines().collect();
    let sealed = lines.last().unwrap();
    let checkpoint = lines.iter().rposition(|line| line.starts_with("{\"checkpoint\"")).unwrap();
    let forged = [
        ("a changed byte", lines.join("\n").replacen("\"kind\":\"call\"", "\"kind\":\"cell\"", 1)),
        ("a record less", [&lines[..5], &lines[6..]].concat().join("\n")),
        ("a cut end", lines[..lines.len() - 5].join("\n")),
        ("a cut end under the old seal", [&lines[..lines.len() - 5], &[*sealed]].concat().join("\n")),
        ("a checkpoint as the seal", {
            let fake = lines[checkpoint].replacen("checkpoint", "sealed", 1);
            [&lines[..=checkpoint], &[fake.as_str()]].concat().join("\n")
        }),
        ("no seal", lines[..lines.len() - 1].join("\n")),
        ("another archive under its name", std::str::from_utf8(&sorted[0].1).unwrap().to_owned()),
    ];
    for (what, content) in forged {
        std::fs::write(middle, &content).unwrap();
        assert_eq!(chain(), Some(1), "{what}");
        if !what.starts_with("another") {
            assert_eq!(code(&folder, &["audit", "verify", middle.to_str().unwrap()]), Some(1), "{what}");
        }
    }
    std::fs::write(middle, text).unwrap();
    assert_eq!((verify(), chain()), (Some(0), Some(0)));
}

/// R4.8, retention: a pruning that is killed at any moment leaves every record in the database or in a complete
/// archive, and the next pruning finishes it.
#[test]
fn a_killed_pruning_loses_nothing() {
    let folder = aged(24_000, 100);
    let place = folder.path().join("archive");
    let place_text = place.to_str().unwrap().to_owned();
    for round in 0..6_u64 {
        let mut pruning = Command::new(PROGRAM)
            .args(["audit", "prune", "--older-than", "30d", "--archive", &place_text, "--data"])
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        pause(Duration::from_millis(100 + round * 150));
        let _ = pruning.kill();
        pruning.wait().unwrap();
        assert_eq!(code(&folder, &["audit", "verify"]), Some(0), "round {round}");
    }
    pruned(&folder, &["--older-than", "30d", "--archive", &place_text]);
    assert_eq!(code(&folder, &["audit", "verify"]), Some(0));
    let said = folder.does(&["audit", "verify", &place_text]);
    assert!(said.starts_with("24000 records, unbroken"), "{said}");
}

/// R4.8, retention: a gateway with `audit_keep_days` archives by itself, while destructive calls go on without delay.
#[test]
fn a_server_keeps_its_audit_within_its_policy() {
    let folder = aged(12_000, 100);
    let place = folder.path().join("archive");
    let policy = format!("{PLENTY}audit_keep_days = 1\naudit_archive = {:?}\n", place.to_str().unwrap());
    let serving = Serving::policy(&folder, &policy);
    let client = serving.client();
    let arguments = json!({"from": "a", "to": "b", "amount": 1});
    let mut longest = Duration::ZERO;
    let base = || -> i64 {
        let db = Connection::open(folder.path().join("toolcrib.db")).unwrap();
        db.query_row("SELECT coalesce(max(seq), 0) FROM audit_base", [], |row| row.get(0)).unwrap()
    };
    let end = Instant::now() + Duration::from_secs(60);
    while base() < 12_000 {
        assert!(Instant::now() < end, "not pruned: {}", serving.process.said());
        let token = client.token("transfer_gold", &arguments);
        let begun = Instant::now();
        let result = client.confirmed("transfer_gold", &arguments, &token);
        assert_eq!(result["structuredContent"]["transferred"], 1, "{result}");
        longest = longest.max(begun.elapsed());
    }
    assert!(longest < Duration::from_secs(2), "the longest call took {longest:?}");
    serving.end();
    until("both archives are there", || archives(&place).len() == 2);
    assert_eq!(code(&folder, &["audit", "verify"]), Some(0));
    assert_eq!(code(&folder, &["audit", "verify", place.to_str().unwrap()]), Some(0));
}
