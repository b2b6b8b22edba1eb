//! Expansion of variables in a value: `${NAME}`, `${NAME:-default}` and VS Code's `${env:NAME}`.
//!
//! Guarantees: an unset or empty variable without a default is an error with its name, so nothing expands to an empty
//! text by accident. The value of a variable is not expanded again. `$${` stands for `${`. `${workspaceFolder}` is the
//! absolute path of the file's folder, or of the folder around it where a client keeps the file in one of its own
//! (`.vscode/mcp.json`).

use std::path::PathBuf;

use super::Reader;
use super::place::{ConfigError, Problem};

/// Folders of a workspace in which clients keep their files.
const CLIENT_FOLDERS: [&str; 6] = [".vscode", ".cursor", ".windsurf", ".gemini", ".codex", ".claude"];

impl Reader<'_> {
    pub(super) fn expand(&self, value: &str) -> Result<String, ConfigError> {
        let mut out = String::with_capacity(value.len());
        let mut rest = value;
        while let Some(at) = rest.find("${") {
            let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
            if let Some(before) = before.strip_suffix('$') {
                out.push_str(before);
                out.push_str("${");
                rest = after.get(2..).unwrap_or_default();
                continue;
            }
            out.push_str(before);
            let inner = after.get(2..).unwrap_or_default();
            let Some((name, after)) = inner.split_once('}') else {
                return Err(self.error_near(value, Problem::BadVariable(after.to_owned())));
            };
            out.push_str(&self.variable(name)?);
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }

    fn variable(&self, text: &str) -> Result<String, ConfigError> {
        let near = |problem| self.error_near(&format!("${{{text}}}"), problem);
        if text.starts_with("input:") {
            return Err(near(Problem::AsksForInput(format!("${{{text}}}"))));
        }
        if matches!(text, "workspaceFolder" | "workspaceRoot") {
            return Ok(self.workspace().map_err(near)?.display().to_string());
        }
        let (name, default) = match text.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (text, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !name.starts_with(|c: char| c.is_ascii_digit());
        if !is_name {
            return Err(near(Problem::BadVariable(format!("${{{text}}}"))));
        }
        let value = self.environment.variable(name);
        match (value.filter(|value| !value.is_empty()), default) {
            (Some(value), _) => Ok(value),
            (None, Some(default)) => Ok(default.to_owned()),
            (None, None) => Err(near(Problem::MissingVariable(name.to_owned()))),
        }
    }

    /// Returns the absolute path of the workspace that the file belongs to.
    fn workspace(&self) -> Result<PathBuf, Problem> {
        let unknown = |_| Problem::MissingVariable("workspaceFolder".to_owned());
        // The folder of a bare file name is empty, which stands for the current one.
        let folder = std::env::current_dir().map_err(unknown)?.join(self.folder());
        let folder: PathBuf = std::path::absolute(folder).map_err(unknown)?.components().collect();
        let is_clients_own =
            folder.file_name().is_some_and(|name| CLIENT_FOLDERS.iter().any(|own| name == *own));
        let around = folder.parent().filter(|_| is_clients_own).map(ToOwned::to_owned);
        Ok(around.unwrap_or(folder))
    }

    pub(super) fn expand_all(&self, values: &[String]) -> Result<Vec<String>, ConfigError> {
        values.iter().map(|value| self.expand(value)).collect()
    }

    pub(super) fn expand_map(
        &self,
        values: std::collections::BTreeMap<String, String>,
    ) -> Result<std::collections::BTreeMap<String, String>, ConfigError> {
        values.into_iter().map(|(key, value)| Ok((key, self.expand(&value)?))).collect()
    }
}
