//! Limits of this crate, each with its unit. LIMITS.md is checked against this file.

/// Maximum writes that share one commit.
pub const GROUP_WRITES_MAX: usize = 256;

/// Maximum writes in the queue; further ones are refused.
pub const WRITES_WAITING_MAX: usize = 16_384;

/// Maximum reads in the queue; further ones are refused.
pub const READS_WAITING_MAX: usize = 16_384;

/// Reader threads per database.
pub const READERS: usize = 2;

/// How long a write waits for another process that is writing, in milliseconds.
pub const BUSY_MS_MAX: u64 = 5_000;

/// Pages of the write-ahead log at which SQLite moves it to the database.
pub const WAL_PAGES_MAX: u32 = 1_000;

/// How long spent tokens, approvals and answers are kept, in milliseconds, so that a late use is refused with its
/// reason.
pub const TOKENS_SPENT_KEPT_MS: u64 = 86_400_000;

/// Audit records per page of a read.
pub const AUDIT_PAGE_RECORDS: u32 = 1_000;

/// Audit segments, each of `AUDIT_CHECKPOINT_RECORDS` records, that one pruning step removes: the records of one
/// archive file, and of one transaction that other writes wait for.
pub const AUDIT_PRUNE_SEGMENTS: u64 = 10;

/// Free pages that one write returns to the file system after a pruning.
pub const AUDIT_PRUNE_PAGES: u32 = 1_000;

/// How long intents that have ended are kept beside the audit, in milliseconds; open and unknown ones are kept for
/// good.
pub const INTENTS_KEPT_MS: u64 = 86_400_000;

/// Connections to PostgreSQL per process.
pub const POSTGRES_CONNECTIONS: usize = 4;

/// Connect timeout of PostgreSQL in milliseconds, unless the URL sets one.
pub const POSTGRES_CONNECT_MS_MAX: u64 = 10_000;
