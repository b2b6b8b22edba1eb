//! Source of the values of `${NAME}`.

/// Looks up environment variables. Tests implement it with fixed values.
pub trait Environment {
    fn variable(&self, name: &str) -> Option<String>;
}

/// Environment of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}
