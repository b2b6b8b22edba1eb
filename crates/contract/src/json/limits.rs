//! How much of a text is read.

use crate::limits;

/// How much of a text is read. Every field has its line in LIMITS.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the whole text.
    pub bytes_max: usize,
    /// Containers inside containers.
    pub depth_max: usize,
    /// Values and keys together.
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

    /// Limits of one tool definition.
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

    /// The same with another number of bytes.
    #[must_use]
    pub const fn with_bytes_max(mut self, bytes_max: usize) -> Self {
        self.bytes_max = bytes_max;
        self
    }

    /// The same with another depth.
    #[must_use]
    pub const fn with_depth_max(mut self, depth_max: usize) -> Self {
        self.depth_max = depth_max;
        self
    }

    /// The same with another number of values and keys.
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
