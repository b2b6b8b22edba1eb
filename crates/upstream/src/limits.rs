//! Limits of this crate, each with its unit. LIMITS.md is checked against this file.

/// Timeout for a server to start, and again to list what it has, in milliseconds, unless the operator sets another.
pub const UPSTREAM_START_MS_MAX: u64 = 60_000;

/// Timeout for detecting a server's era or transport before another is tried, in milliseconds.
pub const UPSTREAM_DISCOVER_MS_MAX: u64 = 3_000;

/// Timeout of one call in milliseconds, unless the operator sets another; time that a person takes to answer is not
/// counted.
pub const UPSTREAM_CALL_MS_MAX: u64 = 60_000;

/// Timeout of one page of a list in milliseconds.
pub const UPSTREAM_LIST_MS_MAX: u64 = 30_000;

/// Maximum bytes of one message from a server.
pub const UPSTREAM_MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Maximum values and keys of one message from a server.
pub const UPSTREAM_MESSAGE_NODES_MAX: usize = 1024 * 1024;

/// Bytes above which an answer is large: a server's large answers are read one at a time, with pauses.
pub const UPSTREAM_LARGE_BYTES: usize = 1024 * 1024;

/// Bytes of a large answer that are read before a pause.
pub const UPSTREAM_TURN_BYTES_MAX: usize = 256 * 1024;

/// Bytes of a stream of events that are read before a pause; a stream may be meant to have no end.
pub const UPSTREAM_STREAM_TURN_BYTES_MAX: usize = 64 * 1024;

/// Length of such a pause in milliseconds, so that one server's large answers cost the others nothing.
pub const UPSTREAM_TURN_PAUSE_MS: u64 = 1;

/// Maximum bytes of everything that a server sends in answer to one call, notifications included.
pub const UPSTREAM_STREAM_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Maximum bytes of the id of a server-sent event that is kept to resume a broken stream; a longer one is not kept.
pub const UPSTREAM_EVENT_ID_BYTES_MAX: usize = 4 * 1024;

/// Maximum messages besides the answer that are queued for one call over stdio; further notifications are dropped.
pub const UPSTREAM_CALL_EVENTS_MAX: usize = 64;

/// Unsolicited messages, and lines that are not messages, that are read from a server before a pause.
pub const UPSTREAM_NOTICES_MAX: usize = 1_000;

/// Bytes of such messages that are read before a pause: about as long to read as `UPSTREAM_NOTICES_MAX` small ones.
pub const UPSTREAM_NOTICES_BYTES_MAX: usize = 1024 * 1024;

/// Length of that pause in milliseconds.
pub const UPSTREAM_NOTICES_PAUSE_MS: u64 = 20;

/// Maximum calls in flight at one server; further ones are refused.
pub const UPSTREAM_IN_FLIGHT_MAX: usize = 1_024;

/// Maximum messages in the write queue of a stdio server.
pub const UPSTREAM_WRITES_MAX: usize = 1_024;

/// Maximum tools, prompts, resources or templates of one server, each.
pub const UPSTREAM_ITEMS_MAX: usize = 10_000;

/// Maximum pages of one list.
pub const UPSTREAM_PAGES_MAX: usize = 1_000;

/// Maximum bytes of all lists of one server together: they are in memory several times while a changed list replaces
/// an old one, and all copies have to stay below 64 MiB. The largest list known is 92 KB.
pub const UPSTREAM_LIST_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Maximum values and keys of all lists of one server together, 16 bytes each in memory.
pub const UPSTREAM_LIST_NODES_MAX: usize = 256 * 1024;

/// Maximum idle connections to one HTTP server per thread.
pub const UPSTREAM_IDLE_CONNECTIONS_MAX: usize = 128;

/// Maximum time that a connection was not used before it is used again, in milliseconds: less than servers commonly allow.
pub const UPSTREAM_IDLE_MS_MAX: u64 = 4_000;

/// Timeout for a TCP connect and TLS handshake in milliseconds.
pub const UPSTREAM_CONNECT_MS_MAX: u64 = 10_000;

/// Delay before the next address of a host is tried if the previous one does not answer, in milliseconds: RFC 8305
/// recommends 250.
pub const CONNECT_STAGGER_MS: u64 = 250;

/// Maximum addresses of one host that are tried.
pub const ADDRESSES_MAX: usize = 16;

/// Maximum redirects that one request follows; servers that add a slash need one.
pub const UPSTREAM_REDIRECTS_MAX: usize = 3;

/// Maximum cached TLS configurations, about 200 KB each with the system's certificates.
pub const TLS_CONFIGS_MAX: usize = 64;

/// Flow-control window of one HTTP/2 stream in bytes.
pub const UPSTREAM_HTTP2_STREAM_WINDOW_BYTES: u32 = 256 * 1024;

/// Flow-control window of one HTTP/2 connection in bytes: 4 MiB, so that a thousand unread streams do not fill the
/// memory.
pub const UPSTREAM_HTTP2_WINDOW_BYTES: u32 = 4 * 1024 * 1024;

/// Silence on an HTTP/2 connection with open streams after which a PING is sent, in milliseconds.
pub const UPSTREAM_HTTP2_PING_MS: u64 = 10_000;

/// Timeout for the answer to that PING in milliseconds; then the connection is closed and its calls fail.
pub const UPSTREAM_HTTP2_PONG_MS_MAX: u64 = 5_000;

/// Maximum bytes of the brotli windows of one server's bodies together; further bodies wait. A window is up to 16 MiB,
/// and 4 MiB with common settings.
pub const UPSTREAM_WINDOWS_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Maximum compressed bytes that decompress to nothing, or nearly nothing: an endless header or empty blocks.
pub const UPSTREAM_COMPRESSED_BYTES_MAX: usize = 256 * 1024;

/// Grace time for a child process to exit after its stdin was closed, in milliseconds.
pub const UPSTREAM_STOP_MS_MAX: u64 = 1_000;

/// Grace time for a child process to exit after SIGTERM, in milliseconds; then its process group is killed.
pub const UPSTREAM_TERM_MS_MAX: u64 = 1_000;

/// Timeout for sending a message that no task waits for over HTTP, in milliseconds.
pub const UPSTREAM_ASIDE_MS_MAX: u64 = 5_000;

/// First backoff before a failed server is retried, in milliseconds; doubled for each further one.
pub const UPSTREAM_RETRY_MS_MIN: u64 = 200;

/// Maximum backoff before a failed server is retried, in milliseconds.
pub const UPSTREAM_RETRY_MS_MAX: u64 = 30_000;

/// How long a server has to run before the backoff is reset, in milliseconds.
pub const UPSTREAM_STEADY_MS_MIN: u64 = 10_000;

/// How long a call waits for a server that is starting, in milliseconds.
pub const UPSTREAM_READY_MS_MAX: u64 = 5_000;

/// Consecutive failures that open the circuit breaker.
pub const BREAKER_FAILURES_MAX: u32 = 5;

/// How long the circuit breaker stays open, in milliseconds.
pub const BREAKER_OPEN_MS: u64 = 2_000;

/// Delay after a server's list changed before it is listed again, in milliseconds; further changes are batched.
pub const UPSTREAM_RELIST_MS_MIN: u64 = 250;

/// Maximum times that a broken response stream of a legacy server is resumed.
pub const UPSTREAM_RESUMES_MAX: usize = 8;

/// Maximum parked calls per server: calls that wait for a person's answer.
pub const PARKED_MAX: usize = 256;

/// How long a call stays parked, in milliseconds.
pub const PARKED_MS_MAX: u64 = 300_000;

/// Timeout of a request to an authorization server in milliseconds.
pub const OAUTH_ANSWER_MS_MAX: u64 = 10_000;

/// Maximum bytes of a document that the configuration names (the keys of an issuer), or of a collector's response.
pub const DOCUMENT_BYTES_MAX: usize = 1024 * 1024;

/// Timeout of such a document in milliseconds.
pub const DOCUMENT_MS_MAX: u64 = 10_000;

/// Maximum bytes of the body of a server's refusal; a longer one is not read.
pub const UPSTREAM_REFUSAL_BYTES_MAX: usize = 256 * 1024;

/// Maximum lines on a server's stdout that are not messages; with one more it is not taken for an MCP server.
pub const UPSTREAM_GARBAGE_LINES_MAX: u64 = 1_000;

/// Maximum bytes of an authorization server's response.
pub const OAUTH_ANSWER_BYTES_MAX: usize = 256 * 1024;

/// How long a person has to log in with the browser, in milliseconds.
pub const LOGIN_MS_MAX: u64 = 300_000;

/// Maximum bytes of the request with which a browser returns from a login.
pub const LOGIN_REQUEST_BYTES_MAX: usize = 16 * 1024;

/// Maximum questions that one call may ask.
pub const CALL_QUESTIONS_MAX: usize = 16;

/// Maximum characters of a line on stderr that are logged.
pub const STDERR_LINE_CHARS_MAX: usize = 2_000;
