//! The five JSON Schema dialects, by name and by `$schema`.

use jsonschema::Draft;
use serde_json::Value;

use crate::error::SchemaFault;

/// A JSON Schema dialect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// draft-04
    Draft4,
    /// draft-06
    Draft6,
    /// draft-07
    Draft7,
    /// draft 2019-09
    Draft201909,
    /// draft 2020-12, which a schema without `$schema` has
    #[default]
    Draft202012,
}

impl Dialect {
    /// Parses the name that the command line and batch files use.
    pub fn from_name(name: &str) -> Option<Dialect> {
        Some(match name {
            "draft4" => Dialect::Draft4,
            "draft6" => Dialect::Draft6,
            "draft7" => Dialect::Draft7,
            "draft2019-09" => Dialect::Draft201909,
            "draft2020-12" => Dialect::Draft202012,
            _ => return None,
        })
    }

    /// Returns the name that [`Dialect::from_name`] parses.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Draft4 => "draft4",
            Dialect::Draft6 => "draft6",
            Dialect::Draft7 => "draft7",
            Dialect::Draft201909 => "draft2019-09",
            Dialect::Draft202012 => "draft2020-12",
        }
    }

    /// Returns the dialect that a document declares, else `default`.
    pub(crate) fn of(document: &Value, default: Dialect) -> Result<Dialect, SchemaFault> {
        let Some(declared) = document.get("$schema") else { return Ok(default) };
        let uri = declared.as_str().unwrap_or_default();
        Dialect::from_draft(Draft::from_schema_uri(uri))
            .ok_or_else(|| SchemaFault::UnknownDialect { uri: uri.to_owned() })
    }

    pub(crate) fn from_draft(draft: Draft) -> Option<Dialect> {
        Some(match draft {
            Draft::Draft4 => Dialect::Draft4,
            Draft::Draft6 => Dialect::Draft6,
            Draft::Draft7 => Dialect::Draft7,
            Draft::Draft201909 => Dialect::Draft201909,
            Draft::Draft202012 => Dialect::Draft202012,
            _ => return None,
        })
    }

    pub(crate) fn draft(self) -> Draft {
        match self {
            Dialect::Draft4 => Draft::Draft4,
            Dialect::Draft6 => Draft::Draft6,
            Dialect::Draft7 => Draft::Draft7,
            Dialect::Draft201909 => Draft::Draft201909,
            Dialect::Draft202012 => Draft::Draft202012,
        }
    }

    /// `true` up to draft-07, where every keyword beside `$ref` is ignored.
    pub(crate) fn ref_hides_siblings(self) -> bool {
        self <= Dialect::Draft7
    }
}
