//! Waivers: findings that somebody accepts, identified by fingerprint or by rule and tool, with a reason and an
//! optional expiry date. A waiver that has expired or covers nothing is itself reported.

use serde::Deserialize;

use crate::change::Change;
use crate::report::Report;

/// Acceptance of findings.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// Fingerprint of the finding; without it, `rule` and `tool` are required.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// Id of the rule.
    #[serde(default)]
    pub rule: Option<String>,
    /// Name of the tool.
    #[serde(default)]
    pub tool: Option<String>,
    /// Path of the finding; absent for any path.
    #[serde(default)]
    pub path: Option<String>,
    /// Reason for the acceptance.
    pub reason: String,
    /// Last day on which it holds, `YYYY-MM-DD`.
    #[serde(default)]
    pub expires: Option<String>,
    /// Person who accepted it.
    #[serde(default)]
    pub approver: Option<String>,
}

/// Contents of a waiver file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waivers {
    /// The waivers.
    #[serde(default)]
    pub waivers: Vec<Waiver>,
}

/// Reason why a waiver file is refused.
#[derive(Debug, thiserror::Error)]
pub enum WaiverError {
    /// The text is not a waiver file.
    #[error("not a waiver file: {0}")]
    Format(#[from] serde_json::Error),
    /// A waiver has no reason.
    #[error("waiver {at}: a reason is mandatory")]
    NoReason {
        /// Position of the waiver, counted from one.
        at: usize,
    },
    /// A waiver names neither a fingerprint nor both a rule and a tool.
    #[error("waiver {at}: name a fingerprint, or a rule and a tool")]
    NoTarget {
        /// Position of the waiver, counted from one.
        at: usize,
    },
    /// An expiry date is malformed.
    #[error("waiver {at}: {expires:?} is no day (YYYY-MM-DD)")]
    BadDay {
        /// Position of the waiver, counted from one.
        at: usize,
        /// The malformed date.
        expires: String,
    },
}

/// Finding that a waiver covers.
#[derive(Clone, Debug)]
pub struct Waived {
    /// The finding.
    pub change: Change,
    /// Reason that the waiver gives.
    pub reason: String,
}

impl Waivers {
    /// Parses a waiver file.
    ///
    /// # Errors
    /// A [`WaiverError`] that names the waiver.
    pub fn parse(text: &str) -> Result<Waivers, WaiverError> {
        let waivers: Waivers = serde_json::from_str(text)?;
        for (index, waiver) in waivers.waivers.iter().enumerate() {
            let at = index + 1;
            if waiver.reason.trim().is_empty() {
                return Err(WaiverError::NoReason { at });
            }
            if waiver.fingerprint.is_none() && (waiver.rule.is_none() || waiver.tool.is_none()) {
                return Err(WaiverError::NoTarget { at });
            }
            if let Some(expires) = waiver.expires.as_ref().filter(|day| !is_day(day)) {
                return Err(WaiverError::BadDay { at, expires: expires.clone() });
            }
        }
        Ok(waivers)
    }

    /// Moves covered findings from `changes` to `waived`; `today` is `YYYY-MM-DD`.
    pub fn apply(&self, report: &mut Report, today: &str) {
        let mut used = vec![false; self.waivers.len()];
        let mut kept = Vec::new();
        for change in std::mem::take(&mut report.changes) {
            let mut covering = Vec::new();
            for (waiver, used) in self.waivers.iter().zip(&mut used).filter(|(it, _)| it.covers(&change)) {
                *used = true;
                covering.push(waiver);
            }
            // A waiver that was renewed stands beside the expired one.
            if let Some(waiver) = covering.iter().find(|waiver| waiver.holds_on(today)) {
                report.waived.push(Waived { change, reason: waiver.reason.clone() });
                continue;
            }
            report.stale.extend(covering.iter().map(|waiver| {
                let expired = waiver.expires.as_deref().unwrap_or_default();
                format!("waiver for {} expired on {expired}", waiver.target())
            }));
            kept.push(change);
        }
        report.changes = kept;
        let unused = self.waivers.iter().zip(&used).filter(|(_, used)| !**used);
        report
            .stale
            .extend(unused.map(|(waiver, _)| format!("waiver for {} applies to nothing", waiver.target())));
    }
}

impl Waiver {
    fn covers(&self, change: &Change) -> bool {
        if let Some(fingerprint) = &self.fingerprint {
            return change.fingerprint.as_str() == fingerprint;
        }
        self.rule.as_deref() == Some(change.id)
            && self.tool.as_deref() == Some(change.tool.as_str())
            && self.path.as_ref().is_none_or(|path| *path == change.path)
    }

    /// `true` if the waiver has not expired on `today`; dates in this notation sort as text.
    fn holds_on(&self, today: &str) -> bool {
        self.expires.as_deref().is_none_or(|last| today <= last)
    }

    fn target(&self) -> String {
        match &self.fingerprint {
            Some(fingerprint) => fingerprint.clone(),
            None => {
                format!("{} of {}", self.rule.as_deref().unwrap_or("?"), self.tool.as_deref().unwrap_or("?"))
            }
        }
    }
}

/// Returns true for a day of the calendar as `YYYY-MM-DD`.
fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |text: &str, length: usize| {
        let is_number = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u32>().ok()).flatten()
    };
    let [year, month, day] = parts.as_slice() else { return false };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2)) else {
        return false;
    };
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}
