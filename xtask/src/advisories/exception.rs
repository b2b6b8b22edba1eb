//! Advisories that are accepted for a time, from `advisories.toml`.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

/// Accepted advisories.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exceptions {
    #[serde(default)]
    ignore: Vec<Exception>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exception {
    id: String,
    reason: String,
    /// Last day of the exception.
    pub(super) until: Day,
}

impl Exceptions {
    pub(super) fn read(text: &str) -> Result<Self> {
        let exceptions: Self = toml::from_str(text)?;
        for exception in &exceptions.ignore {
            if exception.reason.trim().is_empty() {
                bail!("{} has no reason", exception.id);
            }
            Day::read(&exception.until.0).with_context(|| exception.id.clone())?;
        }
        Ok(exceptions)
    }

    pub(super) fn find(&self, id: &str) -> Option<&Exception> {
        self.ignore.iter().find(|exception| exception.id == id)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.ignore.iter().map(|exception| exception.id.as_str())
    }
}

/// Day as YYYY-MM-DD, whose order as text is its order in time.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(transparent)]
pub(super) struct Day(String);

impl std::fmt::Display for Day {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Day {
    pub(super) fn read(text: &str) -> Result<Self> {
        let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
        if shape != "9999-99-99" {
            bail!("{text:?} is not a day; expected YYYY-MM-DD");
        }
        Ok(Self(text.to_owned()))
    }

    pub(super) fn today() -> Result<Self> {
        let seconds =
            SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?.as_secs();
        Ok(Self::after_1970(seconds / 86_400))
    }

    /// Returns the day `days` after 1970-01-01, computed in eras of 400 years that begin in March, so that a leap day
    /// is the last of its year.
    fn after_1970(days: u64) -> Self {
        let days = days + 719_468;
        let (era, day) = (days / 146_097, days % 146_097);
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        Self(format!("{:04}-{month:02}-{day:02}", era * 400 + year + carry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_over_leap_years() {
        for (days, day) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_453, "2025-12-31"),
            (20_454, "2026-01-01"),
        ] {
            assert_eq!(Day::after_1970(days).0, day);
        }
    }
}
