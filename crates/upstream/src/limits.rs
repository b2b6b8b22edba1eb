//! Every limit of this crate, with its unit. LIMITS.md is checked against this file.

/// How long a server may take to start, and again to list what it has, in milliseconds, unless the operator says otherwise.
pub const UPSTREAM_START_MS_MAX: u64 = 60_000;

/// How long a server is given to show its era or its transport before another is tried, in milliseconds.
pub const UPSTREAM_DISCOVER_MS_MAX: u64 = 3_000;

/// How long one call may take, in milliseconds, unless the operator says otherwise; time spent asking is not counted.
pub const UPSTREAM_CALL_MS_MAX: u64 = 60_000;

/// How long one page of a list may take, in milliseconds.
pub const UPSTREAM_LIST_MS_MAX: u64 = 30_000;

/// Bytes of one message from a server.
pub const UPSTREAM_MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Values and keys of one message from a server.
pub const UPSTREAM_MESSAGE_NODES_MAX: usize = 1024 * 1024;

/// Bytes of an answer above which it is large: a server's large answers are read one at a time, with pauses.
pub const UPSTREAM_LARGE_BYTES: usize = 1024 * 1024;

/// Bytes of a large answer that are read before a pause.
pub const UPSTREAM_TURN_BYTES_MAX: usize = 256 * 1024;

/// The same for a stream of events, which may be meant to have no end.
pub const UPSTREAM_STREAM_TURN_BYTES_MAX: usize = 64 * 1024;

/// How long such a pause is, so that one server's large answers cost the others nothing.
pub const UPSTREAM_TURN_PAUSE_MS: u64 = 1;

/// Bytes of everything a server may send in answer to one call, notifications included.
pub const UPSTREAM_STREAM_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of the id of a server-sent event that is kept to take up a broken stream; a longer one is not kept.
pub const UPSTREAM_EVENT_ID_BYTES_MAX: usize = 4 * 1024;

/// Messages besides the answer that wait for one call over stdio; further notifications are dropped.
pub const UPSTREAM_CALL_EVENTS_MAX: usize = 64;

/// Messages that no call waits for, and lines that are no messages, that are read from a server in one go; then it is
/// not read for a moment.
pub const UPSTREAM_NOTICES_MAX: usize = 1_000;

/// Bytes of such messages that are read in one go: about as long to read as `UPSTREAM_NOTICES_MAX` small ones.
pub const UPSTREAM_NOTICES_BYTES_MAX: usize = 1024 * 1024;

/// How long that moment is, in milliseconds.
pub const UPSTREAM_NOTICES_PAUSE_MS: u64 = 20;

/// Calls under way at one server; further ones are refused.
pub const UPSTREAM_IN_FLIGHT_MAX: usize = 1_024;

/// Messages that wait to be written to a stdio server.
pub const UPSTREAM_WRITES_MAX: usize = 1_024;

/// Tools, prompts, resources or templates of one server, each.
pub const UPSTREAM_ITEMS_MAX: usize = 10_000;

/// Pages of one list.
pub const UPSTREAM_PAGES_MAX: usize = 1_000;

/// Bytes of all lists of one server together: they are held several times over while a changed list takes the place of
/// an old one, and all of it has to stay below 64 MiB. The largest list known is 92 KB.
pub const UPSTREAM_LIST_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Values and keys of all lists of one server together, 16 bytes each in memory.
pub const UPSTREAM_LIST_NODES_MAX: usize = 256 * 1024;

/// Idle connections kept to one HTTP server by one thread.
pub const UPSTREAM_IDLE_CONNECTIONS_MAX: usize = 128;

/// How long an idle connection is kept, in milliseconds: less than servers commonly do.
pub const UPSTREAM_IDLE_MS_MAX: u64 = 4_000;

/// How long a TCP and TLS connection may take to be made, in milliseconds.
pub const UPSTREAM_CONNECT_MS_MAX: u64 = 10_000;

/// How long an address that does not answer delays the attempt to connect to the next one, in milliseconds: RFC 8305
/// recommends 250.
pub const CONNECT_STAGGER_MS: u64 = 250;

/// Addresses of one host that are tried.
pub const ADDRESSES_MAX: usize = 16;

/// Redirects of one request that are followed; servers that add a slash need one.
pub const UPSTREAM_REDIRECTS_MAX: usize = 3;

/// TLS configurations that are kept for servers with the same files, about 200 KB each with the system's certificates.
pub const TLS_CONFIGS_MAX: usize = 64;

/// Bytes of one HTTP/2 stream that a server may send ahead of its reader.
pub const UPSTREAM_HTTP2_STREAM_WINDOW_BYTES: u32 = 256 * 1024;

/// Bytes of one HTTP/2 connection that a server may send ahead of its readers: 4 MiB, so that a thousand streams that
/// nobody reads do not fill the memory.
pub const UPSTREAM_HTTP2_WINDOW_BYTES: u32 = 4 * 1024 * 1024;

/// How long a child is given to end by itself after its stdin is closed, in milliseconds.
pub const UPSTREAM_STOP_MS_MAX: u64 = 1_000;

/// How long a child is given to end after SIGTERM, in milliseconds; then its process group is killed.
pub const UPSTREAM_TERM_MS_MAX: u64 = 1_000;

/// How long a message that nobody waits for may take to be sent over HTTP, in milliseconds.
pub const UPSTREAM_ASIDE_MS_MAX: u64 = 5_000;

/// The first pause before a failed server is tried again, in milliseconds; each further one is twice as long.
pub const UPSTREAM_RETRY_MS_MIN: u64 = 200;

/// The longest pause before a failed server is tried again, in milliseconds.
pub const UPSTREAM_RETRY_MS_MAX: u64 = 30_000;

/// How long a server has to hold before the pauses start small again, in milliseconds.
pub const UPSTREAM_STEADY_MS_MIN: u64 = 10_000;

/// How long a call waits for a server that is starting, in milliseconds.
pub const UPSTREAM_READY_MS_MAX: u64 = 5_000;

/// Failures in a row after which no call is sent for a while.
pub const BREAKER_FAILURES_MAX: u32 = 5;

/// How long no call is sent then, in milliseconds.
pub const BREAKER_OPEN_MS: u64 = 2_000;

/// How long changes of a server's lists are gathered before it is asked again, in milliseconds.
pub const UPSTREAM_RELIST_MS_MIN: u64 = 250;

/// How often a broken answer stream of a legacy server is taken up again.
pub const UPSTREAM_RESUMES_MAX: usize = 8;

/// Calls that wait for a person's answer, per server.
pub const PARKED_MAX: usize = 256;

/// How long such a call waits, in milliseconds.
pub const PARKED_MS_MAX: u64 = 300_000;

/// How long an authorization server may take to answer, in milliseconds.
pub const OAUTH_ANSWER_MS_MAX: u64 = 10_000;

/// Bytes of a document that the configuration names (the keys of an issuer), or of a collector's answer.
pub const DOCUMENT_BYTES_MAX: usize = 1024 * 1024;

/// How long such a document may take, in milliseconds.
pub const DOCUMENT_MS_MAX: u64 = 10_000;

/// Bytes of the body of a server's refusal; a longer one is not looked at.
pub const UPSTREAM_REFUSAL_BYTES_MAX: usize = 256 * 1024;

/// Lines on a server's stdout that are no messages; one more, and it is no MCP server.
pub const UPSTREAM_GARBAGE_LINES_MAX: u64 = 1_000;

/// Bytes of an authorization server's answer.
pub const OAUTH_ANSWER_BYTES_MAX: usize = 256 * 1024;

/// How long a person is given to log in with the browser, in milliseconds.
pub const LOGIN_MS_MAX: u64 = 300_000;

/// Bytes of the request that a browser comes back with.
pub const LOGIN_REQUEST_BYTES_MAX: usize = 16 * 1024;

/// Questions one call may ask.
pub const CALL_QUESTIONS_MAX: usize = 16;

/// Characters of a line on stderr that are logged.
pub const STDERR_LINE_CHARS_MAX: usize = 2_000;
