//! The audit's anchor: the file `audit.anchor` beside the keys, which names the newest record outside the database.
//!
//! The file is written after every commit that added records, before the writes are reported. If the database lacks
//! the record that the file names, it was truncated, emptied or replaced by an older copy.
//!
//! Guarantees: the file never goes back to an earlier record, whichever process writes. It is not advanced while the
//! log lacks the record that it names, so a log that was truncated and grew again is still detected. A torn write
//! leaves the previous entry readable. The file of a new folder is signed as the start of an empty log before the
//! database exists, so at no moment does a log with records stand beside a file that names nothing.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use toolcrib_engine::safety::audit::{Checkpoint, PublicKey, Purpose, Signer, from_hex, to_hex};

use crate::error::StoreError;
use crate::safety::{audit_head, audit_holds};

pub(crate) const FILE: &str = "audit.anchor";

/// Bytes of one entry: number, link and signature in hexadecimal digits, each with its separator.
const ENTRY_BYTES: usize = 20 + 1 + 64 + 1 + 128 + 1;
/// Byte that fills a file which names no record yet.
const BLANK: u8 = b' ';
/// Number of entries. They are written alternately, so that one is complete at any moment.
const ENTRIES: usize = 2;
/// Number of the record before the first, which stands for the start of a log.
const START: u64 = 0;

/// Writes the anchor of one data folder.
#[derive(Debug)]
pub(crate) struct Anchor {
    path: PathBuf,
    file: File,
    signer: Signer,
    /// Number of the last record that this process wrote to the file.
    last: u64,
}

impl Anchor {
    /// Opens the anchor of a folder; creates it if it does not exist. `is_new` says that the folder has no database yet.
    pub(crate) fn open(folder: &Path, signer: Signer, is_new: bool) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let opened = options.open(&path);
        let file = opened.map_err(|cause| StoreError::File { path: path.clone(), cause: Arc::new(cause) })?;
        // The file gets its full size at creation: later writes need no space, so a full disk cannot make them fail.
        let created = (|| {
            // Another process may be creating it.
            file.lock()?;
            if file.metadata()?.len() == 0 {
                let mut content = vec![BLANK; ENTRIES * ENTRY_BYTES];
                let start = write(&signer.sign(Purpose::Anchor, START, &[0; 32]));
                if is_new && let Some(place) = content.get_mut(..ENTRY_BYTES) {
                    place.copy_from_slice(start.as_bytes());
                }
                file.write_all_at(&content, 0)?;
            }
            file.unlock()
        })();
        created.map_err(|cause| StoreError::File { path: path.clone(), cause: Arc::new(cause) })?;
        Ok(Self { path, file, signer, last: 0 })
    }

    /// Writes the newest committed record to the anchor.
    pub(crate) fn follow(&mut self, db: &Connection) -> Result<(), StoreError> {
        let Some(head) = audit_head(db)? else { return Ok(()) };
        if head.seq <= self.last {
            return Ok(());
        }
        let holds = |anchor: &Checkpoint| audit_holds(db, self.signer.public(), anchor);
        self.raise(&head, holds)?;
        self.last = head.seq;
        Ok(())
    }

    /// Overwrites the older entry with `head`, unless the file already names `head` or a later record, or the log
    /// lacks the record that the file names.
    fn raise(
        &self,
        head: &Checkpoint,
        holds: impl FnOnce(&Checkpoint) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |cause| StoreError::File { path: self.path.clone(), cause: Arc::new(cause) };
        self.file.lock().map_err(failed)?;
        let written = (|| {
            let entries = entries(&self.file).map_err(failed)?;
            let newest = newest(&entries, self.signer.public());
            if let Some((_, newest)) = newest
                && (newest.seq >= head.seq || newest.seq != START && !holds(newest)?)
            {
                return Ok(());
            }
            let place = newest.map_or(0, |(place, _)| (place + 1) % ENTRIES);
            let entry = write(&self.signer.sign(Purpose::Anchor, head.seq, &head.link));
            self.file.write_all_at(entry.as_bytes(), (place * ENTRY_BYTES) as u64).map_err(failed)
        })();
        self.file.unlock().map_err(failed)?;
        written
    }
}

/// Content of a folder's anchor file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Anchored {
    /// The file does not exist, or names nothing.
    Missing,
    /// The log had no record yet when the file was last written.
    Start,
    /// No entry has a valid signature of this key.
    Unsigned,
    At(Checkpoint),
}

/// Reads the anchor of a folder and verifies its signatures.
pub(crate) fn read(folder: &Path, key: PublicKey) -> Result<Anchored, StoreError> {
    let path = folder.join(FILE);
    let failed = |cause| StoreError::File { path: path.clone(), cause: Arc::new(cause) };
    let file = match File::open(&path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Anchored::Missing),
        opened => opened.map_err(failed)?,
    };
    let text = content(&file).map_err(failed)?;
    if text.iter().all(|byte| *byte == BLANK) {
        return Ok(Anchored::Missing);
    }
    let entries: Vec<_> = text.chunks(ENTRY_BYTES).map(parse).collect();
    Ok(match newest(&entries, key) {
        None => Anchored::Unsigned,
        Some((_, newest)) if newest.seq == START => Anchored::Start,
        Some((_, newest)) => Anchored::At(newest.clone()),
    })
}

fn entries(file: &File) -> io::Result<Vec<Option<Checkpoint>>> {
    Ok(content(file)?.chunks(ENTRY_BYTES).map(parse).collect())
}

fn content(file: &File) -> io::Result<Vec<u8>> {
    let mut text = [0; ENTRIES * ENTRY_BYTES];
    let mut read = 0;
    while let Some(rest) = text.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, read as u64)? {
            0 => break,
            more => read += more,
        }
    }
    Ok(text.get(..read).unwrap_or_default().to_vec())
}

fn newest(entries: &[Option<Checkpoint>], key: PublicKey) -> Option<(usize, &Checkpoint)> {
    let signed = entries.iter().enumerate().filter_map(|(place, entry)| Some((place, entry.as_ref()?)));
    signed.filter(|(_, entry)| key.verifies(Purpose::Anchor, entry)).max_by_key(|(_, entry)| entry.seq)
}

fn write(entry: &Checkpoint) -> String {
    format!("{:020} {} {}\n", entry.seq, to_hex(&entry.link), to_hex(&entry.signature))
}

fn parse(entry: &[u8]) -> Option<Checkpoint> {
    let text = std::str::from_utf8(entry).ok()?.strip_suffix('\n')?;
    let mut words = text.split(' ');
    let (seq, link, signature) = (words.next()?, words.next()?, words.next()?);
    let entry = Checkpoint { seq: seq.parse().ok()?, link: from_hex(link)?, signature: from_hex(signature)? };
    // An entry that does not read back to its own text was changed.
    (write(&entry).strip_suffix('\n') == Some(text)).then_some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("toolcrib-anchor-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// R4.8: the first records of a new folder stand beside an anchor from the first moment on, so a check that runs
    /// meanwhile finds nothing missing.
    #[test]
    fn a_new_folder_has_a_signed_start() {
        let folder = folder("start");
        let signer = Signer::new(&[3; 32]);
        let anchor = Anchor::open(&folder, signer.clone(), true).unwrap();
        assert_eq!(read(&folder, signer.public()).unwrap(), Anchored::Start);
        assert_eq!(read(&folder, Signer::new(&[4; 32]).public()).unwrap(), Anchored::Unsigned);
        anchor.raise(&signer.sign(Purpose::Head, 1, &[1; 32]), |_| Ok(false)).unwrap();
        assert!(matches!(read(&folder, signer.public()).unwrap(), Anchored::At(first) if first.seq == 1));
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// R4.8: two processes that write in any order never move the anchor back to an earlier record.
    #[test]
    fn an_anchor_only_grows_and_survives_a_torn_write() {
        let folder = folder("grows");
        let signer = Signer::new(&[3; 32]);
        let key = signer.public();
        let head = |seq: u64| signer.sign(Purpose::Head, seq, &[u8::try_from(seq).unwrap(); 32]);
        assert_eq!(read(&folder, key).unwrap(), Anchored::Missing);
        let (one, other) = (
            Anchor::open(&folder, signer.clone(), false).unwrap(),
            Anchor::open(&folder, signer.clone(), true).unwrap(),
        );
        assert_eq!(read(&folder, key).unwrap(), Anchored::Missing, "whoever creates it decides");
        let at = || match read(&folder, key).unwrap() {
            Anchored::At(anchor) => anchor.seq,
            missing => panic!("{missing:?}"),
        };
        for (anchor, seq, named) in [(&one, 5, 5), (&other, 7, 7), (&one, 6, 7), (&one, 8, 8), (&other, 9, 9)]
        {
            anchor.raise(&head(seq), |_| Ok(true)).unwrap();
            assert_eq!(at(), named);
        }
        one.raise(&head(10), |newest| Ok(newest.seq != 9)).unwrap();
        assert_eq!(at(), 9, "the log does not hold what was named");
        let path = folder.join(FILE);
        let good = std::fs::read(&path).unwrap();
        for place in 0..ENTRIES {
            let mut torn = good.clone();
            torn[place * ENTRY_BYTES + 30] ^= 1;
            std::fs::write(&path, &torn).unwrap();
            assert!(at() >= 8, "the other entry is whole");
        }
        std::fs::write(&path, "nonsense").unwrap();
        assert_eq!(read(&folder, key).unwrap(), Anchored::Unsigned);
        std::fs::write(&path, &good).unwrap();
        assert_eq!(read(&folder, Signer::new(&[4; 32]).public()).unwrap(), Anchored::Unsigned);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
