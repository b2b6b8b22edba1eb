//! Contract change: the differences between two lists of tools, each with a verdict and, for a break, a
//! counterexample.
//!
//! Input schemas are judged contravariantly, output schemas covariantly, by proving containment and not by a list of
//! patterns. A *breaking* schema verdict carries a value that one validator accepts and the other refuses. Changes
//! that containment does not see (safety hints, prose for the model, an argument that is now ignored) have their own
//! rules. Pure: no clock, no disk, no network.

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
