//! Every limit of this crate, with its unit. LIMITS.md is checked against this file.

/// Frames one exchange may have waiting for its client; further notifications are dropped, further questions refused.
pub const OUTBOX_FRAMES_MAX: usize = 1_024;

/// Bytes one exchange may have waiting for its client.
pub const OUTBOX_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How long a handler may run, in milliseconds, unless the server says otherwise.
pub const CALL_MS_MAX: u64 = 600_000;

/// How long a legacy client may take to answer a question, in milliseconds.
pub const ASK_MS_MAX: u64 = 300_000;

/// Questions one call may ask at once.
pub const QUESTIONS_MAX: usize = 32;

/// How long a sealed request state stays valid, in milliseconds.
pub const STATE_MS_MAX: u64 = 600_000;

/// Bytes of a sealed request state, before base64.
pub const STATE_BYTES_MAX: usize = 256 * 1024;

/// Bytes of a tool's answer.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Requests one session or connection may have in flight.
pub const IN_FLIGHT_MAX: usize = 1_024;

/// Resource URIs one session or listen stream may follow.
pub const SUBSCRIPTIONS_MAX: usize = 1_024;

/// How long changes are gathered before one notification tells of them, in milliseconds.
pub const CHANGE_BATCH_MS: u64 = 20;

/// Items of one page of a list, unless the server says otherwise.
pub const PAGE_ITEMS_MAX: usize = 10_000;

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
