//! Every limit of this crate, with its unit. LIMITS.md is checked against this file.

/// Bytes of a request's body, unless the server says otherwise.
pub const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How long a request's body may take to arrive, in milliseconds.
pub const BODY_MS_MAX: u64 = 30_000;

/// How long a request's head may take to arrive, in milliseconds; also how long an idle connection is kept.
pub const HEAD_MS_MAX: u64 = 30_000;

/// Bytes of a request's head.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Bytes of a head that a connection keeps in mind, to know it when it comes again.
pub const HEAD_KEPT_BYTES_MAX: usize = 2 * 1024;

/// Headers of one request.
pub const HEADERS_MAX: usize = 100;

/// Empty lines before a request's head, which some clients send behind the request before.
pub const EMPTY_LINES_MAX: usize = 8;

/// Bytes of the line that begins a chunk of a request's body, its extensions included.
pub const CHUNK_LINE_BYTES_MAX: usize = 4 * 1024;

/// Bytes of the chunk extensions of one request, which nothing here uses.
pub const CHUNK_EXTENSION_BYTES_MAX: usize = 16 * 1024;

/// Bytes of the trailers of one request, its last empty line included; nothing here uses them.
pub const TRAILER_BYTES_MAX: usize = 16 * 1024;

/// Bytes of a request's body that are read before other connections of the thread have a turn.
pub const BODY_TURN_BYTES_MAX: usize = 256 * 1024;

/// Connections open at once; further ones wait to be accepted.
pub const CONNECTIONS_MAX: usize = 10_000;

/// Messages of one batch (2025-03-26).
pub const BATCH_MESSAGES_MAX: usize = 100;

/// Legacy sessions open at once.
pub const SESSIONS_MAX: usize = 10_000;

/// How long an unused session is kept, in milliseconds.
pub const SESSION_IDLE_MS_MAX: u64 = 1_800_000;

/// How often unused sessions are looked for, in milliseconds.
pub const SESSION_SWEEP_MS: u64 = 60_000;

/// Resumable streams one session keeps, finished ones included.
pub const SESSION_STREAMS_MAX: usize = 64;

/// Events one resumable stream keeps.
pub const STREAM_EVENTS_MAX: usize = 1_024;

/// Bytes of events one resumable stream keeps.
pub const STREAM_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How often an open stream says that it is alive, in milliseconds.
pub const KEEP_ALIVE_MS: u64 = 15_000;

/// How long requests under way may take to finish when the server stops, in milliseconds.
pub const SHUTDOWN_MS_MAX: u64 = 10_000;

/// Bytes of one line on stdin.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Requests under way at once over stdio; further ones are refused.
pub const STDIO_IN_FLIGHT_MAX: usize = 256;

/// How long a failed `accept` pauses the listener, in milliseconds.
pub const ACCEPT_PAUSE_MS: u64 = 50;

/// Bytes a client may send ahead of the answer to its last request.
pub const AHEAD_BYTES_MAX: usize = 64 * 1024;

/// How long a client may take nothing of its answer, in milliseconds.
pub const WRITE_MS_MAX: u64 = 30_000;

/// Bytes of its answer that a client must take in a second on average, besides `WRITE_MS_MAX`: less than any modem.
pub const WRITE_BYTES_PER_S_MIN: u64 = 4 * 1024;

/// How long a client that is still sending is listened to after the last answer, in milliseconds.
pub const LINGER_MS_MAX: u64 = 1_000;
