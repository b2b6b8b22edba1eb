//! A short run of the differential loop; `examples/fuzz.rs` runs it at length.

mod support;

use toolcrib_containment::World;

/// R7.3: no proof has a counterexample, in the open world.
#[test]
fn no_proof_in_the_open_world_has_a_counterexample() {
    let tally = support::fuzz::run(2_000, 11, World::Open);
    assert!(tally.compatible > 400 && tally.breaking > 300, "{tally:?}");
    assert!(tally.unknown * 50 < 2_000, "{tally:?}");
    assert_eq!(tally.disagreements, 0, "{tally:?}");
}

/// R7.2, R7.3: nor in the declared world.
#[test]
fn no_proof_in_the_declared_world_has_a_counterexample() {
    let tally = support::fuzz::run(1_000, 12, World::Declared);
    assert!(tally.compatible > 200 && tally.breaking > 150, "{tally:?}");
}
