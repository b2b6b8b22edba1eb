//! Memory budgets for the compiled schemas of servers behind a gateway: per server and for the process.
//!
//! Guarantees: a schema counts once per server and once in total, however many tools share it. A server within
//! [`limits::SERVER_SCHEMAS_BYTES_MIN`] is never refused because of other servers.

use std::collections::HashSet;

use super::error::{SchemaError, SchemaLimit};
use super::{Schema, Weight};
use crate::digest::Digest;
use crate::limits;

/// Budget of compiled schemas, filled server by server. It is rebuilt whenever the servers' tools are gathered, so a
/// removed tool takes no room.
#[derive(Debug, Default)]
pub struct SchemaRoom {
    total: Used,
    server: Used,
    /// Schemas counted for the contract that is being compiled; uncounted if it is refused.
    pending: Vec<Pending>,
}

#[derive(Debug, Default)]
struct Used {
    bytes: usize,
    schemas: HashSet<Digest>,
}

#[derive(Debug)]
struct Pending {
    digest: Option<Digest>,
    bytes: usize,
    in_total: bool,
}

impl SchemaRoom {
    /// Returns an empty room.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts counting for the next server.
    pub fn next_server(&mut self) {
        self.server = Used::default();
    }

    /// Returns the estimated bytes used by the current server and by all servers.
    #[must_use]
    pub fn used(&self) -> (usize, usize) {
        (self.server.bytes, self.total.bytes)
    }

    /// Counts the schemas of a contract that is already compiled.
    ///
    /// # Errors
    /// The limit that would be exceeded; the room is then unchanged.
    pub fn keep<'s>(&mut self, schemas: impl IntoIterator<Item = &'s Schema>) -> Result<(), SchemaError> {
        let kept =
            schemas.into_iter().try_for_each(|schema| self.count(schema.digest, schema.admission.weight));
        self.settle(kept.is_ok());
        kept
    }

    pub(super) fn count(&mut self, digest: Option<Digest>, weight: Weight) -> Result<(), SchemaError> {
        let bytes = weight.bytes();
        if digest.is_some_and(|digest| self.server.schemas.contains(&digest)) {
            return Ok(());
        }
        let server = self.server.bytes + bytes;
        if server > limits::SERVER_SCHEMAS_BYTES_MAX {
            return Err(SchemaLimit::ServerBytes.exceeded(server));
        }
        let in_total = digest.is_none_or(|digest| !self.total.schemas.contains(&digest));
        let total = self.total.bytes + if in_total { bytes } else { 0 };
        if total > limits::SCHEMAS_BYTES_MAX && server > limits::SERVER_SCHEMAS_BYTES_MIN {
            return Err(SchemaLimit::TotalBytes.exceeded(total));
        }
        self.server.bytes = server;
        self.total.bytes = total;
        if let Some(digest) = digest {
            self.server.schemas.insert(digest);
            self.total.schemas.insert(digest);
        }
        self.pending.push(Pending { digest, bytes, in_total });
        Ok(())
    }

    /// Ends the counting for one contract: keeps the pending schemas, or uncounts them if `keeps` is `false`.
    pub(crate) fn settle(&mut self, keeps: bool) {
        for Pending { digest, bytes, in_total } in self.pending.drain(..) {
            if keeps {
                continue;
            }
            self.server.bytes -= bytes;
            if in_total {
                self.total.bytes -= bytes;
            }
            if let Some(digest) = digest {
                self.server.schemas.remove(&digest);
                if in_total {
                    self.total.schemas.remove(&digest);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(bytes: usize) -> Weight {
        Weight { validator: bytes, patterns: 0 }
    }

    fn digest(number: u64) -> Option<Digest> {
        let text = number.to_string();
        let document = crate::json::OwnedDocument::parse(text, &crate::json::Limits::message()).unwrap();
        Digest::of(document.root()).ok()
    }

    fn fill(room: &mut SchemaRoom, bytes: usize, seed: u64) -> Result<(), SchemaError> {
        let counted = room.count(digest(seed), weight(bytes));
        room.settle(counted.is_ok());
        counted
    }

    /// `SERVER_SCHEMAS_BYTES_MAX`: one server is refused by name, the next one starts from zero.
    #[test]
    fn a_server_over_server_schemas_bytes_max_is_refused() {
        let mut room = SchemaRoom::new();
        fill(&mut room, limits::SERVER_SCHEMAS_BYTES_MAX, 1).unwrap();
        let refused = fill(&mut room, 1, 2).unwrap_err().to_string();
        assert!(refused.contains("SERVER_SCHEMAS_BYTES_MAX"), "{refused}");
        fill(&mut room, limits::SERVER_SCHEMAS_BYTES_MAX, 1).expect("a shared schema counts once");
        room.next_server();
        fill(&mut room, limits::SERVER_SCHEMAS_BYTES_MAX, 3).unwrap();
        assert_eq!(room.used(), (limits::SERVER_SCHEMAS_BYTES_MAX, 2 * limits::SERVER_SCHEMAS_BYTES_MAX));
    }

    /// `SCHEMAS_BYTES_MAX` and `SERVER_SCHEMAS_BYTES_MIN`: with the total used up, a server that needs little is
    /// served.
    #[test]
    fn schemas_bytes_max_bounds_all_servers_and_leaves_each_its_least() {
        let mut room = SchemaRoom::new();
        for server in 0..(limits::SCHEMAS_BYTES_MAX / limits::SERVER_SCHEMAS_BYTES_MAX) as u64 {
            room.next_server();
            fill(&mut room, limits::SERVER_SCHEMAS_BYTES_MAX, server).unwrap();
        }
        room.next_server();
        let refused = fill(&mut room, limits::SERVER_SCHEMAS_BYTES_MIN + 1, 100).unwrap_err().to_string();
        assert!(refused.contains("SCHEMAS_BYTES_MAX"), "{refused}");
        fill(&mut room, limits::SERVER_SCHEMAS_BYTES_MIN, 101).unwrap();
    }

    #[test]
    fn what_is_refused_takes_no_room() {
        let mut room = SchemaRoom::new();
        fill(&mut room, 10, 1).unwrap();
        room.count(digest(2), weight(20)).unwrap();
        room.settle(false);
        assert_eq!(room.used(), (10, 10));
        fill(&mut room, 20, 2).unwrap();
        assert_eq!(room.used(), (30, 30));
    }
}
