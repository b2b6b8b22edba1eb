//! Short run of the differential fuzzing loop; `examples/fuzz.rs` runs it for longer.

mod support;

use toolcrib_containment::World;

/// R7.3: no *compatible* in the open world has a counterexample.
#[test]
fn no_proof_in_the_open_world_has_a_counterexample() {
    let tally = support::fuzz::run(2_000, 11, World::Open);
    assert!(tally.compatible > 400 && tally.breaking > 300, "{tally:?}");
    assert!(tally.unknown * 50 < 2_000, "{tally:?}");
    assert_eq!(tally.disagreements, 0, "{tally:?}");
}

/// R7.2, R7.3: no *compatible* in the declared world has a counterexample.
#[test]
fn no_proof_in_the_declared_world_has_a_counterexample() {
    let tally = support::fuzz::run(1_000, 12, World::Declared);
    assert!(tally.compatible > 200 && tally.breaking > 150, "{tally:?}");
}
