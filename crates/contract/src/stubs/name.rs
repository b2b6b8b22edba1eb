//! Conversion of names to identifiers of the output languages.

use std::collections::HashSet;

/// Converts to Pascal case: `get-HTTP_status` becomes `GetHTTPStatus`. The result is ASCII, not empty, and does not
/// begin with a digit.
pub(super) fn pascal(text: &str) -> String {
    let mut out = String::new();
    let mut start = true;
    for letter in text.chars() {
        if !letter.is_ascii_alphanumeric() {
            start = true;
        } else if start {
            out.extend(letter.to_uppercase());
            start = false;
        } else {
            out.push(letter);
        }
    }
    if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) { format!("T{out}") } else { out }
}

/// Converts to snake case: `getStatus` becomes `get_status`. The result is ASCII, not empty, and does not begin with
/// a digit.
pub(super) fn snake(text: &str) -> String {
    let mut out = String::new();
    let mut last = '_';
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            if letter.is_ascii_uppercase() && (last.is_ascii_lowercase() || last.is_ascii_digit()) {
                out.push('_');
            }
            out.push(letter.to_ascii_lowercase());
        } else if !out.ends_with('_') {
            out.push('_');
        }
        last = letter;
    }
    let out = out.trim_end_matches('_');
    let out = if out.trim_matches('_').is_empty() { "field" } else { out };
    if out.starts_with(|c: char| c.is_ascii_digit()) || out.starts_with('_') {
        format!("f{}{out}", if out.starts_with('_') { "" } else { "_" })
    } else {
        out.to_owned()
    }
}

/// Returns `wanted`, with a number appended if it is taken, and adds the result to `taken`.
pub(super) fn unique(wanted: &str, taken: &mut HashSet<String>) -> String {
    let mut name = wanted.to_owned();
    let mut number = 2;
    while !taken.insert(name.clone()) {
        name = format!("{wanted}{number}");
        number += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_said() {
        assert_eq!(pascal("get-HTTP_status"), "GetHTTPStatus");
        assert_eq!(pascal("2fa"), "T2fa");
        assert_eq!(pascal("日本"), "T");
        assert_eq!(snake("getStatus"), "get_status");
        assert_eq!(snake("x-api-key"), "x_api_key");
        assert_eq!(snake("$ref"), "f_ref");
        assert_eq!(snake("日本"), "field");
        assert_eq!(snake("9"), "f_9");
        let mut taken = HashSet::new();
        assert_eq!(
            [unique("A", &mut taken), unique("A", &mut taken), unique("A", &mut taken)],
            ["A", "A2", "A3"]
        );
    }
}
