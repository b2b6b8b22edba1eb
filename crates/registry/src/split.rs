//! Splits a large file into the entries of a list or map, without parsing the whole.
//!
//! One pass that follows only strings and brackets. Every piece is parsed strictly afterwards, so invalid JSON that
//! passes here is refused there. A large file takes memory for its own bytes and one entry at a time.

use std::ops::Range;

use toolcrib_contract::json::{Document, Limits, Node, Pointer, ReadError, ReadErrorKind};

/// Members of an object or elements of an array, as ranges of the text.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// Key and value range; the key of an element is its index.
    pub(crate) list: Vec<(String, Range<usize>)>,
    pub(crate) is_object: bool,
    /// Offset after the closing bracket.
    pub(crate) end: usize,
}

/// Splits the value that begins at `start`; `None` for a scalar.
pub(crate) fn pieces(text: &str, start: usize, place: &Pointer) -> Result<Option<Pieces>, ReadError> {
    let mut scan = Scan { bytes: text.as_bytes(), at: start, place };
    scan.space();
    let (is_object, close) = match scan.peek() {
        Some(b'{') => (true, b'}'),
        Some(b'[') => (false, b']'),
        _ => return Ok(None),
    };
    scan.at += 1;
    let mut list = Vec::new();
    scan.space();
    if scan.peek() == Some(close) {
        return Ok(Some(Pieces { list, is_object, end: scan.at + 1 }));
    }
    loop {
        scan.space();
        let key = if is_object {
            let key = scan.value()?;
            let key = text.get(key).unwrap_or_default();
            let name = Document::parse(key.as_bytes(), &Limits::file())?;
            let name = name.root().as_str().map(std::borrow::Cow::into_owned);
            let name = name.ok_or_else(|| {
                scan.error(ReadErrorKind::Unexpected { found: first(key), expected: "a key" })
            })?;
            scan.space();
            scan.take(b':', "\":\"")?;
            scan.space();
            name
        } else {
            list.len().to_string()
        };
        list.push((key, scan.value()?));
        scan.space();
        if scan.peek() == Some(close) {
            return Ok(Some(Pieces { list, is_object, end: scan.at + 1 }));
        }
        scan.take(b',', "\",\" or the end")?;
    }
}

fn first(text: &str) -> char {
    text.chars().next().unwrap_or(' ')
}

/// Refuses anything but white space after `end`.
pub(crate) fn ends(text: &str, end: usize) -> Result<(), ReadError> {
    let rest = text.get(end..).unwrap_or_default();
    match rest.find(|c: char| !matches!(c, ' ' | '\t' | '\n' | '\r')) {
        None => Ok(()),
        Some(at) => {
            Err(ReadError { kind: ReadErrorKind::Trailing, offset: end + at, pointer: Pointer::root() })
        }
    }
}

/// Parses one piece strictly. An error has the location and the byte offset in the whole text.
pub(crate) fn read<T>(
    text: &str,
    range: Range<usize>,
    place: &Pointer,
    then: impl FnOnce(Node<'_>) -> T,
) -> Result<T, ReadError> {
    let start = range.start;
    match Document::parse(text.get(range).unwrap_or_default().as_bytes(), &Limits::file()) {
        Ok(document) => Ok(then(document.root())),
        Err(error) => Err(ReadError {
            kind: error.kind,
            offset: start + error.offset,
            pointer: Pointer::from_escaped(format!("{}{}", place.as_str(), error.pointer.as_str())),
        }),
    }
}

struct Scan<'b> {
    bytes: &'b [u8],
    at: usize,
    place: &'b Pointer,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn error(&self, kind: ReadErrorKind) -> ReadError {
        ReadError { kind, offset: self.at, pointer: self.place.clone() }
    }

    fn take(&mut self, wanted: u8, expected: &'static str) -> Result<(), ReadError> {
        match self.peek() {
            Some(byte) if byte == wanted => {
                self.at += 1;
                Ok(())
            }
            Some(byte) => Err(self.error(ReadErrorKind::Unexpected { found: char::from(byte), expected })),
            None => Err(self.error(ReadErrorKind::End)),
        }
    }

    /// Skips one value and returns its range.
    fn value(&mut self) -> Result<Range<usize>, ReadError> {
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                None => return Err(self.error(ReadErrorKind::End)),
                Some(b'"') => self.string()?,
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.at += 1;
                }
                Some(b'}' | b']') => {
                    depth = depth.checked_sub(1).ok_or_else(|| {
                        self.error(ReadErrorKind::Unexpected {
                            found: char::from(self.peek().unwrap_or(b'}')),
                            expected: "a value",
                        })
                    })?;
                    self.at += 1;
                }
                Some(_) => self.plain(depth),
            }
            if depth == 0 {
                return Ok(start..self.at);
            }
        }
    }

    /// Skips the bytes up to the next string, bracket or, at depth 0, separator.
    fn plain(&mut self, depth: usize) {
        while let Some(byte) = self.peek() {
            let stops = matches!(byte, b'"' | b'{' | b'[' | b'}' | b']');
            let ends = depth == 0 && matches!(byte, b',' | b':' | b' ' | b'\t' | b'\n' | b'\r');
            if stops || ends {
                // A value cannot begin with a separator; the strict reader reports it.
                self.at += usize::from(ends && self.at == 0);
                return;
            }
            self.at += 1;
        }
    }

    fn string(&mut self) -> Result<(), ReadError> {
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(self.error(ReadErrorKind::End)),
                Some(b'\\') => self.at += 2,
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(_) => self.at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Result<Vec<(String, String)>, ReadError> {
        let pieces = pieces(text, 0, &Pointer::root())?.unwrap();
        ends(text, pieces.end)?;
        Ok(pieces.list.into_iter().map(|(key, range)| (key, text[range].to_owned())).collect())
    }

    #[test]
    fn pieces_are_the_members_and_elements() {
        let pairs = |list: &[(&str, &str)]| {
            list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Vec<_>>()
        };
        assert_eq!(
            cut(r#" { "a" : {"x":"}]\""} , "b\u0041":[1,2], "c":-1.5e3 } "#).unwrap(),
            pairs(&[("a", r#"{"x":"}]\""}"#), ("bA", "[1,2]"), ("c", "-1.5e3")])
        );
        assert_eq!(cut("[1, [], {}]").unwrap(), pairs(&[("0", "1"), ("1", "[]"), ("2", "{}")]));
        assert_eq!(cut("[]").unwrap(), []);
    }

    #[test]
    fn what_is_cut_off_or_trails_is_refused_with_its_byte() {
        assert_eq!(cut(r#"{"a":[1,2"#).unwrap_err().kind, ReadErrorKind::End);
        assert_eq!(cut(r#"{"a":"x"#).unwrap_err().kind, ReadErrorKind::End);
        assert_eq!(
            cut("[1] x").unwrap_err(),
            ReadError { kind: ReadErrorKind::Trailing, offset: 4, pointer: Pointer::root() }
        );
        assert!(matches!(cut(r#"{"a" 1}"#).unwrap_err().kind, ReadErrorKind::Unexpected { .. }));
        assert!(matches!(cut(r#"{"a":1 "b":2}"#).unwrap_err().kind, ReadErrorKind::Unexpected { .. }));
        assert!(matches!(cut("[1}").unwrap_err().kind, ReadErrorKind::Unexpected { .. }));
    }
}
