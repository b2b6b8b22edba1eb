//! Limits of this crate, each with its unit. LIMITS.md is checked against this file.

/// Maximum bytes of the head of a request or response.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Maximum bytes of a head that a connection remembers, to recognise the same head later.
pub const HEAD_KEPT_BYTES_MAX: usize = 2 * 1024;

/// Maximum header fields of one request or response.
pub const HEADERS_MAX: usize = 100;

/// Maximum empty lines before a head, which some clients send after the previous request.
pub const EMPTY_LINES_MAX: usize = 8;

/// Maximum bytes of the line that begins a chunk, its extensions included.
pub const CHUNK_LINE_BYTES_MAX: usize = 4 * 1024;

/// Maximum bytes of the chunk extensions of one body; nothing here uses them.
pub const CHUNK_EXTENSION_BYTES_MAX: usize = 16 * 1024;

/// Maximum bytes of the trailers of one body, the last empty line included; nothing here uses them.
pub const TRAILER_BYTES_MAX: usize = 16 * 1024;

/// Maximum interim heads (1xx) before one response: one for each second of a call's default deadline.
pub const INTERIM_HEADS_MAX: usize = 64;

/// Maximum bytes of all interim heads (1xx) before one response: as many as one head may have.
pub const INTERIM_BYTES_MAX: usize = 64 * 1024;

/// Bytes of a head, a body or an answer that are not counted towards quotas: 16 KiB per connection, so that an
/// ordinary call takes no lock and is served however much the large ones use.
pub const UNCOUNTED_BYTES_MAX: usize = 16 * 1024;

/// Minimum average rate of a request body over 16 KiB after its grace time, in bytes per second: 32 KiB is slower than
/// any link in use and fast enough that a thousand bodies cannot be held open for nothing.
pub const BODY_RATE_BYTES_MIN: usize = 32 * 1024;

/// Grace time before the minimum rate of a request body applies, in milliseconds: five seconds, for a link that stalls
/// for a moment.
pub const BODY_GRACE_MS: u64 = 5_000;

/// Bytes of a request body that are read before other connections of the thread get a turn.
pub const BODY_TURN_BYTES_MAX: usize = 256 * 1024;

/// Maximum bytes that a client may send ahead of the answer to its last request: several ordinary calls. The rest
/// stays in the socket, so that thousands of connections with a slow call each do not fill the memory.
pub const AHEAD_BYTES_MAX: usize = 16 * 1024;

/// Write timeout: how long a client may accept no byte of its answer, in milliseconds.
pub const WRITE_MS_MAX: u64 = 30_000;

/// Minimum average rate at which a client must accept its answer, in bytes per second, besides `WRITE_MS_MAX`: less
/// than any modem.
pub const WRITE_BYTES_PER_S_MIN: u64 = 4 * 1024;

/// How long the server keeps reading from a client that is still sending after the last answer, in milliseconds.
pub const LINGER_MS_MAX: u64 = 1_000;

/// Maximum bytes that are read from such a client: a whole body of the largest size, so that it gets to read its
/// answer.
pub const LINGER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Maximum connections that linger like this at once; others are closed at once. A thousand refused uploads would be
/// gigabytes to read.
pub const LINGERING_MAX: usize = 16;
