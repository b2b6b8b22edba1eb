//! All fuzz targets, one file each.

mod admission;
mod audit_export;
mod canonical_form;
mod catalogue;
mod configuration;
mod definition;
mod events;
mod frames;
mod framing;
mod grown;
mod http_answers;
mod http_requests;
mod jwt;
mod lock;
mod oauth_documents;
mod read_json;
mod schema;
mod seal;
mod stdio_messages;
mod uri_template;
mod vocabulary;
mod yaml;

use crate::target::Target;

/// All targets, in the order in which they run.
pub const ALL: &[Target] = &[
    read_json::TARGET,
    canonical_form::TARGET,
    definition::TARGET,
    admission::TARGET,
    schema::TARGET,
    frames::HTTP,
    frames::STDIO,
    http_requests::TARGET,
    http_answers::TARGET,
    events::TARGET,
    stdio_messages::TARGET,
    uri_template::TARGET,
    oauth_documents::TARGET,
    jwt::TARGET,
    seal::TARGET,
    configuration::TARGET,
    lock::TARGET,
    audit_export::TARGET,
    yaml::TARGET,
    catalogue::TARGET,
];

#[must_use]
pub fn named(name: &str) -> Option<&'static Target> {
    ALL.iter().find(|target| target.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{campaign, measure};

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = ALL.iter().map(|target| target.name).collect();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn every_target_has_seeds_that_pass_within_its_bounds() {
        measure::limit_address_space().unwrap();
        for target in ALL {
            let seeds = (target.seeds)();
            assert!(!seeds.is_empty(), "{} has no seeds", target.name);
            for seed in seeds.into_iter().chain((target.heavy)()) {
                assert!(seed.len() <= target.bytes_max, "{}: a seed of {} bytes", target.name, seed.len());
                if let Err(broken) = campaign::execute(target, &seed) {
                    let start = String::from_utf8_lossy(seed.get(..400.min(seed.len())).unwrap_or_default());
                    panic!("{}: {}\n{start}", target.name, broken.why);
                }
            }
        }
    }
}
