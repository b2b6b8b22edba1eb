//! Contract change: what broke between two lists of tools, proven by a counterexample.
//!
//! Input schemas are judged contravariantly, output schemas covariantly, by containment and not by
//! a list of patterns; a *breaking* schema verdict carries a value that one validator accepts and
//! the other refuses. What containment is silent about (safety hints, prose the model reads, an
//! argument that is now ignored) has rules of its own. Pure: no clock, no disk, no network.

mod change;
mod definition;
mod diff;
mod edit_distance;
mod fingerprint;
mod hints;
mod level;
mod lock;
mod pairing;
mod place;
pub mod render;
mod report;
mod rule;
mod schema;
mod text;
mod unusable;
mod waiver;

pub use change::{Change, Direction, Note};
pub use diff::{Options, diff};
pub use fingerprint::Fingerprint;
pub use level::{Bump, Group, Level};
pub use lock::{ApproveError, Lock, LockError, LockedTool, of_definition as pinned_digest};
pub use place::{Place, Places};
pub use report::{FailOn, Report, Summary};
pub use rule::{Rule, RuleLevel, rule, rules};
pub use text::{Danger, dangers, word_diff};
pub use unusable::{Sides, Unusable, unusable};
pub use waiver::{Waived, Waiver, WaiverError, Waivers};
