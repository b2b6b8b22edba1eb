//! Limits of this crate, each with its unit. LIMITS.md is checked against this file.

/// Maximum bytes of a request's body, unless the server sets another limit.
pub const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Timeout for receiving a request's body, in milliseconds.
pub const BODY_MS_MAX: u64 = 30_000;

/// Maximum bytes of all request bodies over 16 KiB that are received or processed at once, with their tapes: 128 MiB,
/// so that uploads never decide the size of the process.
pub const BODIES_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Maximum bytes of such bodies of one authenticated subject or one address: half of the total, so that one caller
/// leaves room for others and can still send five bodies of 4 MiB that are costly to parse.
pub const BODIES_BYTES_PER_SHARE_MAX: usize = 64 * 1024 * 1024;

/// Timeout for receiving a request's head, in milliseconds; also the idle timeout of a connection.
pub const HEAD_MS_MAX: u64 = 30_000;

/// Maximum bytes of all request heads over 16 KiB that are received or answered at once: room for 512 heads of the
/// largest size.
pub const HEADS_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Maximum bytes of such heads of one address: half of the total, so that one caller leaves room for others.
pub const HEADS_BYTES_PER_SHARE_MAX: usize = 16 * 1024 * 1024;

/// Maximum open connections; further ones wait to be accepted.
pub const CONNECTIONS_MAX: usize = 10_000;

/// Maximum open connections of one IPv4 address or IPv6 network (/64): half of the total, because behind a reverse
/// proxy and on loopback every client has the same address.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 5_000;

/// Maximum messages of one batch (2025-03-26).
pub const BATCH_MESSAGES_MAX: usize = 100;

/// Bytes of answers after which the remaining requests of a batch are refused and not run: 8 MiB, so that a small
/// batch cannot request a hundred large answers.
pub const BATCH_ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Maximum bytes of answers over 16 KiB and of events that connected clients have not taken yet: 192 MiB. From half of
/// it on new requests are refused; an answer that does not fit is dropped.
pub const ANSWERS_BYTES_MAX: usize = 192 * 1024 * 1024;

/// Maximum bytes of such answers and events of one authenticated subject or one address: four of the largest answers.
pub const ANSWERS_BYTES_PER_SHARE_MAX: usize = 64 * 1024 * 1024;

/// Maximum detached calls: calls of legacy clients that continue without their connection, because a client of that
/// era may come back for the answer. A call over the bound is cancelled when its client disconnects.
pub const DETACHED_CALLS_MAX: usize = 4_096;

/// Maximum detached calls of one authenticated subject or one address.
pub const DETACHED_CALLS_PER_SHARE_MAX: usize = 512;

/// Maximum bytes of events that streams keep so that clients can resume: 64 MiB. Events that do not fit are not kept.
pub const REPLAY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Maximum bytes of such events of one authenticated subject or one address: four of the largest streams.
pub const REPLAY_BYTES_PER_SHARE_MAX: usize = 16 * 1024 * 1024;

/// Maximum open legacy sessions.
pub const SESSIONS_MAX: usize = 10_000;

/// Maximum open legacy sessions of one authenticated subject or one address: half of the total, because behind a
/// reverse proxy every anonymous client has the same address.
pub const SESSIONS_PER_SHARE_MAX: usize = 5_000;

/// Idle time after which a used session may be evicted for a new one, in milliseconds: a minute, longer than the
/// pauses of an active client.
pub const SESSION_IDLE_MS_MIN: u64 = 60_000;

/// Idle timeout of a session in milliseconds.
pub const SESSION_IDLE_MS_MAX: u64 = 1_800_000;

/// Interval of the search for idle sessions, in milliseconds.
pub const SESSION_SWEEP_MS: u64 = 60_000;

/// Maximum resumable streams that one session keeps, finished ones included.
pub const SESSION_STREAMS_MAX: usize = 64;

/// Maximum events that one resumable stream keeps.
pub const STREAM_EVENTS_MAX: usize = 1_024;

/// Maximum bytes of events that one resumable stream keeps.
pub const STREAM_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Interval of keep-alive comments on an open stream, in milliseconds.
pub const KEEP_ALIVE_MS: u64 = 15_000;

/// Maximum age of a preflight answer in a browser's cache, in seconds: two hours, the longest that Chromium allows.
/// The origin of each request is checked all the same.
pub const PREFLIGHT_AGE_S: u64 = 7_200;

/// Grace time for requests in flight when the server stops, in milliseconds.
pub const SHUTDOWN_MS_MAX: u64 = 10_000;

/// Maximum bytes of one line on stdin.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Maximum requests in flight over stdio; further ones are refused.
pub const STDIO_IN_FLIGHT_MAX: usize = 256;

/// Pause of the listener after a failed `accept`, in milliseconds.
pub const ACCEPT_PAUSE_MS: u64 = 50;

/// Maximum bytes of one JSON Web Token; tokens with long lists of groups have up to 8 KiB.
pub const JWT_BYTES_MAX: usize = 16 * 1024;

/// Tolerated difference between the clocks of an issuer and this machine for `exp` and `nbf`, in seconds.
pub const JWT_LEEWAY_S: u64 = 30;

/// Maximum bytes of an issuer's key set: room for a certificate chain with every key.
pub const JWKS_BYTES_MAX: usize = 512 * 1024;

/// Maximum keys of an issuer's key set; large issuers publish about ten.
pub const JWKS_KEYS_MAX: usize = 64;

/// Minimum pause between two fetches of an issuer's key set, in milliseconds, so that tokens with made-up key ids
/// cause no more.
pub const JWKS_REFETCH_MS_MIN: u64 = 10_000;

/// Age at which an issuer's key set is fetched again in any case, in milliseconds, so that withdrawn keys are dropped.
pub const JWKS_AGE_MS_MAX: u64 = 300_000;

/// Interval at which the credentials of open streams, sessions and calls are checked again, in milliseconds. Together
/// with the time in which a process notices a revocation, streams end within 300 ms.
pub const REVOKED_LOOK_MS: u64 = 100;

/// Timeout of a TLS handshake in milliseconds: ten round trips of the slowest link in use.
pub const TLS_HANDSHAKE_MS_MAX: u64 = 10_000;

/// Maximum bytes of a certificate or key file: a chain of four certificates has about 8 KiB.
pub const TLS_FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Interval at which the certificate and key files are checked for a change, in milliseconds.
pub const TLS_LOOK_MS: u64 = 1_000;

/// Maximum requests in flight over HTTP/2 and on connections of trusted proxies, where one connection carries many: as
/// many as there may be connections.
pub const REQUESTS_MAX: usize = 10_000;

/// Maximum requests of that kind of one IPv4 address or IPv6 network (/64): half of the total, as for connections.
pub const REQUESTS_PER_ADDRESS_MAX: usize = 5_000;

/// Maximum concurrent streams of one HTTP/2 connection: the minimum that RFC 9113 recommends.
pub const HTTP2_STREAMS_MAX: u32 = 100;

/// Maximum bytes of the header list of an HTTP/2 request, counted by RFC 9113 section 6.5.2: as many as an HTTP/1
/// head.
pub const HTTP2_HEADER_LIST_BYTES_MAX: u32 = 64 * 1024;

/// Maximum streams that an HTTP/2 client may reset before the server has processed them; over it the connection is
/// closed (CVE-2023-44487, rapid reset).
pub const HTTP2_PENDING_RESETS_MAX: usize = 20;

/// Maximum streams that the server resets on one HTTP/2 connection because of a client's protocol errors; over it the
/// connection is closed (CVE-2025-8671, made you reset).
pub const HTTP2_ERROR_RESETS_MAX: usize = 64;

/// Flow-control window of one HTTP/2 request body in bytes.
pub const HTTP2_STREAM_WINDOW_BYTES: u32 = 64 * 1024;

/// Flow-control window of one HTTP/2 connection in bytes, for all its request bodies.
pub const HTTP2_CONNECTION_WINDOW_BYTES: u32 = 256 * 1024;
