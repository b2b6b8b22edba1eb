//! All attacks, one file per family.

mod batches;
mod control;
mod explanations;
mod messages;
mod patterns;
mod servers;
mod shares;
mod templates;
mod validation;
mod wire;

use crate::case::Case;

pub(crate) fn all() -> Vec<Case> {
    let families = [
        control::cases(),
        explanations::cases(),
        validation::cases(),
        templates::cases(),
        messages::cases(),
        patterns::cases(),
        batches::cases(),
        shares::cases(),
        wire::cases(),
        servers::cases(),
    ];
    families.into_iter().flatten().collect()
}
