//! Every limit of this crate, with its unit. LIMITS.md is checked against this file.

/// Maximum frames queued in one exchange for its client; further notifications are dropped, further questions
/// refused.
pub const OUTBOX_FRAMES_MAX: usize = 1_024;

/// Maximum bytes queued in one exchange for its client.
pub const OUTBOX_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes queued in one exchange that are not counted for its caller: the messages of an ordinary call, 16 KiB, need
/// no lock that threads share.
pub const OUTBOX_UNCOUNTED_BYTES_MAX: usize = 16 * 1024;

/// Deadline of a handler in milliseconds, unless the server sets another.
pub const CALL_MS_MAX: u64 = 600_000;

/// Maximum time that a legacy client may take to answer a question, in milliseconds.
pub const ASK_MS_MAX: u64 = 300_000;

/// Maximum questions that one call may ask at once.
pub const QUESTIONS_MAX: usize = 32;

/// Maximum characters of a client's `tracestate` that is passed on; a longer one is left out.
pub const TRACESTATE_CHARS_MAX: usize = 512;

/// Validity of a sealed request state, in milliseconds.
pub const STATE_MS_MAX: u64 = 600_000;

/// Maximum bytes of a sealed request state, before base64.
pub const STATE_BYTES_MAX: usize = 256 * 1024;

/// Maximum bytes of a tool's answer.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Maximum bytes of a message that is parsed on a serving thread: about a millisecond. Longer messages are parsed on
/// the long-work thread.
pub const READ_BRIEF_BYTES_MAX: usize = 256 * 1024;

/// Maximum pieces of long work (large messages, costly checks) that wait for their thread; further ones are refused.
pub const LONG_WORK_WAITING_MAX: usize = 64;

/// Maximum time that a call waits for a piece of long work, in milliseconds.
pub const LONG_WORK_MS_MAX: u64 = 10_000;

/// Maximum requests in flight of one session or connection.
pub const IN_FLIGHT_MAX: usize = 1_024;

/// Maximum resource URIs that one session or listen stream may follow.
pub const SUBSCRIPTIONS_MAX: usize = 1_024;

/// Maximum bytes for the resource URIs that all clients follow: 32 MiB. A URI of 100 bytes takes 328.
pub const SUBSCRIPTION_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Maximum bytes for the resource URIs that one authenticated subject or one address follows.
pub const SUBSCRIPTION_BYTES_PER_SHARE_MAX: usize = 4 * 1024 * 1024;

/// Time in milliseconds during which changes are gathered into one notification.
pub const CHANGE_BATCH_MS: u64 = 20;

/// Maximum items of one page of a list, unless the server sets another number.
pub const PAGE_ITEMS_MAX: usize = 10_000;

/// Maximum bytes of a URI from a client. Ordinary URIs are far shorter, and the work of matching is proportional to
/// the length.
pub const URI_BYTES_MAX: usize = 8 * 1024;

/// Maximum bytes of a resource template's URI template; none in use comes near it.
pub const TEMPLATE_BYTES_MAX: usize = 2 * 1024;

/// Maximum variables of one URI template; the work of matching is proportional to their number.
pub const TEMPLATE_VARIABLES_MAX: usize = 32;

/// Maximum steps (a character compared for one part of a template) that one request may spend on matching its URIs
/// against templates: about 25 ms of CPU, enough for 100 characters and 10,000 templates.
pub const TEMPLATE_STEPS_MAX: usize = 8 * 1024 * 1024;

/// Steps of matching after which a request yields to the other requests of its thread; about 1 ms.
pub const TEMPLATE_STEPS_AT_ONCE: usize = 256 * 1024;

/// Maximum values of one completion (the specification's own limit).
pub const COMPLETION_VALUES_MAX: usize = 100;

/// Maximum views cached for one state of the registry; further ones are built on each request.
pub const VIEWS_MAX: usize = 1_024;

/// Maximum estimated bytes of views cached for one state of the registry.
pub const VIEWS_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Maximum toolsets named in the description of `search_tools` and in the instructions.
pub const TOOLSETS_NAMED_MAX: usize = 40;

/// Maximum profiles in the memory store.
pub const PROFILES_MAX: usize = 100_000;

/// Maximum results of one `search_tools`.
pub const SEARCH_RESULTS_MAX: usize = 50;

/// Time that a modern client may cache a public list, in milliseconds, unless the server sets another.
pub const LIST_TTL_MS: u64 = 60_000;

/// Maximum tools remembered as quarantined for their text.
pub const QUARANTINED_MAX: usize = 10_000;

/// Lifetime of a confirmation token in milliseconds, unless the policy sets another.
pub const TOKEN_MS: u64 = 60_000;

/// Shares that all anonymous callers of one address have together: a proxy or a household has a few clients, and
/// opening more sessions must not multiply a share without end.
pub const ADDRESS_SHARES_MAX: usize = 4;

/// Maximum tokens issued to one share (a subject, an anonymous session, or an address) within a minute, unless the
/// policy sets another number.
pub const TOKENS_PER_MINUTE_MAX: u32 = 120;

/// Maximum tokens issued to all callers within a minute, half of them to anonymous ones: each is a row that is kept
/// for a day.
pub const TOKENS_PER_MINUTE_TOTAL_MAX: usize = 3_840;

/// Maximum characters of a token's summary.
pub const SUMMARY_CHARS_MAX: usize = 2_000;

/// Time that a call waits in the approval queue, in milliseconds, unless the policy sets another.
pub const APPROVAL_MS: u64 = 3_600_000;

/// Maximum calls of one share (a subject, an anonymous session, or an address) in the approval queue, unless the
/// policy sets another number.
pub const APPROVALS_PENDING_MAX: u32 = 32;

/// Maximum calls of all callers in the approval queue, half of them of anonymous ones: more than people decide within
/// `APPROVAL_MS`.
pub const APPROVALS_TOTAL_MAX: usize = 4_096;

/// Maximum bytes of arguments of one share's calls in the approval queue, which a person has to read.
pub const APPROVALS_BYTES_MAX: usize = 1024 * 1024;

/// Maximum bytes of arguments of all calls in the approval queue, half of them of anonymous callers.
pub const APPROVALS_TOTAL_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Maximum characters of an elicitation question; a call with longer arguments goes to the approval queue, which
/// shows all.
pub const CONFIRMATION_CHARS_MAX: usize = 4_000;

/// Maximum bytes of the arguments of one call in the approval queue.
pub const APPROVAL_BYTES_MAX: usize = 256 * 1024;

/// Maximum bytes of arguments listed at once from the approval queue; the other calls are listed when these are
/// decided.
pub const APPROVALS_SHOWN_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Maximum REST requests of one credential within a minute, unless the policy sets another number.
pub const REST_REQUESTS_PER_MINUTE_MAX: u32 = 600;

/// Maximum REST requests of all credentials within a minute: as many as one process answers beside its calls.
pub const REST_REQUESTS_PER_MINUTE_TOTAL_MAX: usize = 60_000;

/// Maximum shares and addresses with rate counters; the oldest counters are dropped first.
pub const RATE_KEYS_MAX: usize = 10_000;

/// Maximum stops of anonymous sessions and addresses; the one that began first is dropped.
pub const STOPS_MAX: usize = 1_000;

/// Duration of a stop of an anonymous session or address that repeats a call, in milliseconds: nobody may ever come
/// to unlock it, and the address may belong to another caller by then.
pub const LOOP_STOP_MS: u64 = 3_600_000;

/// Maximum identical calls that are not read-only, by one share (a subject, an anonymous session, or an address)
/// within the window, before it is stopped.
pub const REPEATS_MAX: u32 = 50;

/// Maximum identical read-only calls by one share within the window, before it is stopped.
pub const REPEATS_READ_ONLY_MAX: u32 = 1_000;

/// Window in which repeated calls are counted, in milliseconds.
pub const REPEAT_WINDOW_MS: u64 = 300_000;

/// Maximum different calls with repetition counters.
pub const REPEAT_KEYS_MAX: usize = 65_536;

/// Maximum time until a stop or unlock of another process is in force here, in milliseconds.
pub const STOP_SEEN_MS_MAX: u64 = 200;

/// Maximum time that a stop waits for confirmation by every other process of its store, in milliseconds: 25 times
/// `STOP_SEEN_MS_MAX`, so that a busy machine does not exceed it. Processes that did not confirm by then are named.
pub const STOP_HELD_MS_MAX: u64 = 5_000;

/// Validity of a gateway's statement that a call was confirmed, in milliseconds: the call is sent at once, and the
/// clocks of two machines may differ by seconds.
pub const VOUCH_MS_MAX: u64 = 60_000;

/// Maximum time until the record of a call that is not destructive is written, in milliseconds: a crash can lose
/// these.
pub const AUDIT_FLUSH_MS: u64 = 200;

/// Maximum audit records that wait to be written; further calls wait with them. While records cannot be written (a
/// full disk), further ones are counted as lost.
pub const AUDIT_WAITING_MAX: usize = 8_192;

/// Interval of checking if the audit exceeds the policy's size or age, in milliseconds.
pub const AUDIT_RETENTION_MS: u64 = 60_000;

/// Records between two signed checkpoints of the audit.
pub const AUDIT_CHECKPOINT_RECORDS: u64 = 1_000;
