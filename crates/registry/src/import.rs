//! Files of any format into the catalogue: one transaction, piece by piece, with a report.
//!
//! Guarantees: all of a file is in the catalogue when the call returns, or nothing of it is, whatever ends the process
//! in between. The file is read and judged to its end before the transaction begins, so a faulty file never holds the
//! catalogue's write lock. It is read a second time inside the transaction, a bounded number of entries ahead on a
//! thread of their own: keeping every entry between the two readings would take several times the file's size.

mod ahead;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use toolcrib_contract::json::{Document, Limits, Node, Pointer};
use toolcrib_store::StoreError;
use toolcrib_store::catalogue::{Catalogue, Put, Shelves};

use crate::convert::{ConvertError, json_text};
use crate::extension::below_block;
use crate::format::Format;
use crate::issue::{Fault, Issue, Report};
use crate::known::Known;
use crate::listed::Listed;
use crate::split;
use crate::step::{entry, tools};
use crate::toolhive::Kind;
use crate::{time, version};
use ahead::{Made, Prepared, ahead};

/// A file below this is put as single servers are.
const MANY_BYTES_MIN: usize = 1024 * 1024;

/// How to import.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// The format; found out by its shape where none is given.
    pub from: Option<Format>,
    /// Take what can be taken and note the rest, instead of stopping.
    pub lenient: bool,
    /// The name of a server that the input does not name.
    pub name: Option<String>,
    /// A version that is there already is replaced; else it is a fault.
    pub replace: bool,
    /// Counted while it goes on: servers that were read, and how many are known of.
    pub counted: Option<(Arc<AtomicUsize>, Arc<AtomicUsize>)>,
}

/// What came of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// Servers that were not there.
    pub added: usize,
    /// Servers that were there with another document.
    pub replaced: usize,
    /// Servers that were there as they are.
    pub same: usize,
    /// Tools of the servers that were added or replaced.
    pub tools: usize,
    /// What was noted.
    pub report: Report,
}

/// Why nothing was imported.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file.
    #[error(transparent)]
    File(#[from] ConvertError),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Issue> for ImportError {
    fn from(issue: Issue) -> Self {
        Self::File(issue.into())
    }
}

impl From<toolcrib_contract::json::ReadError> for ImportError {
    fn from(error: toolcrib_contract::json::ReadError) -> Self {
        Self::File(error.into())
    }
}

/// Imports a file; all of it, or with `lenient` all that can be taken, or nothing.
///
/// # Errors
/// An [`ImportError`] that names the place.
pub fn import(catalogue: &Catalogue, bytes: Vec<u8>, options: &Options) -> Result<Imported, ImportError> {
    let options = options.clone();
    let text = whole_text(bytes)?;
    Importer::new(None, options.clone()).run(&text)?;
    catalogue
        .write(move |shelves| {
            let many = text.len() >= MANY_BYTES_MIN;
            if many {
                shelves.begin_many()?;
            }
            let mut importer = Importer::new(Some(&mut *shelves), options);
            let outcome = importer.run(&text);
            let done = importer.done;
            if many {
                shelves.end_many()?;
            }
            outcome.map(|()| done)
        })
        .wait_blocking()
}

/// Returns the file as JSON text, without a copy where it is JSON already.
fn whole_text(bytes: Vec<u8>) -> Result<String, ImportError> {
    if let Cow::Owned(text) = json_text(&bytes)? {
        return Ok(text);
    }
    String::from_utf8(bytes).map_err(|_| ConvertError::Unknown.into())
}

struct Importer<'c> {
    /// Absent while the file is only judged.
    shelves: Option<&'c mut dyn Shelves>,
    options: Options,
    now: String,
    done: Imported,
    seen: HashSet<(String, String)>,
}

impl<'c> Importer<'c> {
    fn new(shelves: Option<&'c mut dyn Shelves>, options: Options) -> Self {
        Self { shelves, options, now: time::now(), done: Imported::default(), seen: HashSet::new() }
    }

    fn run(&mut self, text: &str) -> Result<(), ImportError> {
        let root = Pointer::root();
        // Where a text is cut off the strict reader says best.
        let pieces = split::pieces(text, 0, &root)
            .map_err(|error| Document::parse(text.as_bytes(), &Limits::file()).err().unwrap_or(error))?;
        let Some(pieces) = pieces else { return Err(ConvertError::Unknown.into()) };
        split::ends(text, pieces.end)?;
        let find =
            |key: &str| pieces.list.iter().find(|(name, _)| name == key).map(|(_, range)| range.clone());
        let starts = |key: &str, with: char| {
            find(key).and_then(|range| text.get(range)).is_some_and(|value| value.starts_with(with))
        };
        let format = match self.options.from {
            Some(format) => format,
            None if pieces.is_object && starts("data", '{') => Format::Upstream,
            None if starts("servers", '{') || starts("remote_servers", '{') => Format::Toolhive,
            None => split::read(text, 0..text.len(), &root, Format::detect)?.ok_or(ConvertError::Unknown)?,
        };
        let known = Known::default();
        match format {
            Format::Upstream => {
                let place = root.join("data");
                let data = find("data").ok_or_else(|| missing(&root, "data"))?;
                let inner = split::pieces(text, data.start, &place)?.ok_or_else(|| missing(&root, "data"))?;
                let servers =
                    inner.list.iter().find(|(name, _)| name == "servers").map(|(_, range)| range.clone());
                let servers = servers.ok_or_else(|| missing(&place, "servers"))?;
                self.each(text, servers.start, &place.join("servers"), |_, node, report| {
                    Listed::judged(node, Some(&known), report)
                })?;
            }
            Format::Toolhive if find("servers").is_some() || find("remote_servers").is_some() => {
                for kind in [Kind::Image, Kind::Remote] {
                    let Some(entries) = find(kind.member()) else { continue };
                    self.each(text, entries.start, &root.join(kind.member()), |key, node, report| {
                        let server = entry::into_server(key, kind, node, false, report)?;
                        at_home(&server, &known, report, Clone::clone)
                    })?;
                }
            }
            Format::Toolhive | Format::Server | Format::Tools => self.single(text, format, &known)?,
        }
        match self.done.report.first_error() {
            Some(issue) if !self.options.lenient => Err(issue.clone().into()),
            _ => Ok(()),
        }
    }

    /// Takes a document that is one server.
    fn single(&mut self, text: &str, format: Format, known: &Known) -> Result<(), ImportError> {
        let name = self.options.name.clone();
        let made = |node: Node<'_>, report: &mut Report| -> Result<Listed, Issue> {
            match format {
                Format::Server => Listed::judged(node, Some(known), report),
                Format::Tools => {
                    let server = tools::into_server(node, name.as_deref(), report)?;
                    at_home(&server, known, report, |below| tools::home(node, below))
                }
                _ => {
                    let key = name.as_deref().unwrap_or("unnamed");
                    let server = entry::into_server(key, Kind::of(node), node, true, report)?;
                    at_home(&server, known, report, Clone::clone)
                }
            }
        };
        let (root, mut report) = (Pointer::root(), Report::default());
        let listed = split::read(text, 0..text.len(), &root, |node| made(node, &mut report))?;
        self.take(Prepared { place: root, report, made: Made::of(listed) })
    }

    /// Takes every member or element of the value at `start`.
    fn each(
        &mut self,
        text: &str,
        start: usize,
        place: &Pointer,
        listed: impl Fn(&str, Node<'_>, &mut Report) -> Result<Listed, Issue> + Sync,
    ) -> Result<(), ImportError> {
        let Some(pieces) = split::pieces(text, start, place)? else { return Ok(()) };
        let counted = self.options.counted.clone();
        // What is known of is counted by the first reading, what was put by the second.
        if let (Some((_, known)), None) = (&counted, &self.shelves) {
            known.fetch_add(pieces.list.len(), Ordering::Relaxed);
        }
        let counted = counted.filter(|_| self.shelves.is_some());
        ahead(text, &pieces, place, &listed, |prepared| {
            if let Some((read, _)) = &counted {
                read.fetch_add(1, Ordering::Relaxed);
            }
            self.take(prepared)
        })
    }

    fn take(&mut self, prepared: Prepared) -> Result<(), ImportError> {
        let Prepared { place, report, made } = prepared;
        self.done.report.absorb(&place, report);
        let new = match made {
            Made::New(new) => new,
            Made::Fault(issue) => {
                let place = Pointer::from_escaped(format!("{}{}", place.as_str(), issue.pointer.as_str()));
                if !self.options.lenient {
                    return Err(Issue::new(place, issue.fault).into());
                }
                self.done.report.note(place, Fault::LeftOut { reason: issue.fault.to_string() });
                return Ok(());
            }
            Made::Unread(error) if self.options.lenient => {
                self.done.report.note(place, Fault::LeftOut { reason: error.to_string() });
                return Ok(());
            }
            Made::Unread(error) | Made::Twice(error) => return Err(error.into()),
        };
        let (name, version) = (new.name.clone(), new.version.clone());
        if !self.seen.insert((name.clone(), version.clone())) {
            self.done.report.note(place, Fault::DuplicateServer { name, version });
            return Ok(());
        }
        let Some(shelves) = self.shelves.as_deref_mut() else { return Ok(()) };
        match shelves.put(&new, &self.now)? {
            Put::Added => {
                self.done.added += 1;
                self.done.tools += new.tools.len();
            }
            Put::Same => self.done.same += 1,
            Put::Conflict if self.options.replace => {
                shelves.remove(&name, &version, version::replaces)?;
                shelves.put(&new, &self.now)?;
                self.done.replaced += 1;
                self.done.tools += new.tools.len();
            }
            Put::Conflict => self.done.report.note(place, Fault::ChangedServer { name, version }),
        }
        Ok(())
    }
}

/// The server that was made of something else; what is wrong in its tools is noted where they stood in that.
fn at_home(
    server: &str,
    known: &Known,
    report: &mut Report,
    home: impl Fn(&Pointer) -> Pointer,
) -> Result<Listed, Issue> {
    let mut own = Report::default();
    let listed = crate::step::read(server, |node| Listed::judged(node, Some(known), &mut own))?;
    let moved = own.moved(|place| below_block(place).map_or_else(Pointer::root, |below| home(&below)));
    report.absorb(&Pointer::root(), moved);
    listed
}

fn missing(place: &Pointer, member: &'static str) -> Issue {
    Issue::new(place.clone(), Fault::Missing { member })
}
