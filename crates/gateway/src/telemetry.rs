//! Export of spans to a collector, as OTLP over HTTP in protobuf or JSON (R5.10: metrics, traces).
//!
//! Guarantees: a call never waits for the collector. The queue is bounded; spans that do not fit are dropped and
//! counted. An unreachable collector costs log lines and nothing else. A batch is retried a few times if the
//! collector's status allows it.

mod exporter;
mod json;
mod protobuf;
mod settings;

pub use exporter::Exporter;
pub use settings::{Settings, SettingsError};
