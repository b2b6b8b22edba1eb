//! Command-line errors of clap as one line with a hint, like every other failure.

use clap::error::ErrorKind;

use crate::exit::{Exit, Failure};

/// Prints a clap error and returns the exit code; help and version are no error.
pub(crate) fn refused(error: &clap::Error) -> Exit {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // A closed pipe is no error.
        let _ = error.print();
        return if error.use_stderr() { Exit::Usage } else { Exit::Nothing };
    }
    failure(error).report()
}

/// Converts a clap error into a failure. clap's text has the error up to an empty line, then tips, the usage, and how
/// to get help.
pub(crate) fn failure(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let (wrong, rest) = text.split_once("\n\n").unwrap_or((&text, ""));
    let wrong = wrong.trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ");
    let of = |word: &str| rest.lines().map(str::trim).find_map(|line| line.strip_prefix(word));
    let usage = of("Usage: ");
    let verb: Vec<&str> =
        usage.into_iter().flat_map(str::split_whitespace).take_while(|word| is_verb(word)).collect();
    let help = if verb.is_empty() {
        "`--help` says more".to_owned()
    } else {
        format!("`{} --help` says more", verb.join(" "))
    };
    let hint = match (of("tip: "), usage) {
        (Some(tip), _) => format!("{tip}; {help}"),
        (None, Some(usage)) if verb.len() > 1 => format!("usage: {usage}; {help}"),
        _ => help,
    };
    Failure::new(Exit::Usage, anyhow::anyhow!(wrong)).hint(hint)
}

fn is_verb(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-')
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use crate::Cli;

    fn said(words: &[&str]) -> String {
        let error = Cli::try_parse_from([&["toolcrib"], words].concat()).unwrap_err();
        super::failure(&error).to_string()
    }

    /// R8.1: every command-line error is one line.
    #[test]
    fn each_slip_is_one_line() {
        assert_eq!(said(&["frobnicate"]), "unrecognized subcommand 'frobnicate'");
        assert_eq!(said(&["serve", "--flub"]), "unexpected argument '--flub' found");
        assert_eq!(said(&["diff", "a"]), "the following required arguments were not provided: <NEW>");
        let value = said(&["lint", "a", "--format", "x"]);
        assert!(value.starts_with("invalid value 'x' for '--format <FORMAT>' [possible values: "), "{value}");
        Cli::command().debug_assert();
    }
}
