//! Every limit of this crate, with its unit. LIMITS.md is checked against this file.

/// Bytes of the head of a request or of a response.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Bytes of a head that a connection remembers, to recognise it when it comes again.
pub const HEAD_KEPT_BYTES_MAX: usize = 2 * 1024;

/// Header fields of one request or response.
pub const HEADERS_MAX: usize = 100;

/// Empty lines before a head, which some clients send behind the request before.
pub const EMPTY_LINES_MAX: usize = 8;

/// Bytes of the line that begins a chunk, its extensions included.
pub const CHUNK_LINE_BYTES_MAX: usize = 4 * 1024;

/// Bytes of the chunk extensions of one body, which nothing here uses.
pub const CHUNK_EXTENSION_BYTES_MAX: usize = 16 * 1024;

/// Bytes of the trailers of one body, its last empty line included; nothing here uses them.
pub const TRAILER_BYTES_MAX: usize = 16 * 1024;

/// Interim heads (1xx) before one response: one for each second of a call's default deadline.
pub const INTERIM_HEADS_MAX: usize = 64;

/// Bytes of all interim heads (1xx) before one response: as much as one head may have.
pub const INTERIM_BYTES_MAX: usize = 64 * 1024;

/// Bytes of a head, a body or an answer that are not counted: 16 KiB per connection, so that an ordinary call takes no
/// lock and is served however much the large ones use.
pub const UNCOUNTED_BYTES_MAX: usize = 16 * 1024;

/// Bytes per second that a request body over 16 KiB must bring on average after its grace time: 32 KiB, slower than any
/// link that is in use and too fast to hold a thousand bodies open for nothing.
pub const BODY_RATE_BYTES_MIN: usize = 32 * 1024;

/// Grace time before the rate of a request body counts, in milliseconds: five seconds, for a link that stalls for a
/// moment.
pub const BODY_GRACE_MS: u64 = 5_000;

/// Bytes of a request body that are read before other connections of the thread have a turn.
pub const BODY_TURN_BYTES_MAX: usize = 256 * 1024;

/// Bytes a client may send ahead of the answer to its last request: several ordinary calls. The rest waits in the
/// socket, so that thousands of connections with a slow call each do not fill the memory.
pub const AHEAD_BYTES_MAX: usize = 16 * 1024;

/// How long a client may take nothing of its answer, in milliseconds.
pub const WRITE_MS_MAX: u64 = 30_000;

/// Bytes of its answer that a client must take in a second on average, besides `WRITE_MS_MAX`: less than any modem.
pub const WRITE_BYTES_PER_S_MIN: u64 = 4 * 1024;

/// How long a client that is still sending is listened to after the last answer, in milliseconds.
pub const LINGER_MS_MAX: u64 = 1_000;

/// Bytes that are read from such a client: a whole body of the largest size, so that it reads its answer.
pub const LINGER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Connections that are listened to in that way at once; others are closed at once. A thousand refused uploads would be
/// gigabytes to read.
pub const LINGERING_MAX: usize = 16;
