//! Spans sent to a collector, as OTLP over HTTP in protobuf or JSON (R5.10).
//!
//! Guarantees: whoever makes a call never waits for the collector; what waits to be sent is bounded, and what does not fit
//! is dropped and counted; a collector that is gone costs log lines and nothing else. A batch is sent again
//! where the collector says that it may be, a few times.

mod exporter;
mod json;
mod protobuf;
mod settings;

pub use exporter::Exporter;
pub use settings::{Settings, SettingsError};
