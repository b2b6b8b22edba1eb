use std::net::IpAddr;

use toolcrib_engine::SessionId;
use toolcrib_engine::quota::{Bound, Bounds};
use toolcrib_protocol::{ClientCapabilities, Revision};

use super::*;
use crate::limits::{SESSION_IDLE_MS_MAX, SESSION_IDLE_MS_MIN, SESSIONS_MAX, SESSIONS_PER_SHARE_MAX};

fn session(principal: Principal) -> Arc<Session> {
    let id = SessionId::random().unwrap();
    Session::new(Some(id), principal, Revision::V2025_11_25, ClientCapabilities::default(), None)
}

fn from(address: &str) -> Arc<Session> {
    let session = session(Principal::Anonymous);
    session.open_from(Some(address.parse::<IpAddr>().unwrap()));
    session
}

fn id_of(session: &Session) -> String {
    session.id().unwrap().as_str().to_owned()
}

/// Sessions with these bounds in total and per owner.
fn few(total: usize, share: usize) -> Sessions {
    let bound = |name, max| Bound { name, max, counts: "sessions" };
    let sessions =
        Bounds { total: bound("SESSIONS_MAX", total), share: bound("SESSIONS_PER_SHARE_MAX", share) };
    Sessions::new(LoadLimits { sessions, ..LoadLimits::default() })
}

impl Sessions {
    fn opened(&self, session: Arc<Session>, now_ms: u64) -> Result<String, Shed> {
        let id = id_of(&session);
        self.open_at(session, None, now_ms).map(|_| id)
    }

    /// Opens a session and uses it.
    fn used(&self, session: Arc<Session>, now_ms: u64) -> String {
        let opened = self.open_at(session, None, now_ms).unwrap();
        opened.use_at(now_ms);
        id_of(&opened.session)
    }

    fn has(&self, id: &str) -> bool {
        lock(&self.shelf).find(id).is_some()
    }
}

/// `SESSIONS_MAX` and `SESSIONS_PER_SHARE_MAX` are never exceeded, and a flood evicts only sessions of the same
/// address.
#[test]
fn a_flood_of_sessions_from_one_address_ends_its_own_and_nobody_elses() {
    let sessions = Sessions::default();
    let honest = sessions.used(from("10.0.0.1"), 1);
    let neighbour = sessions.opened(from("10.0.0.2"), 1).unwrap();
    let begun = Instant::now();
    let mut first = None;
    for number in 0..20_000_u64 {
        let id = sessions.opened(from("10.0.0.1"), 2 + number / 10).unwrap();
        first.get_or_insert(id);
    }
    let took = begun.elapsed();
    assert!(took.as_secs() < 10, "20,000 opens took {took:?}");
    assert_eq!(sessions.len(), SESSIONS_PER_SHARE_MAX + 1);
    assert!(sessions.has(&honest), "it is in use");
    assert!(sessions.has(&neighbour), "it is another's");
    assert!(!sessions.has(&first.unwrap()), "the oldest of the flood went first");
    for number in 0..10_000_u32 {
        let address = format!("10.1.{}.{}", number >> 8 & 3, number & 255);
        sessions.opened(from(&address), 5_000).unwrap();
    }
    assert_eq!(sessions.len(), SESSIONS_MAX);
    assert!(sessions.has(&honest));
}

/// `SESSIONS_PER_SHARE_MAX`: an owner whose sessions are all in use is refused with the seconds to wait.
#[test]
fn an_owner_over_its_share_is_refused_until_one_of_its_sessions_was_idle_for_session_idle_ms_min() {
    let sessions = few(10, 2);
    let older = sessions.used(from("10.0.0.1"), 1_000);
    let newer = sessions.used(from("10.0.0.1"), 2_000);
    let refused = sessions.opened(from("10.0.0.1"), 11_000).unwrap_err();
    assert_eq!((refused.status().as_u16(), refused.retry_after_s), (429, SESSION_IDLE_MS_MIN / 1_000 - 10));
    assert!(sessions.opened(from("10.0.0.2"), 11_000).is_ok(), "another address has its own share");
    assert!(sessions.opened(session(Principal::subject("ada")), 11_000).is_ok());
    assert!(sessions.has(&older) && sessions.has(&newer));
    let third = sessions.opened(from("10.0.0.1"), 1_000 + SESSION_IDLE_MS_MIN).unwrap();
    assert!(!sessions.has(&older) && sessions.has(&newer) && sessions.has(&third));
}

#[test]
fn room_is_made_by_the_session_never_used_then_by_the_one_used_longest_ago_and_never_by_one_that_is_held() {
    let sessions = few(10, 3);
    let held = sessions.used(from("10.0.0.1"), 1);
    let _stream = sessions.find(&held, &Principal::Anonymous).unwrap();
    let used_again = sessions.used(from("10.0.0.1"), 2);
    let unused = sessions.opened(from("10.0.0.1"), 3).unwrap();
    let late = SESSION_IDLE_MS_MIN * 2;
    let next = sessions.used(from("10.0.0.1"), 4);
    assert!(!sessions.has(&unused), "it was only opened");
    lock(&sessions.shelf).find(&used_again).unwrap().use_at(5);
    sessions.used(from("10.0.0.1"), late);
    assert!(!sessions.has(&next), "the other one was used since");
    sessions.used(from("10.0.0.1"), late);
    assert!(!sessions.has(&used_again));
    assert!(sessions.has(&held));
    assert_eq!(sessions.opened(from("10.0.0.1"), late).unwrap_err().status(), 429);
}

/// `SESSIONS_MAX`: a session of the owner with the most is evicted; if none can be, every caller is refused.
#[test]
fn when_sessions_max_are_open_the_owner_with_most_makes_room() {
    let sessions = few(4, 3);
    let alone = sessions.opened(from("10.0.0.1"), 1).unwrap();
    let many: Vec<String> = (2..5).map(|ms| sessions.opened(from("10.0.0.2"), ms).unwrap()).collect();
    sessions.used(from("10.0.0.3"), 5);
    assert!(sessions.has(&alone) && !sessions.has(&many[0]));
    for id in [&alone, &many[1], &many[2]] {
        lock(&sessions.shelf).find(id).unwrap().use_at(6);
    }
    let refused = sessions.opened(from("10.0.0.4"), 7).unwrap_err();
    assert_eq!(refused.status(), 503);
    assert!(refused.message().contains("SESSIONS_MAX"), "{}", refused.message());
}

#[test]
fn a_session_that_nobody_used_for_session_idle_ms_max_ends_unless_somebody_holds_it() {
    let sessions = Sessions::default();
    let principal = Principal::subject("me");
    let ids: Vec<String> = (0..2).map(|_| sessions.opened(session(principal.clone()), 7).unwrap()).collect();
    let held = sessions.find(&ids[1], &principal).unwrap();
    held.use_at(7);
    sessions.sweep_at(7 + SESSION_IDLE_MS_MAX);
    assert!(sessions.has(&ids[1]));
    sessions.sweep_at(7 + SESSION_IDLE_MS_MAX + 1);
    assert!(!sessions.has(&ids[0]), "nobody holds it");
    assert!(sessions.has(&ids[1]), "a stream of it is open");
    drop(held);
    sessions.sweep_at(7 + SESSION_IDLE_MS_MAX + 1);
    assert_eq!(sessions.len(), 0);
}

#[test]
fn a_session_keeps_session_streams_max_streams_and_drops_finished_ones_first() {
    let opened = HttpSession::new(session(Principal::Anonymous), None, 0);
    let first = opened.open_log();
    let second = opened.open_log();
    second.finish();
    for _ in 2..SESSION_STREAMS_MAX {
        opened.open_log();
    }
    opened.open_log();
    assert!(opened.log(1).is_some() && opened.log(2).is_none());
    drop(first);
}

/// `REPLAY_BYTES_PER_SHARE_MAX`: bytes kept for resuming are counted, and the oldest stream is evicted first.
#[test]
fn finished_streams_make_room_where_much_is_kept() {
    let account = Account::of_bytes(200_000);
    let opened = HttpSession::new(session(Principal::Anonymous), Some(account.clone()), 0);
    for _ in 0..2 {
        let log = opened.open_log();
        log.append(&[b'x'; 70_000]);
        log.finish();
    }
    assert!(account.unread.replays.total() >= 140_000, "nobody reads them");
    opened.open_log();
    assert!(opened.log(1).is_none() && opened.log(2).is_some());
    assert!(account.unread.replays.total() < 80_000);
}

#[test]
fn another_principal_neither_finds_nor_ends_a_session() {
    let sessions = Sessions::default();
    let id = sessions.opened(session(Principal::subject("me")), 1).unwrap();
    assert!(sessions.find(&id, &Principal::subject("you")).is_none());
    assert!(sessions.find(&id, &Principal::Anonymous).is_none());
    assert!(!sessions.close(&id, &Principal::subject("you")));
    assert!(sessions.find(&id, &Principal::subject("me")).is_some());
}
