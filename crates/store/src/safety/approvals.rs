//! The approval queue: calls that wait, or waited, for a person's decision.

use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use toolcrib_engine::limits::APPROVALS_SHOWN_BYTES_MAX;
use toolcrib_engine::safety::allowance::{Used, Whose};
use toolcrib_engine::safety::keep::{Decided, Queued, Room, Waiting};
use toolcrib_engine::safety::ticket::{Approval, ApprovalState, Binding};

use super::rows::{digest, number, positive};
use crate::error::StoreError;
use crate::limits::TOKENS_SPENT_KEPT_MS;

const STATES: [(ApprovalState, &str); 4] = [
    (ApprovalState::Pending, "pending"),
    (ApprovalState::Allowed, "allowed"),
    (ApprovalState::Denied, "denied"),
    (ApprovalState::Used, "used"),
];

pub(super) fn put(db: &Connection, approval: &Approval, room: &Room) -> Result<Queued, StoreError> {
    let binding = &approval.binding;
    let same: Option<String> = db
        .prepare_cached(
            "SELECT id FROM approvals WHERE state = 'pending' AND expires_ms > ?1 AND caller = ?2 AND session IS ?3
                AND tool = ?4 AND contract = ?5 AND arguments_digest = ?6 AND policy = ?7
                AND share = ?8",
        )?
        .query_row(
            params![
                number(approval.created_ms),
                binding.caller,
                binding.session,
                binding.tool,
                binding.contract.to_string(),
                binding.arguments.to_string(),
                binding.policy.to_string(),
                room.share
            ],
            |row| row.get(0),
        )
        .optional()?;
    if let Some(id) = same {
        return Ok(Queued::Already(id));
    }
    if let Some(full) = full(db, approval, room)? {
        return Ok(full);
    }
    db.prepare_cached(
        "INSERT INTO approvals (id, caller, session, client, tool, contract, arguments_digest, policy, arguments,
                                created_ms, expires_ms, state, share, address, bytes)
         VALUES (:id, :caller, :session, :client, :tool, :contract, :digest, :policy, :arguments, :created_ms,
                 :expires_ms, 'pending', :share, :address, :bytes)",
    )?
    .execute(named_params! {
        ":id": approval.id,
        ":caller": approval.binding.caller,
        ":session": approval.binding.session,
        ":client": approval.client,
        ":tool": approval.binding.tool,
        ":contract": approval.binding.contract.to_string(),
        ":digest": approval.binding.arguments.to_string(),
        ":policy": approval.binding.policy.to_string(),
        ":arguments": approval.arguments,
        ":created_ms": number(approval.created_ms),
        ":expires_ms": number(approval.expires_ms),
        ":share": room.share,
        ":address": address(room),
        ":bytes": number(approval.arguments.len() as u64),
    })?;
    let long_ago = number(approval.created_ms.saturating_sub(TOKENS_SPENT_KEPT_MS));
    db.prepare_cached("DELETE FROM approvals WHERE expires_ms < ?1")?.execute([long_ago])?;
    Ok(Queued::New)
}

/// Network address that a waiting call of an anonymous caller is counted under; `None` for an authenticated caller.
fn address(room: &Room) -> Option<String> {
    let known = || room.user.address.map_or_else(|| "unknown".to_owned(), |address| address.to_string());
    room.user.is_anonymous().then(known)
}

/// Returns the first bound that one more call would exceed. Reads only an index and no arguments, so that a full queue
/// does not make further calls expensive.
fn full(db: &Connection, approval: &Approval, room: &Room) -> Result<Option<Queued>, StoreError> {
    let [share, address, anonymous, total] = db
        .prepare_cached(
            "SELECT count(*) FILTER (WHERE share = ?2), sum(bytes) FILTER (WHERE share = ?2),
                    min(expires_ms) FILTER (WHERE share = ?2),
                    count(*) FILTER (WHERE address = ?3), sum(bytes) FILTER (WHERE address = ?3),
                    min(expires_ms) FILTER (WHERE address = ?3),
                    count(address), sum(bytes) FILTER (WHERE address IS NOT NULL),
                    min(expires_ms) FILTER (WHERE address IS NOT NULL),
                    count(*), sum(bytes), min(expires_ms)
             FROM approvals INDEXED BY approvals_counted WHERE state = 'pending' AND expires_ms > ?1",
        )?
        .query_row(params![number(approval.created_ms), room.share, address(room)], |row| {
            Ok([Count::read(row, 0)?, Count::read(row, 3)?, Count::read(row, 6)?, Count::read(row, 9)?])
        })?;
    let used = |of: fn(&Count) -> usize| Used {
        share: of(&share),
        address: of(&address),
        anonymous: of(&anonymous),
        total: of(&total),
    };
    let calls = room.calls.check(&room.user, used(|waiting| waiting.calls), 1);
    let bytes = || room.bytes.check(&room.user, used(|waiting| waiting.bytes), approval.arguments.len());
    Ok(calls.and_then(|()| bytes()).err().map(|exceeded| {
        let until_ms = match exceeded.whose {
            Whose::Share => share.first_ms,
            Whose::Address => address.first_ms,
            Whose::Anonymous => anonymous.first_ms,
            Whose::Everybody => total.first_ms,
        };
        Queued::Full { exceeded, until_ms }
    }))
}

/// Number of waiting calls, bytes of their arguments, and the earliest expiry.
#[derive(Debug, Clone, Copy)]
struct Count {
    calls: usize,
    bytes: usize,
    first_ms: u64,
}

impl Count {
    /// Reads three columns from `first` on; the sum and minimum of no rows are NULL and read as 0.
    fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        let value = |at: usize| -> rusqlite::Result<u64> {
            Ok(positive(row.get::<_, Option<i64>>(at)?.unwrap_or_default()))
        };
        let size = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        Ok(Self { calls: size(value(first)?), bytes: size(value(first + 1)?), first_ms: value(first + 2)? })
    }
}

fn read(row: &Row<'_>) -> Result<Approval, StoreError> {
    let text = |column: &str| row.get::<_, String>(column);
    let state = text("state")?;
    Ok(Approval {
        id: text("id")?,
        binding: Binding {
            caller: text("caller")?,
            session: row.get("session")?,
            tool: text("tool")?,
            contract: digest(&text("contract")?)?,
            arguments: digest(&text("arguments_digest")?)?,
            policy: digest(&text("policy")?)?,
        },
        client: row.get("client")?,
        arguments: text("arguments")?,
        created_ms: positive(row.get("created_ms")?),
        expires_ms: positive(row.get("expires_ms")?),
        state: STATES
            .iter()
            .find(|(_, name)| *name == state)
            .map(|(state, _)| *state)
            .ok_or(StoreError::Corrupt { what: "state of an approval" })?,
        decided_by: row.get("decided_by")?,
    })
}

pub(super) fn find(db: &Connection, id: &str) -> Result<Option<Approval>, StoreError> {
    let mut query = db.prepare_cached("SELECT * FROM approvals WHERE id = ?1")?;
    query.query_row([id], |row| Ok(read(row))).optional()?.transpose()
}

/// Marks an allowed approval used; returns `false` if its state is not `allowed` any more.
pub(super) fn burn(db: &Connection, id: &str) -> Result<bool, StoreError> {
    let burnt = db
        .prepare_cached("UPDATE approvals SET state = 'used' WHERE id = ?1 AND state = 'allowed'")?
        .execute([id])?;
    Ok(burnt == 1)
}

/// Lists waiting calls round-robin by share, so that a caller who fills the queue does not hide the calls of others.
pub(super) fn waiting(db: &Connection, now_ms: u64) -> Result<Waiting, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT id, bytes FROM approvals WHERE state = 'pending' AND expires_ms > ?1
         ORDER BY row_number() OVER (PARTITION BY share ORDER BY created_ms, id), created_ms, id",
    )?;
    let mut rows = query.query([number(now_ms)])?;
    let (mut approvals, mut more, mut bytes) = (Vec::new(), 0, 0_u64);
    while let Some(row) = rows.next()? {
        bytes = bytes.saturating_add(positive(row.get(1)?));
        // Arguments are read here and not in the query, which would sort all of them.
        let fits = approvals.is_empty() || bytes <= APPROVALS_SHOWN_BYTES_MAX as u64;
        if fits {
            approvals.extend(find(db, &row.get::<_, String>(0)?)?);
        } else {
            more += 1;
        }
    }
    Ok(Waiting { approvals, more })
}

pub(super) fn decide(
    db: &Connection,
    id: &str,
    allow: bool,
    by: &str,
    now_ms: u64,
) -> Result<Decided, StoreError> {
    let state = if allow { "allowed" } else { "denied" };
    let changed = db
        .prepare_cached(
            "UPDATE approvals SET state = ?2, decided_by = ?3 WHERE id = ?1 AND state = 'pending' AND expires_ms > ?4",
        )?
        .execute(params![id, state, by, number(now_ms)])?;
    Ok(match find(db, id)? {
        None => Decided::Unknown,
        Some(approval) if changed == 1 => Decided::Done(Box::new(approval)),
        Some(approval) => Decided::Over(Box::new(approval)),
    })
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::Digest;
    use toolcrib_engine::Share;
    use toolcrib_engine::safety::allowance::{Allowance, User};

    use super::*;

    fn database() -> Connection {
        let mut db = Connection::open_in_memory().unwrap();
        crate::migration::migrate(&mut db, &[crate::safety::MODULE]).unwrap();
        db
    }

    fn user(address: [u8; 4]) -> User {
        let address = std::net::IpAddr::from(address);
        User::new(Share::Address(address), Some(address))
    }

    /// Queues a call with `bytes` bytes of arguments at `now_ms`; each `number` is another call.
    fn put_call(db: &Connection, user: &User, number: usize, bytes: usize, now_ms: u64) -> Queued {
        let digest = |text: &str| Digest::of_bytes(text.as_bytes());
        let approval = Approval {
            id: format!("apr_{}_{number}", user.share),
            binding: Binding {
                caller: "anonymous".into(),
                session: None,
                tool: "t".into(),
                contract: digest("c"),
                arguments: digest(&number.to_string()),
                policy: digest("p"),
            },
            client: None,
            arguments: "x".repeat(bytes),
            created_ms: now_ms,
            expires_ms: now_ms + 1_000,
            state: ApprovalState::Pending,
            decided_by: None,
        };
        let (calls, bytes) = (Allowance::new("calls", 2, 12), Allowance::new("bytes", 100, 400));
        put(db, &approval, &Room { share: user.share.to_string(), user: user.clone(), calls, bytes }).unwrap()
    }

    fn refused_by(queued: &Queued) -> Option<(&'static str, Whose, u64)> {
        match queued {
            Queued::Full { exceeded, until_ms } => Some((exceeded.what, exceeded.whose, *until_ms)),
            _ => None,
        }
    }

    /// R4.5, `APPROVALS_TOTAL_MAX`: a share, all anonymous callers together and all callers together are each refused
    /// at their own bound, until the first call expires.
    #[test]
    fn waiting_calls_are_bounded_by_share_for_anonymous_callers_and_in_total() {
        let db = database();
        let (one, other) = (user([10, 0, 0, 1]), User::subject("ann"));
        assert_eq!(put_call(&db, &one, 0, 1, 5), Queued::New);
        assert_eq!(put_call(&db, &one, 1, 1, 6), Queued::New);
        assert_eq!(refused_by(&put_call(&db, &one, 2, 1, 7)), Some(("calls", Whose::Share, 1_005)));
        assert!(matches!(put_call(&db, &one, 0, 1, 8), Queued::Already(_)));
        for number in 2..4 {
            let next = user([10, 0, 0, number]);
            assert_eq!(put_call(&db, &next, 0, 1, 9), Queued::New);
            assert_eq!(put_call(&db, &next, 1, 1, 9), Queued::New);
        }
        let full = put_call(&db, &user([10, 0, 0, 9]), 0, 1, 10);
        assert_eq!(refused_by(&full), Some(("calls", Whose::Anonymous, 1_005)));
        assert_eq!(put_call(&db, &other, 0, 1, 10), Queued::New);
        for name in ["b", "c", "d"] {
            put_call(&db, &User::subject(name), 0, 1, 10);
            put_call(&db, &User::subject(name), 1, 1, 10);
        }
        assert_eq!(refused_by(&put_call(&db, &other, 1, 1, 10)), Some(("calls", Whose::Everybody, 1_005)));
        assert_eq!(put_call(&db, &one, 2, 1, 2_000), Queued::New, "all have expired");
    }

    /// R4.5, `APPROVALS_SHOWN_BYTES_MAX`: the first call of each share is listed before the second call of any, within
    /// the bytes that are listed at once.
    #[test]
    fn each_share_is_shown_in_turn_within_approvals_shown_bytes_max() {
        let db = database();
        let (greedy, honest) = (user([10, 0, 0, 1]), user([10, 0, 0, 2]));
        put_call(&db, &greedy, 0, 1, 0);
        put_call(&db, &greedy, 1, 1, 1);
        put_call(&db, &honest, 0, 1, 2);
        let shown = waiting(&db, 3).unwrap();
        let ids: Vec<&str> = shown.approvals.iter().map(|approval| approval.id.as_str()).collect();
        assert_eq!(ids, ["apr_address 10.0.0.1_0", "apr_address 10.0.0.2_0", "apr_address 10.0.0.1_1"]);
        assert_eq!(shown.more, 0);
        db.execute("UPDATE approvals SET bytes = ?1", [number(APPROVALS_SHOWN_BYTES_MAX as u64 / 2)])
            .unwrap();
        let shown = waiting(&db, 3).unwrap();
        assert_eq!((shown.approvals.len(), shown.more), (2, 1));
        db.execute("UPDATE approvals SET bytes = ?1", [number(APPROVALS_SHOWN_BYTES_MAX as u64 + 1)])
            .unwrap();
        assert_eq!(waiting(&db, 3).unwrap().approvals.len(), 1, "one is always shown");
    }

    /// R4.5, `APPROVALS_BYTES_MAX`, `APPROVALS_TOTAL_BYTES_MAX`: the bytes of waiting arguments are bounded too.
    #[test]
    fn bytes_of_waiting_calls_are_bounded_by_share_and_in_total() {
        let db = database();
        let one = user([10, 0, 0, 1]);
        assert_eq!(put_call(&db, &one, 0, 60, 0), Queued::New);
        assert_eq!(refused_by(&put_call(&db, &one, 1, 41, 0)), Some(("bytes", Whose::Share, 1_000)));
        assert_eq!(put_call(&db, &one, 1, 40, 0), Queued::New);
        assert_eq!(put_call(&db, &user([10, 0, 0, 2]), 0, 100, 0), Queued::New);
        let full = put_call(&db, &user([10, 0, 0, 3]), 0, 1, 0);
        assert_eq!(refused_by(&full), Some(("bytes", Whose::Anonymous, 1_000)));
        assert_eq!(put_call(&db, &User::subject("ann"), 0, 100, 0), Queued::New);
        assert_eq!(put_call(&db, &User::subject("bob"), 0, 100, 0), Queued::New);
        let full = put_call(&db, &User::subject("eve"), 0, 1, 0);
        assert_eq!(refused_by(&full), Some(("bytes", Whose::Everybody, 1_000)));
    }
}
