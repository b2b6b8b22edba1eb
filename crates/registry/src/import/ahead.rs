//! Reads entries ahead of the catalogue writer, in file order.

use std::collections::HashSet;
use std::sync::mpsc::sync_channel;

use toolcrib_contract::json::{Node, Pointer, ReadError, ReadErrorKind};
use toolcrib_store::catalogue::NewServer;

use super::ImportError;
use crate::issue::{Issue, Report};
use crate::listed::Listed;
use crate::split::{self, Pieces};

/// Maximum entries that wait to be stored; more would only take memory.
const WAITING_MAX: usize = 64;
/// Minimum entries for a reading thread; fewer are read by the writer.
const AHEAD_ENTRIES_MIN: usize = 16;

/// Entry that was read.
pub(super) struct Prepared {
    pub(super) place: Pointer,
    pub(super) report: Report,
    pub(super) made: Made,
}

/// Result of reading an entry.
pub(super) enum Made {
    /// Rows to be stored.
    New(Box<NewServer>),
    /// The entry is not a server.
    Fault(Issue),
    /// The entry is not JSON.
    Unread(ReadError),
    /// The key occurred before, so it is unknown which entry is meant.
    Twice(ReadError),
}

impl Made {
    pub(super) fn of(listed: Result<Listed, Issue>) -> Self {
        match listed {
            Ok(listed) => Self::New(Box::new(listed.into_new())),
            Err(issue) => Self::Fault(issue),
        }
    }
}

/// Reads every piece on a thread of its own and passes them to `take` in order, until `take` fails.
pub(super) fn ahead(
    text: &str,
    pieces: &Pieces,
    place: &Pointer,
    listed: &(impl Fn(&str, Node<'_>, &mut Report) -> Result<Listed, Issue> + Sync),
    mut take: impl FnMut(Prepared) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut keys = HashSet::new();
    let prepared = pieces.list.iter().map(move |(key, range)| {
        let place = place.join(key);
        let mut report = Report::default();
        if pieces.is_object && !keys.insert(key) {
            let kind = ReadErrorKind::DuplicateKey { key: key.clone() };
            let twice = ReadError { kind, offset: range.start, pointer: place.clone() };
            return Prepared { place, report, made: Made::Twice(twice) };
        }
        let read = split::read(text, range.clone(), &place, |node| listed(key, node, &mut report));
        let made = match read {
            Ok(listed) => Made::of(listed),
            Err(error) => Made::Unread(error),
        };
        Prepared { place, report, made }
    });
    if pieces.list.len() < AHEAD_ENTRIES_MIN {
        let mut prepared = prepared;
        return prepared.try_for_each(take);
    }
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(WAITING_MAX);
        scope.spawn(move || {
            for one in prepared {
                // The receiver is gone: the import has failed.
                if sender.send(one).is_err() {
                    return;
                }
            }
        });
        receiver.into_iter().try_for_each(&mut take)
    })
}
