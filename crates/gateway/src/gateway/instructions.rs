//! The `instructions` of all servers in one text.

use super::Member;
use crate::limits::INSTRUCTIONS_CHARS_MAX;

/// Joins the instructions of all servers, each under its server's name.
pub(super) fn of(members: &[Member]) -> Option<String> {
    let said: Vec<(&str, String)> = members
        .iter()
        .filter_map(|member| {
            let text = member.catalogue.as_ref()?.introduction.instructions()?;
            Some((member.source.name(), text))
        })
        .collect();
    let text = match said.as_slice() {
        [] => return None,
        [(_, text)] if members.len() == 1 => text.clone(),
        many => {
            let parts: Vec<String> = many.iter().map(|(name, text)| format!("## {name}\n{text}")).collect();
            parts.join("\n\n")
        }
    };
    Some(within_limit(text))
}

/// Cuts a text to the limit; the end of the cut text says that it was cut.
fn within_limit(text: String) -> String {
    let chars = text.chars().count();
    if chars <= INSTRUCTIONS_CHARS_MAX {
        return text;
    }
    let note =
        format!("\n[{chars} characters; INSTRUCTIONS_CHARS_MAX lets {INSTRUCTIONS_CHARS_MAX} be sent]");
    let room = INSTRUCTIONS_CHARS_MAX.saturating_sub(note.chars().count());
    text.chars().take(room).chain(note.chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R5.3: a cut text says so.
    #[test]
    fn instructions_over_instructions_chars_max_say_that_they_go_on() {
        let most = "é".repeat(INSTRUCTIONS_CHARS_MAX);
        assert_eq!(within_limit(most.clone()), most);
        let cut = within_limit(format!("{most}x"));
        assert_eq!(cut.chars().count(), INSTRUCTIONS_CHARS_MAX);
        assert!(cut.ends_with("é\n[32769 characters; INSTRUCTIONS_CHARS_MAX lets 32768 be sent]"));
    }
}
