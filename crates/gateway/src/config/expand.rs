//! Expansion of variables in a value: `${NAME}`, `${NAME:-default}` and VS Code's `${env:NAME}`.
//!
//! Guarantees: an unset variable is an error with its name, never an empty text. The value of a variable is not
//! expanded again. `$${` stands for `${`.

use super::Reader;
use super::place::{ConfigError, Problem};

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
            return Ok(self.folder().display().to_string());
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
        self.environment
            .variable(name)
            .or_else(|| default.map(str::to_owned))
            .ok_or_else(|| near(Problem::MissingVariable(name.to_owned())))
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
