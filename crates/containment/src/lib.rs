//! Schema containment: is every value valid under one JSON Schema also valid under another?
//!
//! Covers the whole language, draft-04 to 2020-12. There are three answers: *compatible* with a proof, *breaking*
//! with a witness that one compiled validator accepts and the other refuses, and *unknown* with the obstacle.
//! *Compatible* never rests on failing to find a witness. The crate is pure: it reads no file, opens no socket, and
//! reads the clock only to keep its deadline.

mod arena;
pub mod batch;
mod canonical;
pub mod crosscheck;
mod dialect;
mod document;
mod error;
mod eval;
mod judge;
mod kind;
mod language;
pub mod limits;
mod lower;
mod obstacle;
mod pattern;
mod rational;
mod render;
pub mod score;
mod solve;
mod witness;

pub use dialect::Dialect;
pub use document::Limits;
pub use error::{SchemaError, SchemaFault, Side};
pub use judge::{Direction, Judgement, Options, Proof, Prover, Verdict, World};
pub use obstacle::Obstacle;
pub use witness::{Refusal, Witness};
