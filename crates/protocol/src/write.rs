//! Writers of JSON-RPC messages from parts that are already JSON.
//!
//! Guarantees: raw parts (ids, results) are copied unchanged; only strings are escaped. Precondition: a parameter
//! called `raw` is valid JSON.

use toolcrib_contract::json::write_string;

use crate::error::RpcError;

const OPEN: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":";
const RESULT: &[u8] = b",\"result\":";

/// Appends `text` as a JSON string.
pub fn string(out: &mut Vec<u8>, text: &str) {
    // Writing a string to a Vec cannot fail.
    let _ = serde_json::to_writer(&mut *out, text);
}

/// Returns `text` as a JSON string.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_string(&mut out, text);
    out
}

/// Returns the number of bytes that [`open_result`] appends.
#[must_use]
pub const fn opened_len(id_raw: &str) -> usize {
    OPEN.len() + id_raw.len() + RESULT.len()
}

/// Appends the part of a response before its result.
pub fn open_result(out: &mut Vec<u8>, id_raw: &str) {
    out.extend_from_slice(OPEN);
    out.extend_from_slice(id_raw.as_bytes());
    out.extend_from_slice(RESULT);
}

/// Returns a complete success response.
#[must_use]
pub fn result(id_raw: &str, result_raw: &[u8]) -> Vec<u8> {
    // Exact capacity: converting to shared bytes then needs no reallocation.
    let mut out = Vec::with_capacity(opened_len(id_raw) + result_raw.len() + 1);
    open_result(&mut out, id_raw);
    out.extend_from_slice(result_raw);
    out.push(b'}');
    out
}

/// Returns a complete error response. Without an id it has `null`, as JSON-RPC requires for an unreadable request.
#[must_use]
pub fn error(id_raw: Option<&str>, error: &RpcError) -> Vec<u8> {
    let mut out = Vec::with_capacity(error.message.len() + 80);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id_raw.unwrap_or("null").as_bytes());
    out.extend_from_slice(b",\"error\":");
    error.write(&mut out);
    out.push(b'}');
    out
}

/// Returns a complete notification; `params_raw` is an object.
#[must_use]
pub fn notification(method: &str, params_raw: Option<&str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + params_raw.map_or(0, str::len));
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":");
    string(&mut out, method);
    if let Some(params) = params_raw {
        out.extend_from_slice(b",\"params\":");
        out.extend_from_slice(params.as_bytes());
    }
    out.push(b'}');
    out
}

/// Returns a complete request; `params_raw` is an object.
#[must_use]
pub fn request(id_raw: &str, method: &str, params_raw: Option<&str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + params_raw.map_or(0, str::len));
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id_raw.as_bytes());
    out.extend_from_slice(b",\"method\":");
    string(&mut out, method);
    if let Some(params) = params_raw {
        out.extend_from_slice(b",\"params\":");
        out.extend_from_slice(params.as_bytes());
    }
    out.push(b'}');
    out
}

/// Appends a number in decimal.
pub fn number(out: &mut Vec<u8>, mut number: u64) {
    let start = out.len();
    loop {
        out.push(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    if let Some(digits) = out.get_mut(start..) {
        digits.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_echoed_exactly_as_it_came() {
        for id in ["1", "\"1\"", "9007199254740993", "\"a\\u0041\""] {
            let text = String::from_utf8(result(id, b"{}")).unwrap();
            assert_eq!(text, format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}"));
        }
    }

    #[test]
    fn a_notification_without_params_has_no_such_member() {
        assert_eq!(notification("a/b", None), br#"{"jsonrpc":"2.0","method":"a/b"}"#);
    }

    #[test]
    fn numbers_are_written_as_they_are_read() {
        for value in [0, 7, 10, 4_096, u64::MAX] {
            let mut out = b"x".to_vec();
            number(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), format!("x{value}"));
        }
    }
}
