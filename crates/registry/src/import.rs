//! Files of any format into the catalogue: one transaction, piece by piece, with a report.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use toolcrib_contract::json::{Node, Pointer};
use toolcrib_store::catalogue::{self, Put};
use toolcrib_store::{Store, StoreError, rusqlite};

use crate::convert::{ConvertError, json_text};
use crate::format::Format;
use crate::issue::{Fault, Issue, Report};
use crate::listed::Listed;
use crate::split;
use crate::step::{entry, tools};
use crate::toolhive::Kind;
use crate::{time, version};

/// SQLite's cache while a file is imported, and otherwise, in KiB.
const IMPORT_CACHE_KIB: u32 = 48 * 1024;
const USUAL_CACHE_KIB: u32 = 2_000;

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

impl From<rusqlite::Error> for ImportError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Imports a file; all of it, or with `lenient` all that can be taken, or nothing.
///
/// # Errors
/// An [`ImportError`] that names the place.
pub fn import(store: &Store, bytes: Vec<u8>, options: &Options) -> Result<Imported, ImportError> {
    let options = options.clone();
    store
        .write(move |db| {
            // An index that grows beyond the usual cache would be written out and read back all the time.
            db.execute_batch(&format!("PRAGMA cache_size = -{IMPORT_CACHE_KIB}"))?;
            let importer =
                Importer { db, options, now: time::now(), done: Imported::default(), seen: HashSet::new() };
            let done = importer.run(&bytes);
            db.execute_batch(&format!("PRAGMA cache_size = -{USUAL_CACHE_KIB}"))?;
            done
        })
        .wait_blocking()
}

struct Importer<'c> {
    db: &'c rusqlite::Connection,
    options: Options,
    now: String,
    done: Imported,
    seen: HashSet<(String, String)>,
}

impl Importer<'_> {
    fn run(mut self, bytes: &[u8]) -> Result<Imported, ImportError> {
        let text = json_text(bytes)?;
        let root = Pointer::root();
        let Some(pieces) = split::pieces(&text, 0, &root)? else { return Err(ConvertError::Unknown.into()) };
        split::ends(&text, pieces.end)?;
        let find =
            |key: &str| pieces.list.iter().find(|(name, _)| name == key).map(|(_, range)| range.clone());
        let starts = |key: &str, with: char| {
            find(key).and_then(|range| text.get(range)).is_some_and(|value| value.starts_with(with))
        };
        let format = match self.options.from {
            Some(format) => format,
            None if pieces.is_object && starts("data", '{') => Format::Upstream,
            None if starts("servers", '{') || starts("remote_servers", '{') => Format::Toolhive,
            None => split::read(&text, 0..text.len(), &root, Format::detect)?.ok_or(ConvertError::Unknown)?,
        };
        match format {
            Format::Upstream => {
                let place = root.join("data");
                let data = find("data").ok_or_else(|| missing(&root, "data"))?;
                let inner =
                    split::pieces(&text, data.start, &place)?.ok_or_else(|| missing(&root, "data"))?;
                let servers =
                    inner.list.iter().find(|(name, _)| name == "servers").map(|(_, range)| range.clone());
                let servers = servers.ok_or_else(|| missing(&place, "servers"))?;
                self.each(&text, servers.start, &place.join("servers"), |_, node, report| {
                    Listed::read(node, report)
                })?;
            }
            Format::Toolhive if find("servers").is_some() || find("remote_servers").is_some() => {
                for kind in [Kind::Image, Kind::Remote] {
                    let Some(entries) = find(kind.member()) else { continue };
                    self.each(&text, entries.start, &root.join(kind.member()), |key, node, report| {
                        let server = entry::into_server(key, kind, node, false, report)?;
                        crate::step::read(&server, |node| Listed::read(node, &mut Report::default()))?
                    })?;
                }
            }
            Format::Toolhive | Format::Server | Format::Tools => {
                let name = self.options.name.clone();
                let made = |node: Node<'_>, report: &mut Report| -> Result<Listed, Issue> {
                    let server = match format {
                        Format::Server => return Listed::read(node, report),
                        Format::Tools => tools::into_server(node, name.as_deref(), report)?,
                        _ => entry::into_server(
                            name.as_deref().unwrap_or("unnamed"),
                            Kind::of(node),
                            node,
                            true,
                            report,
                        )?,
                    };
                    crate::step::read(&server, |node| Listed::read(node, report))?
                };
                let mut report = Report::default();
                let listed = split::read(&text, 0..text.len(), &root, |node| made(node, &mut report))?;
                self.done.report.absorb(&root, report);
                self.take(listed, &root)?;
            }
        }
        if let Some(issue) = self.done.report.first_error().filter(|_| !self.options.lenient) {
            return Err(issue.clone().into());
        }
        Ok(self.done)
    }

    /// Takes every member or element of the value at `start`.
    fn each(
        &mut self,
        text: &str,
        start: usize,
        place: &Pointer,
        listed: impl Fn(&str, Node<'_>, &mut Report) -> Result<Listed, Issue>,
    ) -> Result<(), ImportError> {
        let mut keys = HashSet::new();
        let Some(pieces) = split::pieces(text, start, place)? else { return Ok(()) };
        if let Some((_, known)) = &self.options.counted {
            known.fetch_add(pieces.list.len(), Ordering::Relaxed);
        }
        for (key, range) in pieces.list {
            if let Some((read, _)) = &self.options.counted {
                read.fetch_add(1, Ordering::Relaxed);
            }
            let place = place.join(&key);
            if pieces.is_object && !keys.insert(key.clone()) {
                let kind = toolcrib_contract::json::ReadErrorKind::DuplicateKey { key };
                return Err(
                    toolcrib_contract::json::ReadError { kind, offset: range.start, pointer: place }.into()
                );
            }
            let mut report = Report::default();
            let made = split::read(text, range, &place, |node| listed(&key, node, &mut report));
            self.done.report.absorb(&place, report);
            match made {
                Ok(made) => self.take(made, &place)?,
                Err(error) if self.options.lenient => {
                    self.done.report.note(place, Fault::LeftOut { reason: error.to_string() });
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn take(&mut self, listed: Result<Listed, Issue>, place: &Pointer) -> Result<(), ImportError> {
        let listed = match listed {
            Ok(listed) => listed,
            Err(issue) => {
                let place = Pointer::from_escaped(format!("{}{}", place.as_str(), issue.pointer.as_str()));
                if !self.options.lenient {
                    return Err(Issue::new(place, issue.fault).into());
                }
                self.done.report.note(place, Fault::LeftOut { reason: issue.fault.to_string() });
                return Ok(());
            }
        };
        let (name, version) = (listed.name.clone(), listed.version.clone());
        if !self.seen.insert((name.clone(), version.clone())) {
            self.done.report.note(place.clone(), Fault::DuplicateServer { name, version });
            return Ok(());
        }
        let count = listed.tools.len();
        let new = listed.into_new();
        match catalogue::put(self.db, &new, &self.now)? {
            Put::Added => {
                self.done.added += 1;
                self.done.tools += count;
            }
            Put::Same => self.done.same += 1,
            Put::Conflict if self.options.replace => {
                catalogue::remove(self.db, &name, &version, version::replaces)?;
                catalogue::put(self.db, &new, &self.now)?;
                self.done.replaced += 1;
                self.done.tools += count;
            }
            Put::Conflict => self.done.report.note(place.clone(), Fault::DuplicateServer { name, version }),
        }
        Ok(())
    }
}

fn missing(place: &Pointer, member: &'static str) -> Issue {
    Issue::new(place.clone(), Fault::Missing { member })
}
