//! The compact form of an entry whose extension exceeds its target's budget (R6.5).
//!
//! Nothing is cut silently: under `dev.toolcrib` the entry lists the members left out, the digest of the full
//! extension, and a URL of the full entry. Steps are tried until one fits: without schemas, prose, definitions, names.
//! [`expanded`] puts the full extension back and refuses one with another digest.

use toolcrib_contract::Digest;
use toolcrib_contract::json::{Node, ObjectWriter, Pointer, write_string};

use crate::PUBLISHER_KEY;
use crate::block::blocks;
use crate::budget::{Target, extension_bytes};
use crate::carry::slot::OWN_KEY;
use crate::edit::{Edit, Edits, edited};
use crate::extension::DEFINITIONS;
use crate::format::Format;
use crate::step::read;

const COMPACT: &str = "compact";
const TOOLS: &str = "tools";

/// Amount of data left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Nothing; the extension fits.
    Whole,
    /// Schemas, and all other members of a definition except name, title, description and annotations.
    Schemas,
    /// Descriptions and titles as well; names, annotations and digests stay.
    Prose,
    /// The definitions entirely; the names stay.
    Definitions,
    /// The names and the overview as well.
    Names,
}

impl Step {
    const MAKING: [Self; 4] = [Self::Schemas, Self::Prose, Self::Definitions, Self::Names];

    /// Returns the patterns of the members left out.
    #[must_use]
    pub const fn left_out(self) -> &'static [&'static str] {
        match self {
            Self::Whole => &[],
            Self::Schemas => &["tool_definitions/*/schemas"],
            Self::Prose => &["tool_definitions/*/schemas", "tool_definitions/*/prose"],
            Self::Definitions => &["tool_definitions"],
            Self::Names => &["tool_definitions", "tools", "overview"],
        }
    }
}

/// Result of compacting an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compacted {
    /// The compact server.json.
    pub text: String,
    /// Data left out.
    pub step: Step,
    /// Bytes of the extension before and after.
    pub bytes: (usize, usize),
}

/// Error of compacting or expanding an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// The extension is too large even without tool data.
    #[error("the extension has {found} bytes without any tool data, {target} takes {limit}")]
    StillOver { found: usize, limit: usize, target: String },
    /// The entry is not compact.
    #[error("this entry was not made compact")]
    NotCompact,
    /// The offered entry has another extension.
    #[error("the registry has an extension with the digest {offered}, the compact form was made of {wanted}")]
    OtherWhole { wanted: String, offered: String },
    /// The full entry has no extension.
    #[error("the registry's entry has no publisher extension")]
    NoExtension,
    /// A number has no canonical form, so there is no digest.
    #[error("no digest: {0}")]
    Canonical(toolcrib_contract::CanonicalError),
    /// Text that this crate wrote and cannot parse.
    #[error(transparent)]
    Issue(#[from] crate::issue::Issue),
}

/// Compacts `server` by the first step that fits `target`. `pointer` is the URL of the full entry.
///
/// # Errors
/// [`CompactError::StillOver`] if the extension is too large even without tool data.
pub fn compacted(server: Node<'_>, target: &Target, pointer: &str) -> Result<Compacted, CompactError> {
    let before = extension_bytes(server);
    if before <= target.bytes_max {
        return Ok(Compacted { text: server.to_compact(), step: Step::Whole, bytes: (before, before) });
    }
    let provided =
        server.get("_meta").and_then(|meta| meta.get(PUBLISHER_KEY)).ok_or(CompactError::NoExtension)?;
    let digest = Digest::of(provided).map_err(CompactError::Canonical)?;
    let mut after = before;
    for step in Step::MAKING {
        let text = made(server, step, &digest, pointer)?;
        after = read(&text, extension_bytes)?;
        if after <= target.bytes_max {
            return Ok(Compacted { text, step, bytes: (before, after) });
        }
    }
    Err(CompactError::StillOver { found: after, limit: target.bytes_max, target: target.name.clone() })
}

fn made(server: Node<'_>, step: Step, digest: &Digest, pointer: &str) -> Result<String, CompactError> {
    let mut edits = Edits::new();
    let mut count = 0;
    for (place, block) in blocks(Format::Server, server) {
        let definitions = block.get(DEFINITIONS).filter(|list| list.is_array());
        count += definitions.or_else(|| block.get(TOOLS)).map_or(0, Node::len);
        let edit = match (step, definitions) {
            (Step::Schemas | Step::Prose, Some(list)) => Edit::Set(short_definitions(list, step)?),
            _ => Edit::Remove,
        };
        edits.insert(place.join(DEFINITIONS), edit);
        if step == Step::Names {
            edits.insert(place.join(TOOLS), Edit::Remove);
            edits.insert(place.join("overview"), Edit::Remove);
        }
    }
    let mut left = String::from("[");
    for (at, name) in step.left_out().iter().enumerate() {
        if at > 0 {
            left.push(',');
        }
        write_string(&mut left, name);
    }
    left.push(']');
    let mut note = ObjectWriter::new();
    note.raw("left_out", &left).raw("tool_count", &count.to_string());
    note.string("digest", &digest.to_string()).string("whole", pointer);
    let own = Pointer::root().join("_meta").join(PUBLISHER_KEY).join(OWN_KEY);
    let carried =
        server.get("_meta").and_then(|meta| meta.get(PUBLISHER_KEY)).and_then(|meta| meta.get(OWN_KEY));
    let mut holder = ObjectWriter::new();
    for (key, value) in carried.into_iter().flat_map(Node::members).filter(|(key, _)| !key.is_text(COMPACT)) {
        holder.copy(key, value);
    }
    holder.raw(COMPACT, &note.finish());
    edits.insert(own, Edit::Set(holder.finish()));
    Ok(edited(server, &edits))
}

fn short_definitions(list: Node<'_>, step: Step) -> Result<String, CompactError> {
    let kept: &[&str] = if step == Step::Schemas {
        &["name", "title", "description", "annotations"]
    } else {
        &["name", "annotations"]
    };
    let mut parts = Vec::with_capacity(list.len());
    for tool in list.elements() {
        let mut out = ObjectWriter::new();
        for (key, value) in tool.members().filter(|(key, _)| kept.iter().any(|kept| key.is_text(kept))) {
            out.copy(key, value);
        }
        out.string("digest", &Digest::of(tool).map_err(CompactError::Canonical)?.to_string());
        parts.push(out.finish());
    }
    Ok(format!("[{}]", parts.join(",")))
}

/// Returns the note in a compact entry about what was left out.
#[must_use]
pub fn note(server: Node<'_>) -> Option<Node<'_>> {
    server.get("_meta")?.get(PUBLISHER_KEY)?.get(OWN_KEY)?.get(COMPACT)
}

/// Returns the compact entry `server` with the extension of `whole`, which must be the one it was made from.
///
/// # Errors
/// If `server` is not compact, or `whole` has another extension.
pub fn expanded(server: Node<'_>, whole: Node<'_>) -> Result<String, CompactError> {
    let wanted = note(server)
        .and_then(|note| note.get("digest"))
        .and_then(Node::as_str)
        .ok_or(CompactError::NotCompact)?;
    let provided =
        whole.get("_meta").and_then(|meta| meta.get(PUBLISHER_KEY)).ok_or(CompactError::NoExtension)?;
    let offered = Digest::of(provided).map_err(CompactError::Canonical)?.to_string();
    if offered != wanted {
        return Err(CompactError::OtherWhole { wanted: wanted.into_owned(), offered });
    }
    let place = Pointer::root().join("_meta").join(PUBLISHER_KEY);
    Ok(edited(server, &Edits::from([(place, Edit::Set(provided.to_compact()))])))
}
