//! Plain HTTP/1.1 parser that the product's parsers are compared with: sees the whole input at once, without buffers,
//! limits or kept heads.

/// Start line and header fields of a message; names in lower case.
#[derive(Debug)]
pub(super) struct Head<'a> {
    pub(super) start: &'a [u8],
    fields: Vec<(String, &'a [u8])>,
}

impl<'a> Head<'a> {
    /// Parses the head at the start of `bytes`; returns it and the rest.
    pub(super) fn read(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let mut rest = bytes;
        let start = loop {
            match line(&mut rest)? {
                [] => {}
                start => break start,
            }
        };
        let mut fields = Vec::new();
        loop {
            let field = line(&mut rest)?;
            if field.is_empty() {
                return Some((Self { start, fields }, rest));
            }
            let colon = field.iter().position(|byte| *byte == b':')?;
            let (name, value) = field.split_at(colon);
            let name = String::from_utf8_lossy(name).trim().to_ascii_lowercase();
            fields.push((name, value.get(1..).unwrap_or_default().trim_ascii()));
        }
    }

    pub(super) fn value(&self, name: &str) -> Option<&'a [u8]> {
        self.fields.iter().find(|(own, _)| own == name).map(|(_, value)| *value)
    }

    /// Returns the body after this head and the rest; `None` if it is incomplete or has no length.
    pub(super) fn body(&self, rest: &'a [u8]) -> Option<(Vec<u8>, &'a [u8])> {
        if self.value("transfer-encoding").is_some() {
            return chunks(rest);
        }
        let length = number(self.value("content-length")?, 10)?;
        let (body, rest) = rest.split_at_checked(length)?;
        Some((body.to_vec(), rest))
    }
}

fn chunks(mut rest: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut whole = Vec::new();
    loop {
        let size = line(&mut rest)?;
        let size = size.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let (data, after) = rest.split_at_checked(number(size, 16)?)?;
        rest = after;
        if data.is_empty() {
            break;
        }
        whole.extend_from_slice(data);
        line(&mut rest).filter(|end| end.is_empty())?;
    }
    while !line(&mut rest)?.is_empty() {}
    Some((whole, rest))
}

/// Parses digits only.
fn number(digits: &[u8], radix: u32) -> Option<usize> {
    let text = std::str::from_utf8(digits).ok()?;
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_digit(radix));
    is_plain.then(|| usize::from_str_radix(text, radix).ok()).flatten()
}

/// Cuts off a line without its end.
fn line<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (line, after) = rest.split_at(end);
    *rest = after.get(1..).unwrap_or_default();
    Some(line.strip_suffix(b"\r").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_a_body_and_a_rest() {
        let (head, rest) = Head::read(b"\r\nPOST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nab!").unwrap();
        assert_eq!(
            (head.start, head.body(rest)),
            (&b"POST / HTTP/1.1"[..], Some((b"ab".to_vec(), &b"!"[..])))
        );
        let chunked = b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2;x\r\nab\r\n0\r\nT: t\r\n\r\n!";
        let (head, rest) = Head::read(chunked).unwrap();
        assert_eq!(head.body(rest), Some((b"ab".to_vec(), &b"!"[..])));
        for bad in ["+2\r\nab\r\n0\r\n\r\n", "2\r\nabc\r\n0\r\n\r\n", "2\r\nab\r\n0\r\n"] {
            assert_eq!(head.body(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
