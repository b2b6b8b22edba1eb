//! How the end of a request's body is told.

use http::StatusCode;
use toolcrib_protocol::header::Field;

use super::head::Head;
use super::name::Name;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Length(usize),
    Chunked,
}

impl Framing {
    /// Refuses a body that two readers could end at different places.
    pub(super) fn of(head: &Head) -> Result<Self, StatusCode> {
        let coding = match head.one(Name::TransferEncoding) {
            Field::Absent => return length(head),
            Field::One(coding) => coding,
            Field::Repeated => return Err(StatusCode::BAD_REQUEST),
        };
        if head.has(Name::ContentLength) || head.is_http_1_0() {
            return Err(StatusCode::BAD_REQUEST);
        }
        if coding.eq_ignore_ascii_case(b"chunked") {
            Ok(Self::Chunked)
        } else {
            Err(StatusCode::NOT_IMPLEMENTED)
        }
    }
}

fn length(head: &Head) -> Result<Framing, StatusCode> {
    let mut lengths = head.values(Name::ContentLength);
    let Some(first) = lengths.next() else { return Ok(Framing::Length(0)) };
    let is_number = !first.is_empty() && first.iter().all(u8::is_ascii_digit);
    if !is_number || lengths.any(|other| other != first) {
        return Err(StatusCode::BAD_REQUEST);
    }
    let and_digit =
        |number: usize, digit: &u8| number.checked_mul(10)?.checked_add(usize::from(digit - b'0'));
    let number = first.iter().try_fold(0, and_digit);
    number.map(Framing::Length).ok_or(StatusCode::PAYLOAD_TOO_LARGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_one_end_or_is_refused() {
        let of = |lines: &[(&str, &str)]| Framing::of(&Head::with(lines)).map_err(|status| status.as_u16());
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
}
