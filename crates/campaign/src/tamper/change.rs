//! Changes of the database, the anchor and the key files.

use std::fs;

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};
use toolcrib_store::rusqlite::{Connection, params};

use super::folder::{ANCHOR, DATABASE, Signed, Work};
use crate::dice::Dice;

/// One kind of change. `apply` makes it and returns its place.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Number of different places or forms of this kind.
    pub(super) tries_max: u64,
    pub(super) apply: fn(&Work<'_>, &mut Dice, u64) -> Result<String>,
}

const MANY: u64 = u64::MAX;

const fn kind(
    name: &'static str,
    tries_max: u64,
    apply: fn(&Work<'_>, &mut Dice, u64) -> Result<String>,
) -> Kind {
    Kind { name, tries_max, apply }
}

pub(super) const KINDS: &[Kind] = &[
    kind("one byte of a record", MANY, edit_byte),
    kind("a member of a record", MANY, edit_member),
    kind("one byte of a link", MANY, edit_link),
    kind("a record's number", MANY, renumber),
    kind("delete one record", MANY, delete_one),
    kind("delete a range", MANY, delete_range),
    kind("delete the beginning", MANY, delete_beginning),
    kind("delete and close the gap", MANY, delete_and_close),
    kind("insert a copy", MANY, insert_copy),
    kind("swap two records", MANY, swap),
    kind("rewrite the chain without the key", MANY, rewrite),
    kind("cut the end", MANY, cut),
    kind("cut the end, head moved", MANY, cut_with_head),
    kind("cut the end, rewritten head of an older copy", 4, cut_with_older_head),
    kind("a checkpoint in place of the head", MANY, checkpoint_as_head),
    kind("a checkpoint in place of the base", MANY, checkpoint_as_base),
    kind("the head in place of the base", 1, head_as_base),
    kind("the anchor in place of the head", 2, anchor_as_head),
    kind("a checkpoint's signature", MANY, checkpoint_signature),
    kind("delete a checkpoint", MANY, delete_checkpoint),
    kind("the head's signature", MANY, head_signature),
    kind("empty tables", 5, empty),
    kind("an older copy of the database", 4, older_copy),
    kind("an older copy, grown again", 4, older_copy_grown),
    kind("the outcome of a call", MANY, outcome),
    kind("a call that nobody made", MANY, forged_call),
    kind("delete a call whose end is unknown", 1, delete_unknown),
    kind("a token's state", MANY, token_state),
    kind("a token that nobody gave", MANY, forged_token),
    kind("no anchor", 2, no_anchor),
    kind("bytes of the anchor", MANY, anchor_bytes),
    kind("the anchor of another key", 1, other_anchor),
    kind("another public key file", 1, other_public_key),
    kind("another key", 1, other_key),
];

/// Returns a random record number; the first and the last ones are more likely.
fn any(work: &Work<'_>, dice: &mut Dice) -> i64 {
    let count = work.original.count.unsigned_abs();
    let seq = match dice.between(0, 9) {
        0 => 1,
        1 => count,
        2 => count - 1,
        _ => dice.between(1, count),
    };
    i64::try_from(seq).unwrap_or(1)
}

/// Returns a random record number other than the last.
fn before_last(work: &Work<'_>, dice: &mut Dice) -> i64 {
    any(work, dice).min(work.original.count - 1)
}

fn any_checkpoint<'a>(work: &'a Work<'_>, dice: &mut Dice) -> Result<&'a Signed> {
    let all = &work.original.checkpoints;
    let place = usize::try_from(dice.next() % (all.len() as u64)).unwrap_or(0);
    all.get(place).context("no checkpoint")
}

fn flipped(mut bytes: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    let place = usize::try_from(dice.next() % (bytes.len().max(1) as u64)).unwrap_or(0);
    if let Some(byte) = bytes.get_mut(place) {
        *byte ^= 1 << dice.between(0, 6);
    }
    bytes
}

fn body(db: &Connection, seq: i64) -> Result<String> {
    Ok(db.query_row("SELECT body FROM audit WHERE seq = ?1", [seq], |row| row.get(0))?)
}

fn edit_byte(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let (db, seq) = (work.database()?, any(work, dice));
    let text = body(&db, seq)?;
    let changed = String::from_utf8_lossy(&flipped(text.into_bytes(), dice)).into_owned();
    db.execute("UPDATE audit SET body = ?2 WHERE seq = ?1", params![seq, changed])?;
    Ok(format!("record {seq}"))
}

fn edit_member(work: &Work<'_>, dice: &mut Dice, attempt: u64) -> Result<String> {
    let (db, seq) = (work.database()?, any(work, dice));
    let text = body(&db, seq)?;
    let changes = [
        ("\"outcome\":\"done\"", "\"outcome\":\"failed\""),
        ("\"caller\":\"", "\"caller\":\"x"),
        ("\"tool\":\"", "\"tool\":\"x"),
        ("\"decision\":\"allowed\"", "\"decision\":\"refused\""),
    ];
    let place = usize::try_from(attempt % 4).unwrap_or(0);
    let (old, new) = changes.get(place).copied().unwrap_or(("", ""));
    let mut changed = text.replacen(old, new, 1);
    if changed == text {
        changed = text.replacen("\"at_ms\":1", "\"at_ms\":2", 1);
    }
    db.execute("UPDATE audit SET body = ?2 WHERE seq = ?1", params![seq, changed])?;
    Ok(format!("record {seq}"))
}

fn edit_link(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let (db, seq) = (work.database()?, any(work, dice));
    let link: Vec<u8> = db.query_row("SELECT link FROM audit WHERE seq = ?1", [seq], |row| row.get(0))?;
    db.execute("UPDATE audit SET link = ?2 WHERE seq = ?1", params![seq, flipped(link, dice)])?;
    Ok(format!("record {seq}"))
}

fn renumber(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let seq = any(work, dice);
    let new = work.original.count + i64::try_from(dice.between(1, 1_000)).unwrap_or(1);
    work.database()?.execute("UPDATE audit SET seq = ?2 WHERE seq = ?1", [seq, new])?;
    Ok(format!("record {seq} became {new}"))
}

fn delete_one(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let seq = any(work, dice);
    work.database()?.execute("DELETE FROM audit WHERE seq = ?1", [seq])?;
    Ok(format!("record {seq}"))
}

fn delete_range(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let (one, other) = (any(work, dice), any(work, dice));
    let (low, high) = (one.min(other), one.max(other));
    work.database()?.execute("DELETE FROM audit WHERE seq BETWEEN ?1 AND ?2", [low, high])?;
    Ok(format!("records {low} to {high}"))
}

fn delete_beginning(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let seq = any(work, dice);
    let db = work.database()?;
    db.execute("DELETE FROM audit WHERE seq <= ?1", [seq])?;
    db.execute("DELETE FROM audit_checkpoints WHERE seq <= ?1", [seq])?;
    Ok(format!("up to record {seq}"))
}

fn delete_and_close(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let seq = before_last(work, dice);
    let db = work.database()?;
    db.execute("DELETE FROM audit WHERE seq = ?1", [seq])?;
    db.execute("UPDATE audit SET seq = -seq WHERE seq > ?1", [seq])?;
    db.execute("UPDATE audit SET seq = -seq - 1 WHERE seq < 0", [])?;
    Ok(format!("record {seq}"))
}

fn insert_copy(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let (seq, from) = (any(work, dice), any(work, dice));
    let db = work.database()?;
    let (text, link): (String, Vec<u8>) =
        db.query_row("SELECT body, link FROM audit WHERE seq = ?1", [from], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    db.execute("UPDATE audit SET seq = -seq WHERE seq > ?1", [seq])?;
    db.execute("UPDATE audit SET seq = -seq + 1 WHERE seq < 0", [])?;
    db.execute("INSERT INTO audit (seq, body, link) VALUES (?1, ?2, ?3)", params![seq + 1, text, link])?;
    Ok(format!("record {from} after {seq}"))
}

fn swap(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let one = before_last(work, dice);
    let other = if dice.between(0, 1) == 0 { one + 1 } else { any(work, dice) };
    let other = if other == one { one + 1 } else { other };
    let db = work.database()?;
    db.execute("UPDATE audit SET seq = -1 WHERE seq = ?1", [one])?;
    db.execute("UPDATE audit SET seq = ?2 WHERE seq = ?1", [other, one])?;
    db.execute("UPDATE audit SET seq = ?1 WHERE seq = -1", [other])?;
    Ok(format!("records {one} and {other}"))
}

/// Edits a record and recomputes every later link, with the old signatures over the new links.
fn rewrite(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let seq = any(work, dice);
    let mut db = work.database()?;
    let edited = body(&db, seq)?.replacen("\"at_ms\":1", "\"at_ms\":2", 1);
    let transaction = db.transaction()?;
    transaction.execute("UPDATE audit SET body = ?2 WHERE seq = ?1", params![seq, edited])?;
    let mut previous = match seq {
        1 => genesis(work)?,
        _ => transaction.query_row("SELECT link FROM audit WHERE seq = ?1", [seq - 1], |row| row.get(0))?,
    };
    for at in seq..=work.original.count {
        let text = body(&transaction, at)?;
        previous = Sha256::new()
            .chain_update(&previous)
            .chain_update(at.to_be_bytes())
            .chain_update(text.as_bytes())
            .finalize()
            .to_vec();
        transaction.execute("UPDATE audit SET link = ?2 WHERE seq = ?1", params![at, previous])?;
        transaction
            .execute("UPDATE audit_checkpoints SET link = ?2 WHERE seq = ?1", params![at, previous])?;
    }
    transaction.execute("UPDATE audit_head SET link = ?1", [previous])?;
    transaction.commit()?;
    Ok(format!("from record {seq}"))
}

fn genesis(work: &Work<'_>) -> Result<Vec<u8>> {
    let text = fs::read_to_string(work.folder.join("audit.pub"))?;
    let key = (0..32)
        .map(|at| u8::from_str_radix(text.get(2 * at..2 * at + 2).unwrap_or_default(), 16))
        .collect::<Result<Vec<u8>, _>>()?;
    Ok(Sha256::new().chain_update("toolcrib audit 1").chain_update(key).finalize().to_vec())
}

fn cut_after(db: &Connection, seq: i64) -> Result<()> {
    db.execute("DELETE FROM audit WHERE seq > ?1", [seq])?;
    db.execute("DELETE FROM audit_checkpoints WHERE seq > ?1", [seq])?;
    Ok(())
}

fn cut(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let seq = before_last(work, dice);
    cut_after(&work.database()?, seq)?;
    Ok(format!("after record {seq}"))
}

fn cut_with_head(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let (db, seq) = (work.database()?, before_last(work, dice));
    cut_after(&db, seq)?;
    db.execute("UPDATE audit_head SET (seq, link) = (SELECT seq, link FROM audit WHERE seq = ?1)", [seq])?;
    Ok(format!("after record {seq}"))
}

/// Truncates the log to the end of an older copy, with the head that was signed then.
fn cut_with_older_head(work: &Work<'_>, _: &mut Dice, attempt: u64) -> Result<String> {
    let copy = copy(work, attempt)?;
    let old = Connection::open(copy)?;
    let head = old.query_row("SELECT seq, link, signature FROM audit_head", [], |row| {
        Ok(Signed { seq: row.get(0)?, link: row.get(1)?, signature: row.get(2)? })
    })?;
    let db = work.database()?;
    cut_after(&db, head.seq)?;
    put_head(&db, &head)?;
    Ok(format!("after record {}", head.seq))
}

fn put_head(db: &Connection, head: &Signed) -> Result<()> {
    db.execute(
        "UPDATE audit_head SET seq = ?1, link = ?2, signature = ?3",
        params![head.seq, head.link, head.signature],
    )?;
    Ok(())
}

fn put_base(db: &Connection, base: &Signed) -> Result<()> {
    db.execute("DELETE FROM audit WHERE seq <= ?1", [base.seq])?;
    db.execute("DELETE FROM audit_checkpoints WHERE seq <= ?1", [base.seq])?;
    db.execute(
        "INSERT INTO audit_base (id, seq, link, signature) VALUES (1, ?1, ?2, ?3)",
        params![base.seq, base.link, base.signature],
    )?;
    Ok(())
}

fn checkpoint_as_head(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let (db, checkpoint) = (work.database()?, any_checkpoint(work, dice)?);
    cut_after(&db, checkpoint.seq)?;
    put_head(&db, checkpoint)?;
    Ok(format!("record {}", checkpoint.seq))
}

fn checkpoint_as_base(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let checkpoint = any_checkpoint(work, dice)?;
    put_base(&work.database()?, checkpoint)?;
    Ok(format!("record {}", checkpoint.seq))
}

fn head_as_base(work: &Work<'_>, _: &mut Dice, _: u64) -> Result<String> {
    let db = work.database()?;
    let head = db.query_row("SELECT seq, link, signature FROM audit_head", [], |row| {
        Ok(Signed { seq: row.get(0)?, link: row.get(1)?, signature: row.get(2)? })
    })?;
    put_base(&db, &head)?;
    Ok("an empty log".to_owned())
}

/// Uses the signature in the anchor file as the head's.
fn anchor_as_head(work: &Work<'_>, _: &mut Dice, attempt: u64) -> Result<String> {
    let text = fs::read_to_string(work.folder.join(ANCHOR))?;
    let line = text.lines().nth(usize::try_from(attempt).unwrap_or(0)).context("no such entry")?;
    let words: Vec<&str> = line.split(' ').collect();
    let seq: i64 = words.first().context("no number")?.parse()?;
    let signature = words.get(2).context("no signature")?;
    let db = work.database()?;
    cut_after(&db, seq)?;
    db.execute("UPDATE audit_head SET (seq, link) = (SELECT seq, link FROM audit WHERE seq = ?1)", [seq])?;
    db.execute("UPDATE audit_head SET signature = unhex(?1)", [signature])?;
    Ok(format!("record {seq}"))
}

fn checkpoint_signature(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let checkpoint = any_checkpoint(work, dice)?;
    let changed = flipped(checkpoint.signature.clone(), dice);
    work.database()?.execute(
        "UPDATE audit_checkpoints SET signature = ?2 WHERE seq = ?1",
        params![checkpoint.seq, changed],
    )?;
    Ok(format!("record {}", checkpoint.seq))
}

fn delete_checkpoint(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let checkpoint = any_checkpoint(work, dice)?;
    work.database()?.execute("DELETE FROM audit_checkpoints WHERE seq = ?1", [checkpoint.seq])?;
    Ok(format!("record {}", checkpoint.seq))
}

fn head_signature(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let db = work.database()?;
    let signature: Vec<u8> = db.query_row("SELECT signature FROM audit_head", [], |row| row.get(0))?;
    db.execute("UPDATE audit_head SET signature = ?1", [flipped(signature, dice)])?;
    Ok("one bit".to_owned())
}

fn empty(work: &Work<'_>, _: &mut Dice, attempt: u64) -> Result<String> {
    let sql = match attempt {
        0 => "DELETE FROM audit",
        1 => "DELETE FROM audit; DELETE FROM audit_checkpoints",
        2 => "DELETE FROM audit; DELETE FROM audit_checkpoints; DELETE FROM audit_head",
        3 => "DELETE FROM audit_head",
        _ => {
            "DELETE FROM audit; DELETE FROM audit_checkpoints; DELETE FROM audit_head; DELETE FROM intents; DELETE FROM tokens"
        }
    };
    work.database()?.execute_batch(sql)?;
    Ok(sql.to_owned())
}

fn copy<'a>(work: &'a Work<'_>, attempt: u64) -> Result<&'a std::path::PathBuf> {
    work.original.copies.get(usize::try_from(attempt).unwrap_or(0)).context("no such copy")
}

fn older_copy(work: &Work<'_>, _: &mut Dice, attempt: u64) -> Result<String> {
    fs::copy(copy(work, attempt)?, work.folder.join(DATABASE))?;
    Ok(format!("copy {attempt}"))
}

/// Takes an older copy and appends records of another history until it has as many as the log.
fn older_copy_grown(work: &Work<'_>, _: &mut Dice, attempt: u64) -> Result<String> {
    let rows: Vec<(i64, String, Vec<u8>)> = {
        let db = work.database()?;
        let mut query = db.prepare("SELECT seq, body, link FROM audit")?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        rows.collect::<Result<_, _>>()?
    };
    fs::copy(copy(work, attempt)?, work.folder.join(DATABASE))?;
    let mut db = work.database()?;
    let transaction = db.transaction()?;
    let end: i64 = transaction.query_row("SELECT max(seq) FROM audit", [], |row| row.get(0))?;
    for (seq, body, link) in rows.into_iter().filter(|(seq, ..)| *seq > end) {
        let other = body.replacen("\"at_ms\":1", "\"at_ms\":2", 1);
        transaction
            .execute("INSERT INTO audit (seq, body, link) VALUES (?1, ?2, ?3)", params![seq, other, link])?;
    }
    transaction.commit()?;
    Ok(format!("copy {attempt}"))
}

fn outcome(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let db = work.database()?;
    let (id, now): (String, String) = db.query_row(
        "SELECT id, outcome FROM intents ORDER BY id LIMIT 1 OFFSET (?1 % (SELECT count(*) FROM intents))",
        [i64::try_from(dice.next() >> 1).unwrap_or(0)],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let words = ["done", "failed", "unknown", "open", "refused"];
    let other =
        words.into_iter().filter(|word| *word != now).nth(usize::try_from(dice.next() % 4).unwrap_or(0));
    db.execute("UPDATE intents SET outcome = ?2 WHERE id = ?1", params![id, other])?;
    Ok(format!("{id}: {now} to {other:?}"))
}

fn forged_call(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let id = format!("int_{:x}", dice.next());
    work.database()?.execute(
        "INSERT INTO intents SELECT ?1, process, caller, session, tool, contract, arguments, policy, started_ms, outcome
         FROM intents LIMIT 1",
        [&id],
    )?;
    Ok(id)
}

fn delete_unknown(work: &Work<'_>, _: &mut Dice, _: u64) -> Result<String> {
    let deleted = work.database()?.execute("DELETE FROM intents WHERE outcome = 'unknown'", [])?;
    anyhow::ensure!(deleted > 0, "no call's end is unknown in this log");
    Ok(format!("{deleted} calls"))
}

fn token_state(work: &Work<'_>, dice: &mut Dice, attempt: u64) -> Result<String> {
    let db = work.database()?;
    let id: String = db.query_row(
        "SELECT id FROM tokens WHERE state = 'used' ORDER BY id LIMIT 1 OFFSET
         (?1 % (SELECT count(*) FROM tokens WHERE state = 'used'))",
        [i64::try_from(dice.next() >> 1).unwrap_or(0)],
        |row| row.get(0),
    )?;
    let state = if attempt.is_multiple_of(2) { "live" } else { "revoked" };
    db.execute("UPDATE tokens SET state = ?2 WHERE id = ?1", [&id, state])?;
    Ok(format!("{id} is {state}"))
}

fn forged_token(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let id = format!("tok_{:x}", dice.next());
    let db = work.database()?;
    db.execute_batch("CREATE TEMP TABLE one AS SELECT * FROM tokens LIMIT 1")?;
    db.execute("UPDATE one SET id = ?1, hash = randomblob(32), state = 'live'", [&id])?;
    db.execute_batch("INSERT INTO tokens SELECT * FROM one")?;
    Ok(id)
}

fn no_anchor(work: &Work<'_>, _: &mut Dice, attempt: u64) -> Result<String> {
    let path = work.folder.join(ANCHOR);
    match attempt {
        0 => fs::remove_file(path)?,
        _ => fs::write(path, "")?,
    }
    Ok(if attempt == 0 { "deleted" } else { "emptied" }.to_owned())
}

/// Flips a bit in both entries of the anchor. With one entry intact the anchor is valid, as after a torn write.
fn anchor_bytes(work: &Work<'_>, dice: &mut Dice, _: u64) -> Result<String> {
    let path = work.folder.join(ANCHOR);
    let text = fs::read(&path)?;
    let lines: Vec<Vec<u8>> =
        text.split_inclusive(|byte| *byte == b'\n').map(|line| flipped(line.to_vec(), dice)).collect();
    fs::write(path, lines.concat())?;
    Ok("one bit of each entry".to_owned())
}

fn other_anchor(work: &Work<'_>, _: &mut Dice, _: u64) -> Result<String> {
    fs::copy(work.original.other.join(ANCHOR), work.folder.join(ANCHOR))?;
    Ok(ANCHOR.to_owned())
}

fn other_public_key(work: &Work<'_>, _: &mut Dice, _: u64) -> Result<String> {
    fs::copy(work.original.other.join("audit.pub"), work.folder.join("audit.pub"))?;
    Ok("audit.pub".to_owned())
}

fn other_key(work: &Work<'_>, _: &mut Dice, _: u64) -> Result<String> {
    for file in ["keys", "audit.pub", ANCHOR] {
        fs::copy(work.original.other.join(file), work.folder.join(file))?;
    }
    Ok("keys, audit.pub and audit.anchor".to_owned())
}
