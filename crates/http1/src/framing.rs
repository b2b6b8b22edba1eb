//! Framing of a message body: how its end is determined, by the rules of RFC 9112 section 6.
//!
//! Refuses every head whose body two parsers could end at different places, instead of choosing one interpretation.

use http::StatusCode;

use crate::fields::{Fields, decimal};

const CONTENT_LENGTH: &str = "content-length";
const TRANSFER_ENCODING: &str = "transfer-encoding";

/// Largest accepted `Content-Length`. Other HTTP implementations use the two numbers above it for bodies without a
/// length.
pub(crate) const LENGTH_MAX: u64 = u64::MAX - 2;

/// How the end of a body is determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    Length(u64),
    Chunked,
    /// A response body without a length, which ends when the connection closes.
    UntilClose,
}

/// Reason why the end of a body is ambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Ambiguous {
    #[error("its Content-Length is no number")]
    NoNumber,
    #[error("its Content-Length is beyond all numbers")]
    LengthOverflow,
    #[error("it has two lengths")]
    TwoLengths,
    #[error("it has Transfer-Encoding twice")]
    TwoCodings,
    #[error("it has both Content-Length and Transfer-Encoding")]
    LengthAndCoding,
    #[error("its Transfer-Encoding is unknown")]
    UnknownCoding,
    #[error("it has Transfer-Encoding in HTTP/1.0")]
    CodingInHttp10,
}

impl Ambiguous {
    /// Returns the status with which a server refuses such a request.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::UnknownCoding => StatusCode::NOT_IMPLEMENTED,
            Self::LengthOverflow => StatusCode::PAYLOAD_TOO_LARGE,
            _ => StatusCode::BAD_REQUEST,
        }
    }
}

impl Framing {
    /// Determines the framing of a request's body.
    pub(crate) fn of_request(text: &[u8], fields: &Fields, minor_version: u8) -> Result<Self, Ambiguous> {
        Ok(declared(text, fields, minor_version)?.unwrap_or(Self::Length(0)))
    }

    /// Determines the framing of a response's body. The `bool` is `false` if a status without a body declares one,
    /// which leaves open whether bytes follow. Does not apply to responses to HEAD.
    pub(crate) fn of_response(
        status: u16,
        text: &[u8],
        fields: &Fields,
        minor_version: u8,
    ) -> Result<(Self, bool), Ambiguous> {
        let declared = declared(text, fields, minor_version)?;
        Ok(match status {
            100..=199 | 204 | 304 => (Self::Length(0), matches!(declared, None | Some(Self::Length(0)))),
            _ => (declared.unwrap_or(Self::UntilClose), true),
        })
    }
}

/// Returns the framing that the fields declare; `None` if they declare none.
fn declared(text: &[u8], fields: &Fields, minor_version: u8) -> Result<Option<Framing>, Ambiguous> {
    let length = length(text, fields)?;
    let mut codings = fields.values(text, TRANSFER_ENCODING);
    let Some(coding) = codings.next() else { return Ok(length.map(Framing::Length)) };
    if codings.next().is_some() {
        return Err(Ambiguous::TwoCodings);
    }
    if length.is_some() {
        return Err(Ambiguous::LengthAndCoding);
    }
    if minor_version == 0 {
        return Err(Ambiguous::CodingInHttp10);
    }
    if coding.eq_ignore_ascii_case(b"chunked") {
        Ok(Some(Framing::Chunked))
    } else {
        Err(Ambiguous::UnknownCoding)
    }
}

fn length(text: &[u8], fields: &Fields) -> Result<Option<u64>, Ambiguous> {
    let mut lengths = fields.values(text, CONTENT_LENGTH);
    let Some(first) = lengths.next() else { return Ok(None) };
    if first.is_empty() || !first.iter().all(u8::is_ascii_digit) {
        return Err(Ambiguous::NoNumber);
    }
    if lengths.any(|other| other != first) {
        return Err(Ambiguous::TwoLengths);
    }
    let length = decimal(first).filter(|length| *length <= LENGTH_MAX);
    length.map(Some).ok_or(Ambiguous::LengthOverflow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::RequestHead;
    use crate::response_head::ResponseHead;

    #[test]
    fn a_request_body_has_one_end_or_is_refused() {
        let of = |lines: &[(&str, &str)]| {
            RequestHead::with(lines).framing().map_err(|ambiguous| ambiguous.status().as_u16())
        };
        let (length, coding) = ("Content-Length", "Transfer-Encoding");
        assert_eq!(of(&[]), Ok(Framing::Length(0)));
        assert_eq!(of(&[(length, "7")]), Ok(Framing::Length(7)));
        assert_eq!(of(&[(length, "7"), (length, "7")]), Ok(Framing::Length(7)));
        assert_eq!(of(&[(coding, "Chunked")]), Ok(Framing::Chunked));
        for bad in ["+7", "-7", "7,7", "0x7", "7 7", ""] {
            assert_eq!(of(&[(length, bad)]), Err(400), "{bad}");
        }
        assert_eq!(of(&[(length, "7"), (length, "8")]), Err(400));
        assert_eq!(of(&[(length, "7"), (length, "07")]), Err(400));
        assert_eq!(of(&[(length, "7"), (coding, "chunked")]), Err(400));
        assert_eq!(of(&[(coding, "chunked"), (coding, "chunked")]), Err(400));
        assert_eq!(of(&[(coding, "gzip, chunked")]), Err(501));
        assert_eq!(of(&[(length, "99999999999999999999999")]), Err(413));
    }

    #[test]
    fn a_response_body_has_one_end_or_is_refused() {
        let of = |status: u16, lines: &str| {
            let text = format!("HTTP/1.1 {status} X\r\n{lines}\r\n");
            ResponseHead::read(text.as_bytes()).map(|read| read.unwrap().0.framing())
        };
        assert_eq!(of(200, ""), Ok(Framing::UntilClose));
        assert_eq!(of(200, "Content-Length: 7\r\n"), Ok(Framing::Length(7)));
        assert_eq!(of(200, "Content-Length: 7\r\ncontent-length: 7\r\n"), Ok(Framing::Length(7)));
        assert_eq!(of(200, "Transfer-Encoding: CHUNKED\r\n"), Ok(Framing::Chunked));
        assert_eq!(of(204, "Content-Length: 7\r\n"), Ok(Framing::Length(0)));
        assert_eq!(of(304, "Transfer-Encoding: chunked\r\n"), Ok(Framing::Length(0)));
        for bad in [
            "Content-Length: 7\r\nContent-Length: 8\r\n",
            "Content-Length: 7, 7\r\n",
            "Content-Length: +7\r\n",
            "Content-Length:\r\n",
            "Content-Length: 18446744073709551616\r\n",
            "Content-Length: 18446744073709551615\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 7\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: identity\r\n",
        ] {
            assert!(of(200, bad).is_err(), "{bad:?}");
        }
    }
}
