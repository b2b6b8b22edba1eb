//! Every limit of this crate, with its unit. LIMITS.md is checked against this file.

/// Frames one exchange may have waiting for its client; further notifications are dropped, further questions refused.
pub const OUTBOX_FRAMES_MAX: usize = 1_024;

/// Bytes one exchange may have waiting for its client.
pub const OUTBOX_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes waiting in one exchange that are not counted for its caller: what an ordinary call says, 16 KiB, costs no
/// lock that threads share.
pub const OUTBOX_UNCOUNTED_BYTES_MAX: usize = 16 * 1024;

/// How long a handler may run, in milliseconds, unless the server says otherwise.
pub const CALL_MS_MAX: u64 = 600_000;

/// How long a legacy client may take to answer a question, in milliseconds.
pub const ASK_MS_MAX: u64 = 300_000;

/// Questions one call may ask at once.
pub const QUESTIONS_MAX: usize = 32;

/// Characters of a client's `tracestate` that are handed on; a longer one is left out.
pub const TRACESTATE_CHARS_MAX: usize = 512;

/// How long a sealed request state stays valid, in milliseconds.
pub const STATE_MS_MAX: u64 = 600_000;

/// Bytes of a sealed request state, before base64.
pub const STATE_BYTES_MAX: usize = 256 * 1024;

/// Bytes of a tool's answer.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of a message that are read on a thread that serves others: about a millisecond. Longer ones are read as long
/// pieces of work.
pub const READ_BRIEF_BYTES_MAX: usize = 256 * 1024;

/// Long pieces of work (large messages, checks of costly values) that may wait for their thread; further ones are refused.
pub const LONG_WORK_WAITING_MAX: usize = 64;

/// How long a call waits for a long piece of work, in milliseconds.
pub const LONG_WORK_MS_MAX: u64 = 10_000;

/// Requests one session or connection may have in flight.
pub const IN_FLIGHT_MAX: usize = 1_024;

/// Resource URIs one session or listen stream may follow.
pub const SUBSCRIPTIONS_MAX: usize = 1_024;

/// Bytes that the followed resource URIs of all clients take: 32 MiB. One of 100 bytes takes 328.
pub const SUBSCRIPTION_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Bytes of the same for one authenticated subject or one address.
pub const SUBSCRIPTION_BYTES_PER_SHARE_MAX: usize = 4 * 1024 * 1024;

/// How long changes are gathered before one notification tells of them, in milliseconds.
pub const CHANGE_BATCH_MS: u64 = 20;

/// Items of one page of a list, unless the server says otherwise.
pub const PAGE_ITEMS_MAX: usize = 10_000;

/// Maximum bytes of a URI that a client sends. Addresses that people and servers use are far shorter; matching is
/// proportional to it.
pub const URI_BYTES_MAX: usize = 8 * 1024;

/// Maximum bytes of a resource template's URI template; none in the field comes near it.
pub const TEMPLATE_BYTES_MAX: usize = 2 * 1024;

/// Maximum variables of one URI template; matching is proportional to it.
pub const TEMPLATE_VARIABLES_MAX: usize = 32;

/// Maximum steps (a character looked at for one part of a template) that one request may spend on matching its URIs
/// against templates: about 25 ms of CPU, and enough for 100 characters and 10,000 templates.
pub const TEMPLATE_STEPS_MAX: usize = 8 * 1024 * 1024;

/// Steps of matching after which a request lets the other requests of its thread run; about 1 ms.
pub const TEMPLATE_STEPS_AT_ONCE: usize = 256 * 1024;

/// Values one completion may return (the specification's own limit).
pub const COMPLETION_VALUES_MAX: usize = 100;

/// Views that are kept prepared for one state of the registry; past that they are built again when asked for.
pub const VIEWS_MAX: usize = 1_024;

/// Bytes of prepared views that are kept for one state of the registry, about.
pub const VIEWS_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Toolsets that the description of `search_tools` and the instructions name.
pub const TOOLSETS_NAMED_MAX: usize = 40;

/// Profiles that the store in memory keeps.
pub const PROFILES_MAX: usize = 100_000;

/// Results of one `search_tools`.
pub const SEARCH_RESULTS_MAX: usize = 50;

/// How long a public list may be cached by a modern client, in milliseconds, unless the server says otherwise.
pub const LIST_TTL_MS: u64 = 60_000;

/// Tools that are remembered as kept aside for their text.
pub const QUARANTINED_MAX: usize = 10_000;

/// How long a confirmation token lives, in milliseconds, unless the policy says otherwise.
pub const TOKEN_MS: u64 = 60_000;

/// Shares that the anonymous callers of one address have together: a proxy or a household has a few clients, and
/// opening more sessions must not multiply a share without end.
pub const ADDRESS_SHARES_MAX: usize = 4;

/// Tokens one share (a subject, an anonymous session, or an address) may ask for within a minute, unless the policy
/// says otherwise.
pub const TOKENS_PER_MINUTE_MAX: u32 = 120;

/// Tokens given within a minute to all callers together, half of them to anonymous ones: each is a row that is kept
/// for a day.
pub const TOKENS_PER_MINUTE_TOTAL_MAX: usize = 3_840;

/// Characters of the summary that goes with a token.
pub const SUMMARY_CHARS_MAX: usize = 2_000;

/// How long a call waits for a person in the queue, in milliseconds, unless the policy says otherwise.
pub const APPROVAL_MS: u64 = 3_600_000;

/// Calls of one share (a subject, an anonymous session, or an address) that may wait for a person, unless the policy
/// says otherwise.
pub const APPROVALS_PENDING_MAX: u32 = 32;

/// Calls of all callers together that may wait for a person, half of them of anonymous ones: more than people decide
/// within `APPROVAL_MS`.
pub const APPROVALS_TOTAL_MAX: usize = 4_096;

/// Bytes of arguments of one share's calls that wait for a person, who has to read them.
pub const APPROVALS_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of arguments of all calls that wait for a person, half of them of anonymous callers.
pub const APPROVALS_TOTAL_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Characters of a question to a person; arguments that need more wait in the queue, where all of them are shown.
pub const CONFIRMATION_CHARS_MAX: usize = 4_000;

/// Bytes of the arguments of a call that waits for a person.
pub const APPROVAL_BYTES_MAX: usize = 256 * 1024;

/// Bytes of arguments of waiting calls that are listed at once; the others are listed when these are decided.
pub const APPROVALS_SHOWN_BYTES_MAX: usize = 2 * 1024 * 1024;

/// REST requests of one credential within a minute, unless the policy says otherwise.
pub const REST_REQUESTS_PER_MINUTE_MAX: u32 = 600;

/// REST requests of all credentials within a minute: what one process answers beside its calls.
pub const REST_REQUESTS_PER_MINUTE_TOTAL_MAX: usize = 60_000;

/// Shares and addresses whose rates are counted at once; the oldest counts are forgotten first.
pub const RATE_KEYS_MAX: usize = 10_000;

/// Stops of anonymous sessions and addresses that are kept at once; the one that began first makes room.
pub const STOPS_MAX: usize = 1_000;

/// How long an anonymous session or address that repeats itself is stopped, in milliseconds: nobody may ever come to
/// unlock it, and an address may be somebody else's by then.
pub const LOOP_STOP_MS: u64 = 3_600_000;

/// Times one share (a subject, an anonymous session, or an address) may make the same call that is not read-only within
/// the window before it is stopped.
pub const REPEATS_MAX: u32 = 50;

/// Times one share may make the same read-only call within the window before it is stopped.
pub const REPEATS_READ_ONLY_MAX: u32 = 1_000;

/// The window in which repeated calls are counted, in milliseconds.
pub const REPEAT_WINDOW_MS: u64 = 300_000;

/// Different calls whose repetitions are counted at once.
pub const REPEAT_KEYS_MAX: usize = 65_536;

/// How long a stop or unlock of another process may go unnoticed, in milliseconds.
pub const STOP_SEEN_MS_MAX: u64 = 200;

/// How long a stop waits until every other process of its store has put it in force, in milliseconds: 25 times
/// `STOP_SEEN_MS_MAX`, so that a busy machine does not exceed it. After that the processes that did not are named.
pub const STOP_HELD_MS_MAX: u64 = 5_000;

/// How long a gateway's statement that a call was confirmed holds, in milliseconds: the call is sent at once, and the
/// clocks of two machines may differ by seconds.
pub const VOUCH_MS_MAX: u64 = 60_000;

/// How long the record of a call that is not destructive may wait to be written, in milliseconds: what a crash can lose.
pub const AUDIT_FLUSH_MS: u64 = 200;

/// Such records that may wait; further calls wait with them. While records cannot be written (a full disk), further
/// ones are counted as lost.
pub const AUDIT_WAITING_MAX: usize = 8_192;

/// How long between two looks at whether the audit is larger or older than the policy lets it be, in milliseconds.
pub const AUDIT_RETENTION_MS: u64 = 60_000;

/// Records between two signed checkpoints of the audit.
pub const AUDIT_CHECKPOINT_RECORDS: u64 = 1_000;
