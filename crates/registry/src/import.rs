//! Imports a file of any format into the catalogue, in one transaction and with a report.
//!
//! Guarantees: after the call the catalogue has all of the file or nothing of it, even if the process dies. The file is
//! read and checked completely before the transaction begins, so a faulty file never holds the write lock. Inside the
//! transaction it is read a second time, on a thread that reads a bounded number of entries ahead: keeping all entries
//! of the first reading would take several times the file's size.

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

/// Minimum file size for the store's bulk mode; below it, servers are stored one by one.
const MANY_BYTES_MIN: usize = 1024 * 1024;

/// Options of an import.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// Format of the input; detected by its shape if `None`.
    pub from: Option<Format>,
    /// Skips faulty parts and notes them, instead of stopping at the first.
    pub lenient: bool,
    /// Name for a server that the input does not name.
    pub name: Option<String>,
    /// Replaces a version that exists with another document; otherwise such a version is a fault.
    pub replace: bool,
    /// Counters updated during the import: servers read, and servers found so far.
    pub counted: Option<(Arc<AtomicUsize>, Arc<AtomicUsize>)>,
}

/// Result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// Number of new servers.
    pub added: usize,
    /// Number of servers whose document was replaced.
    pub replaced: usize,
    /// Number of servers that existed unchanged.
    pub same: usize,
    /// Number of tools of the added and replaced servers.
    pub tools: usize,
    /// Issues found.
    pub report: Report,
}

/// Reason why nothing was imported.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file cannot be read or converted.
    #[error(transparent)]
    File(#[from] ConvertError),
    /// The database failed.
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

/// Imports a file: all of it, with `lenient` everything that can be read, or nothing.
///
/// # Errors
/// An [`ImportError`] that names the location.
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

/// Returns the file as JSON text. Copies nothing if it is JSON already.
fn whole_text(bytes: Vec<u8>) -> Result<String, ImportError> {
    if let Cow::Owned(text) = json_text(&bytes)? {
        return Ok(text);
    }
    String::from_utf8(bytes).map_err(|_| ConvertError::Unknown.into())
}

struct Importer<'c> {
    /// `None` during the first reading, which only checks the file.
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
        // The strict reader reports best where a text is truncated.
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

    /// Imports a document that is a single server.
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

    /// Imports every member or element of the value at `start`.
    fn each(
        &mut self,
        text: &str,
        start: usize,
        place: &Pointer,
        listed: impl Fn(&str, Node<'_>, &mut Report) -> Result<Listed, Issue> + Sync,
    ) -> Result<(), ImportError> {
        let Some(pieces) = split::pieces(text, start, place)? else { return Ok(()) };
        let counted = self.options.counted.clone();
        // The first reading counts the entries found, the second the entries stored.
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

/// Reads a server that was converted from another format. Issues in its tools are located in the original document.
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
