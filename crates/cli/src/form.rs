//! Output format of a verb: text for people, or one JSON object for machines.

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

    /// Prints `text` or `json`, depending on the format.
    pub(crate) fn say(self, text: &str, json: &Value) -> Result<(), Failure> {
        if self.is_json() { print(&json.to_string()) } else { print(text) }
    }

    /// Prints `text` only in the format for people.
    pub(crate) fn remark(self, text: &str) -> Result<(), Failure> {
        if self.is_json() { Ok(()) } else { print(text) }
    }
}
