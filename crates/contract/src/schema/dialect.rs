//! JSON Schema dialects and their `$schema` URIs.

use jsonschema::Draft;

/// Published draft of JSON Schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// draft-04
    Draft4,
    /// draft-06
    Draft6,
    /// draft-07
    Draft7,
    /// 2019-09
    Draft201909,
    /// 2020-12, the default of MCP
    #[default]
    Draft202012,
}

impl Dialect {
    /// All dialects, oldest first.
    pub const ALL: [Self; 5] =
        [Self::Draft4, Self::Draft6, Self::Draft7, Self::Draft201909, Self::Draft202012];

    /// The `$schema` URI of the dialect.
    #[must_use]
    pub const fn uri(self) -> &'static str {
        match self {
            Self::Draft4 => "http://json-schema.org/draft-04/schema#",
            Self::Draft6 => "http://json-schema.org/draft-06/schema#",
            Self::Draft7 => "http://json-schema.org/draft-07/schema#",
            Self::Draft201909 => "https://json-schema.org/draft/2019-09/schema",
            Self::Draft202012 => "https://json-schema.org/draft/2020-12/schema",
        }
    }

    /// Parses a `$schema` URI: `http` or `https`, with or without an empty fragment.
    #[must_use]
    pub fn from_uri(uri: &str) -> Option<Self> {
        let key = |uri: &str| {
            let bare = uri.strip_suffix('#').unwrap_or(uri);
            bare.strip_prefix("https://").or_else(|| bare.strip_prefix("http://")).map(str::to_owned)
        };
        let wanted = key(uri)?;
        Self::ALL.into_iter().find(|d| key(d.uri()).as_deref() == Some(&wanted))
    }

    /// Short name for files and flags, such as `draft7` or `draft2020-12`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft4 => "draft4",
            Self::Draft6 => "draft6",
            Self::Draft7 => "draft7",
            Self::Draft201909 => "draft2019-09",
            Self::Draft202012 => "draft2020-12",
        }
    }

    /// Parses a short name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|d| d.name() == name)
    }

    /// `true` if keywords beside `$ref` are ignored.
    #[must_use]
    pub(super) const fn ref_hides_siblings(self) -> bool {
        matches!(self, Self::Draft4 | Self::Draft6 | Self::Draft7)
    }

    /// The keyword that identifies a schema resource.
    #[must_use]
    pub(super) const fn id_keyword(self) -> &'static str {
        match self {
            Self::Draft4 => "id",
            _ => "$id",
        }
    }

    pub(super) const fn draft(self) -> Draft {
        match self {
            Self::Draft4 => Draft::Draft4,
            Self::Draft6 => Draft::Draft6,
            Self::Draft7 => Draft::Draft7,
            Self::Draft201909 => Draft::Draft201909,
            Self::Draft202012 => Draft::Draft202012,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R1.5: the five dialects are recognised by `$schema`, in every spelling seen in real schemas.
    #[test]
    fn dialects_are_told_by_uri() {
        for dialect in Dialect::ALL {
            let bare = dialect.uri().trim_end_matches('#');
            for uri in [
                bare.to_owned(),
                format!("{bare}#"),
                bare.replace("https://", "http://"),
                bare.replace("http://", "https://"),
            ] {
                assert_eq!(Dialect::from_uri(&uri), Some(dialect), "{uri}");
            }
            assert_eq!(Dialect::from_name(dialect.name()), Some(dialect));
        }
        for other in [
            "",
            "draft-07",
            "http://json-schema.org/schema#",
            "https://json-schema.org/draft/2020-12/schema#/x",
        ] {
            assert_eq!(Dialect::from_uri(other), None, "{other}");
        }
    }
}
