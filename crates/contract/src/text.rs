//! Detection and escaping of invisible characters in untrusted text.

/// Class of an invisible or reordering character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hidden {
    /// A control character other than tab and line feed; ESC starts an ANSI sequence.
    Control,
    /// Bidirectional control: reorders the characters around it.
    Bidi,
    /// Invisible character without width.
    ZeroWidth,
    /// Unicode tag character: invisible text.
    Tag,
}

/// Returns the class of `c` if it is invisible or reorders text.
#[must_use]
pub const fn hidden(c: char) -> Option<Hidden> {
    match c {
        '\t' | '\n' => None,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Some(Hidden::Control),
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some(Hidden::Bidi)
        }
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{2060}'..='\u{2064}'
        | '\u{206a}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}' => Some(Hidden::ZeroWidth),
        '\u{e0000}'..='\u{e0fff}' => Some(Hidden::Tag),
        _ => None,
    }
}

/// `true` if `c` is escaped in one-line output: hidden characters, tabs and line feeds.
#[must_use]
pub const fn is_hidden(c: char) -> bool {
    hidden(c).is_some() || matches!(c, '\t' | '\n')
}

/// Escapes every hidden character as `\u{…}`; tabs and line feeds stay.
#[must_use]
pub fn escaped(text: &str) -> String {
    escaped_where(text, |c| hidden(c).is_some())
}

/// Escapes every hidden character, tab and line feed, so that the text stays on one line.
#[must_use]
pub fn one_line(text: &str) -> String {
    escaped_where(text, is_hidden)
}

fn escaped_where(text: &str, which: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if which(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_told_apart_and_shown() {
        assert_eq!(hidden('\u{1b}'), Some(Hidden::Control));
        assert_eq!(hidden('\u{202e}'), Some(Hidden::Bidi));
        assert_eq!(hidden('\u{200b}'), Some(Hidden::ZeroWidth));
        assert_eq!(hidden('\u{e0041}'), Some(Hidden::Tag));
        assert!("Grüße, 東京 — “ok”\n\t🚀".chars().all(|c| hidden(c).is_none()));
        assert_eq!(escaped("a\u{1b}[31mb\u{200b}"), "a\\u{1b}[31mb\\u{200b}");
        assert_eq!(escaped("a\tb\n"), "a\tb\n");
        assert_eq!(one_line("a\tb\n\u{1b}"), "a\\u{9}b\\u{a}\\u{1b}");
    }
}
