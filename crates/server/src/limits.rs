//! Every limit of this crate, with its unit. LIMITS.md is checked against this file.

/// Bytes of a request's body, unless the server says otherwise.
pub const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How long a request's body may take to arrive, in milliseconds.
pub const BODY_MS_MAX: u64 = 30_000;

/// Bytes of all request bodies over 16 KiB that are received or worked on at once, with the tapes they are read into:
/// 128 MiB, so that uploads never decide the size of the process.
pub const BODIES_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Bytes of the same for one authenticated subject or one address: half of all, so that one caller leaves room for
/// others and can still send five bodies of 4 MiB that are costly to read.
pub const BODIES_BYTES_PER_SHARE_MAX: usize = 64 * 1024 * 1024;

/// How long a request's head may take to arrive, in milliseconds; also how long an idle connection is kept.
pub const HEAD_MS_MAX: u64 = 30_000;

/// Bytes of all request heads over 16 KiB that are received or answered at once: room for 512 heads of the largest
/// size.
pub const HEADS_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Bytes of request heads over 16 KiB for one address: half of all, so that one caller leaves room for others.
pub const HEADS_BYTES_PER_SHARE_MAX: usize = 16 * 1024 * 1024;

/// Connections open at once; further ones wait to be accepted.
pub const CONNECTIONS_MAX: usize = 10_000;

/// Connections open at once from one IPv4 address or IPv6 network (/64): half of all, because behind a reverse proxy
/// and on loopback every client has the same address.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 5_000;

/// Messages of one batch (2025-03-26).
pub const BATCH_MESSAGES_MAX: usize = 100;

/// Bytes of answers after which the remaining requests of a batch are refused instead of run: 8 MiB, so that a small
/// batch cannot ask for a hundred large answers.
pub const BATCH_ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Bytes of answers over 16 KiB and of events that connected clients have not taken yet: 192 MiB. From half
/// of it on new requests are refused; an answer that does not fit is dropped.
pub const ANSWERS_BYTES_MAX: usize = 192 * 1024 * 1024;

/// Bytes of the same for one authenticated subject or one address: four of the largest answers.
pub const ANSWERS_BYTES_PER_SHARE_MAX: usize = 64 * 1024 * 1024;

/// Calls of legacy clients that go on without their connection: a client of that era may come back for the answer, so
/// hanging up does not cancel its call. Over the bound it does.
pub const DETACHED_CALLS_MAX: usize = 4_096;

/// Calls of the same kind of one authenticated subject or one address.
pub const DETACHED_CALLS_PER_SHARE_MAX: usize = 512;

/// Bytes of events that streams keep for clients that come back: 64 MiB. Kept for convenience: what does not fit is not
/// kept.
pub const REPLAY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of the same for one authenticated subject or one address: four of the largest streams.
pub const REPLAY_BYTES_PER_SHARE_MAX: usize = 16 * 1024 * 1024;

/// Legacy sessions open at once.
pub const SESSIONS_MAX: usize = 10_000;

/// Legacy sessions open at once of one authenticated subject or one address: half of all, because behind a reverse
/// proxy every anonymous client has the same address.
pub const SESSIONS_PER_SHARE_MAX: usize = 5_000;

/// How long a used session must be idle before it makes room for a new one, in milliseconds: a minute, longer than a
/// client that works pauses.
pub const SESSION_IDLE_MS_MIN: u64 = 60_000;

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

/// How long a browser may keep the answer to a preflight, in seconds: two hours, the longest that Chromium keeps one. The
/// origin of each request is checked all the same.
pub const PREFLIGHT_AGE_S: u64 = 7_200;

/// How long requests under way may take to finish when the server stops, in milliseconds.
pub const SHUTDOWN_MS_MAX: u64 = 10_000;

/// Bytes of one line on stdin.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Requests under way at once over stdio; further ones are refused.
pub const STDIO_IN_FLIGHT_MAX: usize = 256;

/// How long a failed `accept` pauses the listener, in milliseconds.
pub const ACCEPT_PAUSE_MS: u64 = 50;

/// Bytes of one JSON Web Token; tokens with long lists of groups have up to 8 KiB.
pub const JWT_BYTES_MAX: usize = 16 * 1024;

/// Seconds by which the clocks of an issuer and of this machine may differ, for `exp` and `nbf`.
pub const JWT_LEEWAY_S: u64 = 30;

/// Bytes of an issuer's key set: room for every key to bring a chain of certificates.
pub const JWKS_BYTES_MAX: usize = 512 * 1024;

/// Keys of an issuer's key set; large issuers publish about ten.
pub const JWKS_KEYS_MAX: usize = 64;

/// Pause between two fetches of an issuer's key set, in milliseconds, so that tokens with made-up key ids cause no more.
pub const JWKS_REFETCH_MS_MIN: u64 = 10_000;

/// Age at which an issuer's key set is fetched again without a reason, in milliseconds, so that withdrawn keys go.
pub const JWKS_AGE_MS_MAX: u64 = 300_000;

/// How often the credentials of open streams, sessions and calls are looked at again, in milliseconds: with the time in
/// which a process notices a revoked credential, its streams end within 300 ms.
pub const REVOKED_LOOK_MS: u64 = 100;

/// How long a TLS handshake may take, in milliseconds: ten round trips of the slowest link in use.
pub const TLS_HANDSHAKE_MS_MAX: u64 = 10_000;

/// Bytes of a certificate or key file: a chain of four certificates has about 8 KiB.
pub const TLS_FILE_BYTES_MAX: u64 = 1024 * 1024;

/// How often the certificate and key files are looked at for a change, in milliseconds.
pub const TLS_LOOK_MS: u64 = 1_000;

/// Requests under way at once over HTTP/2 and on connections of trusted proxies, where one connection carries many: as
/// many as there may be connections.
pub const REQUESTS_MAX: usize = 10_000;

/// Requests of the same kind from one IPv4 address or IPv6 network (/64): half of all, as for connections.
pub const REQUESTS_PER_ADDRESS_MAX: usize = 5_000;

/// Concurrent streams of one HTTP/2 connection: the least that RFC 9113 recommends.
pub const HTTP2_STREAMS_MAX: u32 = 100;

/// Bytes of the header list of an HTTP/2 request, counted as RFC 9113 section 6.5.2 does: as much as an HTTP/1 head.
pub const HTTP2_HEADER_LIST_BYTES_MAX: u32 = 64 * 1024;

/// Streams that an HTTP/2 client may reset before the server has looked at them; over it the connection is closed
/// (CVE-2023-44487, rapid reset).
pub const HTTP2_PENDING_RESETS_MAX: usize = 20;

/// Streams that the server resets on one HTTP/2 connection because of a client's protocol errors; over it the connection
/// is closed (CVE-2025-8671, made you reset).
pub const HTTP2_ERROR_RESETS_MAX: usize = 64;

/// Bytes of one HTTP/2 request body that a client may send before they are read.
pub const HTTP2_STREAM_WINDOW_BYTES: u32 = 64 * 1024;

/// Bytes of all request bodies of one HTTP/2 connection that the client may send before they are read.
pub const HTTP2_CONNECTION_WINDOW_BYTES: u32 = 256 * 1024;
