//! A stamp: the recipe of an installed part, written only when the part is complete.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

pub(super) struct Stamp {
    path: PathBuf,
    recipe: String,
}

impl Stamp {
    /// Creates a stamp. The recipe is everything that determines the installed part, as text.
    pub(super) fn new(folder: &Path, part: &str, recipe: String) -> Self {
        Self { path: folder.join(format!("{part}.stamp")), recipe }
    }

    pub(super) fn is_current(&self) -> bool {
        std::fs::read_to_string(&self.path).is_ok_and(|stamped| stamped == self.recipe)
    }

    pub(super) fn write(&self) -> Result<()> {
        std::fs::write(&self.path, &self.recipe).with_context(|| format!("writing {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_recipe_makes_a_stamp_stale() {
        let folder = std::env::temp_dir().join(format!("toolcrib-stamp-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let first = Stamp::new(&folder, "part", "one".into());
        assert!(!first.is_current());
        first.write().unwrap();
        assert!(first.is_current());
        assert!(!Stamp::new(&folder, "part", "two".into()).is_current());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
