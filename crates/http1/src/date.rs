//! The `Date` header, formatted once per second and thread.

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

thread_local! {
    /// Cache: the second since the epoch and its text.
    static WRITTEN: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
}

/// Writes the current time in the format of the `Date` header.
pub(crate) fn write(out: &mut Vec<u8>) {
    let now = SystemTime::now();
    let second = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    WRITTEN.with_borrow_mut(|(of, text)| {
        if *of != second || text.is_empty() {
            *text = httpdate::fmt_http_date(now);
            *of = second;
        }
        out.extend_from_slice(text.as_bytes());
    });
}
