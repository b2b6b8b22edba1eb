//! Tests of how long entries are kept and how many are read at once.

use rusqlite::Connection;
use toolcrib_contract::Digest;
use toolcrib_engine::safety::allowance::{Allowance, User};
use toolcrib_engine::safety::keep::Room;
use toolcrib_engine::safety::ticket::{ApprovalState, Binding, Clearance, Issuer};

use super::*;
use crate::limits::{AUDIT_PAGE_RECORDS, INTENTS_KEPT_MS, TOKENS_SPENT_KEPT_MS};
use crate::migration;

fn database() -> Connection {
    let mut connection = crate::connection::open_in_memory().unwrap();
    migration::migrate(&mut connection, migration::ALL).unwrap();
    connection
}

fn signer() -> Signer {
    Signer::new(&[7; 32])
}

fn binding() -> Binding {
    let digest = Digest::of_bytes(b"x");
    Binding {
        caller: "ada".to_owned(),
        session: None,
        tool: "erase".to_owned(),
        contract: digest,
        arguments: digest,
        policy: digest,
    }
}

fn token(id: u8, created_ms: u64) -> Token {
    let binding = binding();
    Token {
        id: format!("token-{id}"),
        hash: Keyed([id; 32]),
        caller: binding.caller,
        session: None,
        tool: binding.tool,
        contract: binding.contract,
        arguments: None,
        policy: binding.policy,
        summary: String::new(),
        issuer: Issuer::Caller,
        created_ms,
        expires_ms: created_ms + 1_000,
    }
}

fn approval(id: u8, created_ms: u64) -> Approval {
    Approval {
        id: format!("approval-{id}"),
        binding: binding(),
        client: None,
        arguments: "{}".to_owned(),
        created_ms,
        expires_ms: created_ms + 1_000,
        state: ApprovalState::Pending,
        decided_by: None,
    }
}

/// R4.3: a spent ticket is remembered for `TOKENS_SPENT_KEPT_MS` after its expiry, so that a late use is refused with
/// its reason.
#[test]
fn spent_tickets_are_kept_for_tokens_spent_kept_ms() {
    let end = 1_000;
    let db = database();
    tokens::put(&db, &token(1, 0)).unwrap();
    tokens::put(&db, &token(2, end + TOKENS_SPENT_KEPT_MS)).unwrap();
    assert!(tokens::find(&db, Keyed([1; 32])).unwrap().is_some());
    tokens::put(&db, &token(3, end + TOKENS_SPENT_KEPT_MS + 1)).unwrap();
    assert!(tokens::find(&db, Keyed([1; 32])).unwrap().is_none());
    assert!(tokens::find(&db, Keyed([2; 32])).unwrap().is_some());

    let user = User::subject("ann");
    let (calls, bytes) = (Allowance::new("calls", 10, 100), Allowance::new("bytes", 1_000, 10_000));
    let room = Room { share: user.share.to_string(), user, calls, bytes };
    approvals::put(&db, &approval(1, 0), &room).unwrap();
    approvals::put(&db, &approval(2, end + TOKENS_SPENT_KEPT_MS), &room).unwrap();
    assert!(approvals::find(&db, "approval-1").unwrap().is_some());
    let mut later = approval(3, end + TOKENS_SPENT_KEPT_MS + 1);
    later.binding.tool = "drop".to_owned();
    approvals::put(&db, &later, &room).unwrap();
    assert!(approvals::find(&db, "approval-1").unwrap().is_none());

    let sealed = |nonce: &str, now_ms: u64| {
        let clearance = Clearance::Sealed { nonce: nonce.to_owned(), expires_ms: end };
        let intent =
            Intent { id: format!("{nonce}-{now_ms}"), binding: binding(), started_ms: now_ms, ending: None };
        let event = Event::new(now_ms, toolcrib_engine::safety::audit::Kind::Outcome);
        let admission = Admission { clearance, intent, event, now_ms };
        admit::admit(&db, &signer(), "process", admission).unwrap()
    };
    assert!(sealed("first", 0).is_ok());
    assert_eq!(sealed("first", end + TOKENS_SPENT_KEPT_MS), Err(Spent::Used));
    assert!(sealed("second", end + TOKENS_SPENT_KEPT_MS + 1).is_ok());
    let burnt: i64 = db.query_row("SELECT count(*) FROM burnt", [], |row| row.get(0)).unwrap();
    assert_eq!(burnt, 0, "both names ended long ago");
}

/// R4.8: an intent that has ended is kept for `INTENTS_KEPT_MS`; one that is open or unknown is kept for good.
#[test]
fn ended_intents_are_kept_for_intents_kept_ms() {
    let db = database();
    let own = ProcessLock::take(None).unwrap();
    for id in ["done", "failed", "asked", "refused", "unknown", "open"] {
        let ending = Ending::named(id);
        let intent = Intent { id: id.to_owned(), binding: binding(), started_ms: 0, ending };
        intents::put(&db, own.name(), &intent).unwrap();
    }
    let left = |now_ms: u64| -> Vec<String> {
        intents::recover(&db, &signer(), &own, now_ms).unwrap();
        let mut query = db.prepare("SELECT id FROM intents ORDER BY id").unwrap();
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(left(INTENTS_KEPT_MS), ["asked", "done", "failed", "open", "refused", "unknown"]);
    assert_eq!(left(INTENTS_KEPT_MS + 1), ["open", "unknown"]);
}

/// R4.8: the audit is read in pages of `AUDIT_PAGE_RECORDS`.
#[test]
fn a_page_of_the_audit_has_audit_page_records() {
    let db = database();
    let event = || Event::new(1, toolcrib_engine::safety::audit::Kind::Outcome);
    let events: Vec<Event> = (0..=AUDIT_PAGE_RECORDS).map(|_| event()).collect();
    audit_log::append(&db, &signer(), &events).unwrap();
    let first = audit_log::page(&db, 0).unwrap();
    assert_eq!(first.records.len(), AUDIT_PAGE_RECORDS as usize);
    let last = first.records.last().unwrap().seq;
    assert_eq!(audit_log::page(&db, last).unwrap().records.len(), 1);
}

fn admission(id: &str) -> Admission {
    let intent = Intent { id: id.to_owned(), binding: binding(), started_ms: 1, ending: None };
    let event =
        Event { intent: Some(id.to_owned()), ..Event::new(1, toolcrib_engine::safety::audit::Kind::Intent) };
    Admission { clearance: Clearance::Free, intent, event, now_ms: 1 }
}

fn ended(id: &str) -> Event {
    let kind = toolcrib_engine::safety::audit::Kind::Outcome;
    Event { intent: Some(id.to_owned()), outcome: Some("done"), ..Event::new(2, kind) }
}

fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("toolcrib-safety-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn outcomes(store: &Store) -> Vec<(String, String)> {
    let read = store.read::<_, StoreError, _>(|db| {
        let mut query = db.prepare("SELECT id, outcome FROM intents ORDER BY id")?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    });
    read.wait_blocking().unwrap()
}

fn records(store: &Store, kind: &'static str) -> usize {
    let read = store.read::<_, StoreError, _>(move |db| {
        let kind = format!("%\"kind\":\"{kind}\"%");
        Ok(db
            .query_row("SELECT count(*) FROM audit WHERE body LIKE ?1", [kind], |row| row.get::<_, i64>(0))?)
    });
    usize::try_from(read.wait_blocking().unwrap()).unwrap()
}

/// Issue 21, two stores: a long write to the catalogue delays no intent, because the catalogue is a separate database.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_write_of_the_catalogue_delays_no_intent() {
    let folder = folder("undelayed");
    let data = crate::DataFolder::open(&folder).unwrap();
    let safety = SqliteSafety::new(data.store.clone(), signer(), Some(&folder)).unwrap();
    let (started, has_started) = std::sync::mpsc::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let import = data.catalogue().unwrap().write::<_, StoreError, _>(move |shelves| {
        shelves.begin_many()?;
        started.send(()).unwrap();
        let _ = released.recv();
        Ok(())
    });
    has_started.recv().unwrap();
    for number in 0..20 {
        let begun = std::time::Instant::now();
        safety.admit(admission(&number.to_string())).await.unwrap().unwrap();
        assert!(begun.elapsed() < std::time::Duration::from_millis(250), "{:?}", begun.elapsed());
    }
    drop(release);
    import.wait().await.unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}

/// R12.1, R4.8: an ending that cannot be written is written later, exactly once.
#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_cannot_be_written_is_written_later() {
    let folder = folder("ends");
    let store = Store::open(&folder.join("t.db")).unwrap();
    let safety = SqliteSafety::new(store.clone(), signer(), Some(&folder)).unwrap();
    safety.admit(admission("a")).await.unwrap().unwrap();
    let rename = |from: &'static str, to: &'static str| {
        let renamed = store.write::<_, StoreError, _>(move |db| {
            Ok(db.execute_batch(&format!("ALTER TABLE {from} RENAME TO {to}"))?)
        });
        renamed.wait_blocking().unwrap();
    };
    tokio::task::block_in_place(|| rename("audit", "audit_away"));
    safety.finish("a".to_owned(), Ending::Done, ended("a"));
    // The write fails on the writer's thread, some time after `finish` returned.
    while safety.endings.count() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(safety.retry().await.is_err());
    assert_eq!(safety.endings.count(), 1, "it waits on");
    assert_eq!(tokio::task::block_in_place(|| outcomes(&store)), [("a".to_owned(), "open".to_owned())]);
    tokio::task::block_in_place(|| rename("audit_away", "audit"));
    assert_eq!(safety.retry().await.unwrap(), 0);
    assert_eq!(safety.retry().await.unwrap(), 0);
    assert_eq!(tokio::task::block_in_place(|| outcomes(&store)), [("a".to_owned(), "done".to_owned())]);
    assert_eq!(tokio::task::block_in_place(|| records(&store, "outcome")), 1);
    std::fs::remove_dir_all(folder).unwrap();
}

/// R4.8: a call whose intent is durable but not anchored is refused, and its intent does not stay open. A stop and
/// records that are durable are neither refused nor written twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_not_let_through_while_the_anchor_is_behind() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let folder = folder("anchor");
    let fails = Arc::new(AtomicBool::new(false));
    let anchor = fails.clone();
    let after = Box::new(move |_: &Connection| match anchor.load(Ordering::SeqCst) {
        true => Err(StoreError::Closed),
        false => Ok(()),
    });
    let store = Store::open_followed(&folder.join("t.db"), after).unwrap();
    let safety = SqliteSafety::new(store.clone(), signer(), Some(&folder)).unwrap();
    fails.store(true, Ordering::SeqCst);
    assert!(safety.admit(admission("a")).await.is_err(), "nobody is told that it may run");
    let stop =
        Stop { scope: Scope::Everybody, by: "b".into(), reason: "r".into(), since_ms: 1, expires_ms: None };
    let event = Event::new(1, toolcrib_engine::safety::audit::Kind::Stop);
    safety.put_stop(stop, event).await.unwrap();
    safety.append(vec![Event::new(1, toolcrib_engine::safety::audit::Kind::Call)]).await.unwrap();
    fails.store(false, Ordering::SeqCst);
    assert_eq!(safety.retry().await.unwrap(), 0);
    assert_eq!(tokio::task::block_in_place(|| outcomes(&store)), [("a".to_owned(), "refused".to_owned())]);
    for kind in ["intent", "outcome", "stop", "call"] {
        assert_eq!(tokio::task::block_in_place(|| records(&store, kind)), 1, "{kind}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
