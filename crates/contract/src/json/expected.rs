//! A value whose schema is known before it is read.

/// Where in a text a value of a known schema is expected, and who knows it when it is there.
#[derive(Clone, Copy)]
pub struct Expected<'e> {
    /// The members that lead to it from the root.
    pub(super) path: &'e [&'e str; 2],
    pub(super) by: &'e dyn Recognise,
}

impl<'e> Expected<'e> {
    pub(crate) const fn new(path: &'e [&'e str; 2], by: &'e dyn Recognise) -> Self {
        Self { path, by }
    }
}

impl std::fmt::Debug for Expected<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Expected").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Knows values of one schema by their text. Guarantee of all that do: what is recognised is strict JSON, no key of it
/// has an escape or stands twice in its object, and it keeps the schema.
pub(crate) trait Recognise: Send + Sync {
    /// Tells it from all others.
    fn identity(&self) -> u64;

    /// Containers inside containers of what it recognises, at most.
    fn depth(&self) -> usize;

    /// The object that starts at `at`. `None` says nothing about it.
    fn recognise(&self, source: &str, at: usize) -> Option<Recognised>;
}

pub(crate) struct Recognised {
    /// One past its end.
    pub(crate) end: usize,
    /// There is white space between its tokens.
    pub(crate) spaced: bool,
}
