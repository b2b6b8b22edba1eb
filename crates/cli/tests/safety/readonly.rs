//! `toolcrib audit` on a read-only mount, if the tests may create one (issue 21).

use std::path::Path;
use std::process::{Command, Output};

use serde_json::json;
use toolcrib_store::rusqlite::Connection;

use crate::running::{Folder, PLENTY, PROGRAM, Serving};

/// Runs a verb on a folder that is mounted read-only; `None` if this user may not mount.
fn read_only(folder: &Path, words: &[&str]) -> Option<Output> {
    let script = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" || exit 99; \
                  touch \"$1/x\" 2>/dev/null && exit 98; folder=$1; program=$2; shift 2; \
                  exec \"$program\" \"$@\" --data \"$folder\"";
    let output = Command::new("unshare")
        .args(["-m", "--propagation", "private", "sh", "-c", script, "sh"])
        .arg(folder)
        .arg(PROGRAM)
        .args(words)
        .output()
        .ok()?;
    let may_mount =
        output.status.code() != Some(99) && !String::from_utf8_lossy(&output.stderr).contains("unshare:");
    if !may_mount {
        eprintln!("skipped: this user may not mount");
    }
    may_mount.then_some(output)
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// R4.8: verify, list, export and unknown work on a read-only folder and leave no file behind.
#[test]
fn the_audit_is_verified_on_a_read_only_folder() {
    let folder = Folder::new();
    let serving = Serving::policy(&folder, PLENTY);
    let client = serving.client();
    for number in 0..10 {
        client.call("generate_fantasy_character", json!({"theme": number.to_string()}));
    }
    serving.end();
    let files = || {
        let mut names: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    let before = files();
    let Some(verified) = read_only(folder.path(), &["audit", "verify"]) else { return };
    assert_eq!(verified.status.code(), Some(0), "{}", said(&verified));
    assert!(said(&verified).contains("records, unbroken"), "{}", said(&verified));
    for words in [&["audit", "list"][..], &["audit", "export"], &["audit", "unknown"]] {
        let output = read_only(folder.path(), words).unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", said(&output));
    }
    assert_eq!(files(), before, "nothing was made");
    // An edit is found there as well.
    let db = Connection::open(folder.path().join("toolcrib.db")).unwrap();
    db.execute_batch("UPDATE audit SET body = body || ' ' WHERE seq = 3; PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    drop(db);
    let broken = read_only(folder.path(), &["audit", "verify"]).unwrap();
    assert_eq!(broken.status.code(), Some(1), "{}", said(&broken));
}

/// R4.8: records that a killed process left in the write-ahead log are read on a read-only folder; if that is
/// impossible, the error says so, and nothing less is verified.
#[test]
fn a_log_beside_the_database_is_read_or_named() {
    let folder = Folder::new();
    let mut serving = Serving::policy(&folder, PLENTY);
    let client = serving.client();
    for number in 0..10 {
        client.call("generate_fantasy_character", json!({"theme": number.to_string()}));
    }
    crate::running::until("they are written", || {
        folder.does(&["audit", "list"]).matches("kind=call").count() == 10
    });
    serving.process.kill();
    let log = folder.path().join("toolcrib.db-wal");
    assert!(std::fs::metadata(&log).is_ok_and(|log| log.len() > 0), "a killed process leaves its log");
    let Some(listed) = read_only(folder.path(), &["audit", "list"]) else { return };
    assert_eq!(said(&listed).matches("kind=call").count(), 10, "{}", said(&listed));
    let verified = read_only(folder.path(), &["audit", "verify"]).unwrap();
    assert_eq!(verified.status.code(), Some(0), "{}", said(&verified));
    std::fs::remove_file(folder.path().join("toolcrib.db-shm")).unwrap();
    let refused = read_only(folder.path(), &["audit", "verify"]).unwrap();
    assert_eq!(refused.status.code(), Some(3), "{}", said(&refused));
    assert!(
        said(&refused).contains("toolcrib.db-wal holds records that cannot be read"),
        "{}",
        said(&refused)
    );
}
