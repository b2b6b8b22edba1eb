//! Rendering of a call for the person who decides: every argument, with hidden characters escaped (R4.9).

use serde_json::Value;
use toolcrib_contract::text;

/// Formats arguments for a person: one value per line, hidden characters escaped.
#[must_use]
pub fn arguments(raw: &str) -> String {
    match serde_json::from_str::<Value>(raw) {
        Ok(value) => text::escaped(&serde_json::to_string_pretty(&value).unwrap_or_else(|_| raw.to_owned())),
        Err(_) => text::escaped(raw),
    }
}

/// Returns the question for an elicitation form.
#[must_use]
pub(crate) fn question(tool: &str, effect: &str, raw: &str) -> String {
    format!("Allow this call?\n\n{} ({effect})\n{}", text::one_line(tool), arguments(raw))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R4.9: hidden characters in arguments are shown escaped.
    #[test]
    fn hidden_characters_in_arguments_are_shown() {
        let shown = arguments("{\"path\":\"a\u{202e}gpj.exe\",\"n\":9007199254740993,\"e\":\"\\u001b[2K\"}");
        assert!(shown.contains("\\u{202e}gpj.exe"), "{shown}");
        assert!(shown.contains("9007199254740993"), "{shown}");
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown}");
    }
}
