//! Where `${NAME}` gets its value.

/// Looks variables up; a test has its own.
pub trait Environment {
    fn variable(&self, name: &str) -> Option<String>;
}

/// The environment this process was started with.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}
