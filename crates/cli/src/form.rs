//! In which form a verb says what it did: a sentence for people, or one JSON object of a stable shape for machines.

use serde_json::Value;

use crate::exit::{Failure, print};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct Form {
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    #[value(alias = "text")]
    Terminal,
    /// For machines.
    Json,
}

impl Form {
    pub(crate) fn format(self) -> Format {
        self.format
    }

    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    /// Says one thing in the form that is wanted.
    pub(crate) fn say(self, text: &str, json: &Value) -> Result<(), Failure> {
        if self.is_json() { print(&json.to_string()) } else { print(text) }
    }

    /// Says what only people want to know.
    pub(crate) fn remark(self, text: &str) -> Result<(), Failure> {
        if self.is_json() { Ok(()) } else { print(text) }
    }
}
