//! Exit codes, the same for every verb, and failures that carry one.

use std::borrow::Cow;
use std::process::ExitCode;

/// What the program tells the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, nothing found.
    Nothing = 0,
    /// Done, something found.
    Findings = 1,
    /// The words, the configuration or the input are wrong.
    Usage = 2,
    /// A side could not be loaded or reached.
    Unreachable = 3,
    /// A fault of the program itself.
    Internal = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a verb could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    error: anyhow::Error,
    hint: Option<Cow<'static, str>>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, error: error.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says first what the failure means.
    pub(crate) fn context(mut self, context: &'static str) -> Self {
        self.error = self.error.context(context);
        self
    }

    /// One clear line, and a hint where there is one.
    pub(crate) fn report(self) -> Exit {
        let broken_pipe = self
            .error
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe);
        if broken_pipe {
            return Exit::Nothing;
        }
        eprintln!("toolcrib: {:#}", self.error);
        if let Some(hint) = self.hint {
            eprintln!("  hint: {hint}");
        }
        self.exit
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}", self.error)
    }
}

/// Writes to standard output; a reader that went away ends the program quietly.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| if text.ends_with('\n') { Ok(()) } else { out.write_all(b"\n") })
        .and_then(|()| out.flush())
        .map_err(|error| Failure::new(Exit::Internal, error))
}
