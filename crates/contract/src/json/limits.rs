//! Limits of reading one JSON text.

use crate::limits;

/// Limits of reading one JSON text. Every field has its row in LIMITS.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum bytes of the whole text.
    pub bytes_max: usize,
    /// Maximum nesting depth of objects and arrays.
    pub depth_max: usize,
    /// Maximum number of values and keys together.
    pub nodes_max: usize,
}

impl Limits {
    /// Limits of a message from a peer.
    #[must_use]
    pub const fn message() -> Self {
        Self {
            bytes_max: limits::JSON_MESSAGE_BYTES_MAX,
            depth_max: limits::JSON_DEPTH_MAX,
            nodes_max: limits::JSON_NODES_MAX,
        }
    }

    /// Limits of one tool definition: those of a message with fewer bytes.
    #[must_use]
    pub const fn definition() -> Self {
        Self { bytes_max: limits::DEFINITION_BYTES_MAX, ..Self::message() }
    }

    /// Limits of a catalogue, a lock or another file that the operator chose to read.
    #[must_use]
    pub const fn file() -> Self {
        Self {
            bytes_max: limits::JSON_FILE_BYTES_MAX,
            depth_max: limits::JSON_DEPTH_MAX,
            nodes_max: limits::JSON_FILE_NODES_MAX,
        }
    }

    /// Returns the limits with another maximum of bytes.
    #[must_use]
    pub const fn with_bytes_max(mut self, bytes_max: usize) -> Self {
        self.bytes_max = bytes_max;
        self
    }

    /// Returns the limits with another maximum depth.
    #[must_use]
    pub const fn with_depth_max(mut self, depth_max: usize) -> Self {
        self.depth_max = depth_max;
        self
    }

    /// Returns the limits with another maximum number of values and keys.
    #[must_use]
    pub const fn with_nodes_max(mut self, nodes_max: usize) -> Self {
        self.nodes_max = nodes_max;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::message()
    }
}
