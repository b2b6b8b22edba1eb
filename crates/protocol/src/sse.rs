//! Encoder and decoder of server-sent events.
//!
//! Guarantees: data is encoded as exactly one event, whatever line breaks it contains; the decoder yields the same
//! events however the bytes are split, and refuses an event over its limit instead of growing.

/// Maximum bytes of one event, by default.
pub const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Comment line that keeps a connection alive; decoders ignore it.
pub const KEEP_ALIVE: &[u8] = b":\n\n";

/// Appends one event, with a `data` line for each line of `data`. A line ends with LF, CR LF or CR, as in the decoder,
/// which puts LF in place of each; a CR at the end is dropped. In JSON a line break is white space between tokens.
pub fn encode(out: &mut Vec<u8>, id: Option<&str>, data: &[u8]) {
    if let Some(id) = id {
        out.extend_from_slice(b"id: ");
        out.extend_from_slice(id.as_bytes());
        out.push(b'\n');
    }
    for line in data.split(|byte| *byte == b'\n') {
        for part in line.strip_suffix(b"\r").unwrap_or(line).split(|byte| *byte == b'\r') {
            out.extend_from_slice(b"data: ");
            out.extend_from_slice(part);
            out.push(b'\n');
        }
    }
    out.push(b'\n');
}

/// Appends one event with a type. `event` must not contain a line break.
pub fn encode_named(out: &mut Vec<u8>, event: &str, data: &[u8]) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(event.as_bytes());
    out.push(b'\n');
    encode(out, None, data);
}

/// Appends an event with an id and empty data, which tells the client where to resume.
pub fn encode_priming(out: &mut Vec<u8>, id: &str) {
    out.extend_from_slice(b"id: ");
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(b"\ndata: \n\n");
}

/// Appends an event that asks the client to wait `retry_ms` before it reconnects, with the id to resume from.
pub fn encode_retry(out: &mut Vec<u8>, id: Option<&str>, retry_ms: u64) {
    if let Some(id) = id {
        out.extend_from_slice(b"id: ");
        out.extend_from_slice(id.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"retry: ");
    out.extend_from_slice(retry_ms.to_string().as_bytes());
    out.extend_from_slice(b"\ndata: \n\n");
}

/// One decoded event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    pub event: Option<String>,
    pub id: Option<String>,
    pub retry_ms: Option<u64>,
    pub data: String,
}

/// Reason why a stream cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("a server-sent event is longer than {0} bytes")]
    TooLong(usize),
    #[error("a server-sent event is not UTF-8")]
    NotUtf8,
}

/// Incremental decoder of a byte stream.
#[derive(Debug)]
pub struct Decoder {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    touched: bool,
    after_cr: bool,
    at_start: bool,
    bytes: usize,
    bytes_max: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::with_limit(EVENT_BYTES_MAX)
    }
}

impl Decoder {
    #[must_use]
    pub fn with_limit(bytes_max: usize) -> Self {
        Self {
            line: Vec::new(),
            event: Event::default(),
            has_data: false,
            touched: false,
            after_cr: false,
            at_start: true,
            bytes: 0,
            bytes_max,
        }
    }

    /// Bytes buffered for an incomplete event.
    #[must_use]
    pub fn held(&self) -> usize {
        self.line.len() + self.event.data.len()
    }

    /// Consumes bytes and appends the events that they complete.
    pub fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (line, after) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or((rest, &[]));
            self.bytes += line.len();
            if self.bytes > self.bytes_max {
                return Err(DecodeError::TooLong(self.bytes_max));
            }
            let room = room(self.line.len(), self.line.capacity(), line.len(), self.bytes_max);
            self.line.reserve_exact(room);
            self.line.extend_from_slice(line);
            let Some(ending) = after.first() else { return Ok(()) };
            self.after_cr = *ending == b'\r';
            self.end_line(events)?;
            rest = after.get(1..).unwrap_or_default();
        }
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let line = std::mem::take(&mut self.line);
        let mut text = std::str::from_utf8(&line).map_err(|_| DecodeError::NotUtf8)?;
        if std::mem::take(&mut self.at_start) {
            text = text.strip_prefix('\u{feff}').unwrap_or(text);
        }
        if text.is_empty() {
            self.bytes = 0;
            self.has_data = false;
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.touched) {
                events.push(event);
            }
            return Ok(());
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" => return Ok(()),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                let data = &mut self.event.data;
                data.reserve_exact(room(data.len(), data.capacity(), value.len(), self.bytes_max));
                data.push_str(value);
            }
            "event" => self.event.event = Some(value.to_owned()),
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "retry" => self.event.retry_ms = value.parse().ok(),
            _ => return Ok(()),
        }
        self.touched = true;
        Ok(())
    }
}

/// Returns the bytes to reserve before `more` are appended to a buffer. The capacity doubles up to the limit: smaller
/// steps leave more freed buffers behind than the allocator returns in time.
fn room(length: usize, capacity: usize, more: usize, bytes_max: usize) -> usize {
    let needed = length + more;
    if needed <= capacity {
        return 0;
    }
    (2 * capacity).min(bytes_max).max(needed) - length
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(bytes: &[u8], cut: usize) -> Vec<Event> {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        for part in bytes.chunks(cut.max(1)) {
            decoder.feed(part, &mut events).unwrap();
        }
        events
    }

    #[test]
    fn comments_are_skipped_and_an_empty_data_event_is_seen() {
        let events = decode(b":ping\n\nid: 7\ndata: \n\nretry: 500\ndata:\n\n", 3);
        assert_eq!(events.len(), 2);
        assert_eq!(events[0].id.as_deref(), Some("7"));
        assert_eq!(events[0].data, "");
        assert_eq!(events[1].retry_ms, Some(500));
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut decoder = Decoder::with_limit(10);
        let error = decoder.feed(b"data: 0123456789", &mut Vec::new()).unwrap_err();
        assert_eq!(error, DecodeError::TooLong(10));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded_however_it_is_cut(
            texts in proptest::collection::vec("([^\r\n]|\r|\n|\r\n){0,40}", 1..5), cut in 1usize..20, crlf: bool
        ) {
            let mut bytes = Vec::new();
            for (index, text) in texts.iter().enumerate() {
                encode(&mut bytes, Some(&index.to_string()), text.as_bytes());
            }
            if crlf {
                bytes = String::from_utf8(bytes).unwrap().replace('\n', "\r\n").into_bytes();
            }
            let events = decode(&bytes, cut);
            prop_assert_eq!(events.len(), texts.len());
            for (index, (event, text)) in events.iter().zip(&texts).enumerate() {
                let number = index.to_string();
                prop_assert_eq!(event.id.as_deref(), Some(number.as_str()));
                let text = text.strip_suffix('\r').unwrap_or(text);
                prop_assert_eq!(&event.data, &text.replace("\r\n", "\n").replace('\r', "\n"));
            }
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes: Vec<u8>, cut in 1usize..9) {
            let mut decoder = Decoder::with_limit(64);
            for part in bytes.chunks(cut) {
                if decoder.feed(part, &mut Vec::new()).is_err() {
                    break;
                }
            }
        }
    }

    /// A buffer near the limit does not grow beyond it.
    #[test]
    fn a_large_event_does_not_double_its_buffer() {
        let (mut decoder, mut events) = (Decoder::default(), Vec::new());
        let line = format!("data: {}\n", "x".repeat(65_536));
        let mut sent = 0;
        while sent + line.len() < EVENT_BYTES_MAX {
            decoder.feed(line.as_bytes(), &mut events).unwrap();
            sent += line.len();
        }
        let (held, capacity) = (decoder.event.data.len(), decoder.event.data.capacity());
        assert!(
            held > EVENT_BYTES_MAX - 2 * line.len() && capacity <= EVENT_BYTES_MAX,
            "{capacity} for {held}"
        );
        assert!(decoder.feed(line.as_bytes(), &mut events).is_err());
    }
}
