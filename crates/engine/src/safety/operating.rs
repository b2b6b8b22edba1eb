//! Operating data that only the program around the engine knows: its data folder and the person at its terminal.
//!
//! The program sets both once. Messages that name a command include these words, so that the command works when it is
//! copied.

/// Operating data, set by the program that runs the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Operating {
    /// Arguments at the end of every command that works on this server's data, such as `--data /srv/toolcrib`; empty
    /// if the program finds the data without them.
    pub words: String,
    /// Person at the terminal who answers this process's questions; recorded with each confirmation.
    pub person: Option<String>,
}

impl Operating {
    /// Returns the whole command line of a verb, such as `toolcrib unlock --data /srv/toolcrib`.
    #[must_use]
    pub fn command(&self, verb: &str) -> String {
        match self.words.as_str() {
            "" => format!("toolcrib {verb}"),
            words => format!("toolcrib {verb} {words}"),
        }
    }
}

/// Quotes a text for a shell.
#[must_use]
pub fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_word_is_one_word_to_a_shell() {
        assert_eq!(quoted("/srv/tool-crib_1"), "/srv/tool-crib_1");
        assert_eq!(quoted("/a b"), "'/a b'");
        assert_eq!(quoted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }

    /// R12.5: a command in a message includes the arguments that find the data.
    #[test]
    fn a_command_ends_with_the_words_that_find_the_data() {
        assert_eq!(Operating::default().command("unlock"), "toolcrib unlock");
        let elsewhere = Operating { words: "--data '/a b'".to_owned(), person: None };
        assert_eq!(elsewhere.command("approve list"), "toolcrib approve list --data '/a b'");
    }
}
