//! Every limit of this crate, with its unit. LIMITS.md is checked against this file.

/// Writes that are made durable by one commit at most.
pub const GROUP_WRITES_MAX: usize = 256;

/// Writes that may wait; further ones are refused.
pub const WRITES_WAITING_MAX: usize = 16_384;

/// Reads that may wait; further ones are refused.
pub const READS_WAITING_MAX: usize = 16_384;

/// Threads that read.
pub const READERS: usize = 2;

/// How long a write waits for another process that is writing, in milliseconds.
pub const BUSY_MS_MAX: u64 = 5_000;

/// Pages that the write-ahead log gathers before they move to the database.
pub const WAL_PAGES_MAX: u32 = 1_000;

/// How long spent tokens, approvals and answers are kept, in milliseconds, so that a late use hears why.
pub const TOKENS_SPENT_KEPT_MS: u64 = 86_400_000;

/// Audit records read at once.
pub const AUDIT_PAGE_RECORDS: u32 = 1_000;

/// Segments of the audit, each of `AUDIT_CHECKPOINT_RECORDS` records, that one pruning step takes out: the records of
/// one archive file, and of one transaction that other writes wait for.
pub const AUDIT_PRUNE_SEGMENTS: u64 = 10;

/// Free pages that one write gives back to the file system after a pruning.
pub const AUDIT_PRUNE_PAGES: u32 = 1_000;

/// How long intents that have ended are kept beside the audit, in milliseconds; those that did not are kept.
pub const INTENTS_KEPT_MS: u64 = 86_400_000;

/// Connections to PostgreSQL, of each process.
pub const POSTGRES_CONNECTIONS: usize = 4;

/// How long a connection to PostgreSQL may take to be made, in milliseconds, unless its URL says.
pub const POSTGRES_CONNECT_MS_MAX: u64 = 10_000;
