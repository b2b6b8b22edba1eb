//! Every target, one file each.

mod admission;
mod canonical_form;
mod definition;
mod expected;
mod frames;
mod grown;
mod read_json;
mod schema;
mod vocabulary;

use crate::target::Target;

/// All targets, in the order they are run.
pub const ALL: &[Target] = &[
    read_json::TARGET,
    expected::TARGET,
    canonical_form::TARGET,
    definition::TARGET,
    admission::TARGET,
    schema::TARGET,
    frames::HTTP,
    frames::STDIO,
];

#[must_use]
pub fn named(name: &str) -> Option<&'static Target> {
    ALL.iter().find(|target| target.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;
    use crate::campaign;

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = ALL.iter().map(|target| target.name).collect();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn every_target_has_seeds_that_pass_within_its_bound() {
        for target in ALL {
            let seeds = (target.seeds)();
            assert!(!seeds.is_empty(), "{} has no seeds", target.name);
            for seed in seeds {
                assert!(seed.len() <= target.bytes_max, "{}: a seed is too long", target.name);
                let outcome = campaign::execute(target, &seed, Duration::from_secs(5));
                assert!(
                    outcome.is_ok(),
                    "{}: {outcome:?} on {}",
                    target.name,
                    String::from_utf8_lossy(&seed)
                );
            }
        }
    }
}
