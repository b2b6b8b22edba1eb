//! Toolsets in the configuration: their sections of `toolcrib.toml`, and the selection file of R3.2
//! (`TOOLCRIB_TOOLSET_CONFIG`).
//!
//! Refuses unknown keys, wrong types and invalid toolset names, each with line and column. Opens no file. The
//! gateway's configuration file has the four sections as members of these types, and builds a [`Config`] of them.
//!
//! ```toml
//! [toolsets.git]
//! description = "Repositories and commits"
//! tools = ["git_*", "*_commit"]   # patterns over names, and/or
//! servers = ["github*"]           # over servers, and/or
//! read_only = true                # over what the annotations mean
//! always_loaded = false
//! programmatic = true
//!
//! [selection]
//! allowed = ["git", "issues"]     # nobody reaches beyond these
//! default = ["git"]               # loaded at start; absent: all
//! read_only = false
//! discovery = true
//! profiles = false                # may enable_toolset change a modern principal's stored profile
//! clients = { "claude*" = ["all"] }
//! principals = { "intern-*" = ["git"] }
//!
//! [client_modes]
//! "codex*" = "static"
//!
//! [allowed_callers]
//! anthropic = ["direct", "code_execution_20260120"]
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;

use super::glob::Glob;
use super::selection::Names;
use super::{BadToolsetName, Toolset, ToolsetOptions, check_name};
use crate::mode::Mode;

/// Invalid configuration, with the position of the fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ConfigError {
    pub line: usize,
    pub column: usize,
    pub message: Box<str>,
}

/// Sections of the configuration about toolsets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub toolsets: BTreeMap<toml::Spanned<String>, Toolset>,
    pub selection: SelectionConfig,
    pub client_modes: BTreeMap<String, Mode>,
    pub allowed_callers: BTreeMap<String, Vec<Box<str>>>,
}

/// Section `[selection]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelectionConfig {
    pub allowed: Option<Names>,
    pub default: Option<Names>,
    pub read_only: bool,
    pub discovery: Option<bool>,
    pub profiles: bool,
    pub clients: BTreeMap<Glob, Names>,
    pub principals: BTreeMap<Glob, Names>,
}

impl Config {
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            placed(text, at, error.message())
        })?;
        config.check(text)?;
        Ok(config)
    }

    /// Refuses invalid toolset names. `text` is the whole file, also if these sections are only part of it.
    pub fn check(&self, text: &str) -> Result<(), ConfigError> {
        self.bad_name().map_or(Ok(()), |(at, error)| Err(placed(text, at, &error.to_string())))
    }

    /// Returns the first invalid toolset name with its byte position.
    #[must_use]
    pub fn bad_name(&self) -> Option<(usize, BadToolsetName)> {
        self.toolsets.keys().find_map(|name| Some((name.span().start, check_name(name.get_ref()).err()?)))
    }

    /// Adds the configuration to the options that the code set; for a toolset that both declare, the configuration
    /// wins.
    pub fn apply(self, options: &mut ToolsetOptions) {
        for (name, mut toolset) in self.toolsets {
            toolset.name = name.into_inner().into();
            options.declared.retain(|other| other.name != toolset.name);
            options.declared.push(toolset);
        }
        let SelectionConfig { allowed, default, read_only, discovery, profiles, clients, principals } =
            self.selection;
        options.allowed = allowed.or(options.allowed.take());
        options.start = default.or(options.start.take());
        options.read_only |= read_only;
        options.discovery = discovery.or(options.discovery);
        options.profiles_change |= profiles;
        options.clients.splice(0..0, clients);
        options.principals.splice(0..0, principals);
        for (pattern, mode) in self.client_modes {
            options.modes.insert(&pattern, mode);
        }
        for (vendor, names) in self.allowed_callers {
            options.callers.set(&vendor, names);
        }
    }
}

/// Content of the file that `TOOLCRIB_TOOLSET_CONFIG` names.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct SelectionFile {
    pub default_toolsets: Option<Names>,
    pub client_overrides: BTreeMap<Glob, Names>,
}

impl SelectionFile {
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        serde_json::from_str(text).map_err(|error| {
            let whole = error.to_string();
            let message = whole.split(" at line ").next().unwrap_or_default();
            ConfigError { line: error.line(), column: error.column(), message: message.into() }
        })
    }

    pub fn apply(self, options: &mut ToolsetOptions) {
        options.start = self.default_toolsets.or(options.start.take());
        options.clients.splice(0..0, self.client_overrides);
    }
}

/// Converts a byte position to line and column, both counted from 1.
fn placed(text: &str, at: usize, message: &str) -> ConfigError {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    ConfigError {
        line: before.matches('\n').count() + 1,
        column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
        message: message.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_is_read() {
        let text = r#"
[toolsets.git]
description = "Repositories"
tools = ["git_*"]
read_only = true
programmatic = true
[selection]
allowed = ["git"]
default = ["all"]
profiles = true
clients = { "claude*" = ["git"] }
[client_modes]
"codex*" = "dynamic"
[allowed_callers]
anthropic = ["code_execution_20260521"]
"#;
        let mut options = ToolsetOptions::default();
        Config::parse(text).unwrap().apply(&mut options);
        assert_eq!(
            options.declared,
            [Toolset::new("git", "Repositories").tools(&["git_*"]).read_only(true).programmatic()]
        );
        assert_eq!((options.allowed, options.start), (Some(Names::parse("git")), Some(Names::All)));
        assert!(options.profiles_change && options.clients.len() == 1);
    }

    /// R3.2: malformed or unknown entries are refused with line and column.
    #[test]
    fn faults_have_their_place() {
        let refused = |text: &str| {
            let error = Config::parse(text).unwrap_err();
            (error.line, error.column, error.to_string())
        };
        let (line, column, text) = refused("[toolsets.git]\ndescription = \"x\"\ntols = [\"a\"]\n");
        assert_eq!((line, column), (3, 1), "{text}");
        assert!(text.contains("tols"), "{text}");
        assert_eq!(refused("[selection]\nallowed = 7\n").0, 2);
        assert_eq!(refused("[selection]\nallowed = [\n\"a\" \"b\"]\n").0, 3);
        let (line, column, text) = refused("[toolsets.\"a b\"]\n");
        assert_eq!((line, column), (1, 11), "{text}");
        let error = SelectionFile::parse("{\n \"defaultToolset\": []}").unwrap_err();
        assert_eq!((error.line, error.column), (2, 17), "{error}");
    }
}
