//! Runs the official MCP conformance suite against a server and counts the checks in the files that it writes.
//!
//! The suite's exit code is not sufficient: a scenario can pass by accident (one asks only for "any text"), and a
//! scenario that did not run is not reported as failed. [`Report::shortfall`] therefore requires every required
//! scenario to be present, no failed check in any of them, and at least as many passed checks as the SDK's own fixture
//! reaches.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use serde_json::Value;

use crate::deps::{Deps, DepsError};

/// Timeout of one scenario in milliseconds.
const SCENARIO_MS_MAX: &str = "30000";
/// Length of `-2026-11-15T20-23-20-948Z`, which the suite appends to a scenario's name.
const TIMESTAMP_LENGTH: usize = 25;

/// A revision of the specification whose required scenarios are frozen in the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirements {
    Legacy,
    Modern,
}

#[derive(Debug, thiserror::Error)]
pub enum ConformanceError {
    #[error(transparent)]
    Deps(#[from] DepsError),
    #[error("{what}: {source}")]
    Io { what: String, source: std::io::Error },
    #[error("{path} is not a list of checks: {source}")]
    Checks { path: PathBuf, source: serde_json::Error },
}

/// Result of one run of the suite.
#[derive(Debug)]
pub struct Report {
    pub requirements: Requirements,
    pub status: ExitStatus,
    pub scenarios: BTreeMap<String, Scenario>,
    /// Required scenarios without a result.
    pub absent: Vec<String>,
}

/// The checks of one scenario.
#[derive(Debug, Default)]
pub struct Scenario {
    pub required: bool,
    pub passed: usize,
    /// Number of times that each check passed, by its id.
    pub checks: BTreeMap<String, usize>,
    pub other: usize,
    /// Check and message of each failure.
    pub failed: Vec<String>,
}

impl Requirements {
    pub const ALL: [Self; 2] = [Self::Legacy, Self::Modern];

    #[must_use]
    pub fn revision(self) -> &'static str {
        match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        }
    }

    /// Number of checks in required scenarios that the official Rust SDK's fixture passes with this version of the
    /// suite. One of them applies only to servers that answer any client that lists streams first with a stream.
    #[must_use]
    pub fn passed_min(self) -> usize {
        match self {
            Self::Legacy => 70,
            Self::Modern => 121,
        }
    }
}

/// Runs the suite against a listening server; results are written to a fresh folder below `results`.
pub fn run(
    deps: &Deps,
    url: &str,
    requirements: Requirements,
    results: &Path,
) -> Result<Report, ConformanceError> {
    let suite = deps.conformance_suite()?;
    let folder = results.join(requirements.revision());
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(io(&folder))?;
    }
    std::fs::create_dir_all(&folder).map_err(io(&folder))?;
    let log = folder.join("suite.log");
    let output = std::fs::File::create(&log).map_err(io(&log))?;
    let errors = output.try_clone().map_err(io(&log))?;
    let status = Command::new(deps.node()?)
        .arg(&suite)
        .args(["server", "--url", url, "--requirements", requirements.revision()])
        .args(["--timeout", SCENARIO_MS_MAX, "-o"])
        .arg(&folder)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .status()
        .map_err(io(&suite))?;
    let list = suite.ancestors().nth(2).unwrap_or(&suite).join("requirements");
    let list = list.join(format!("{}.yaml", requirements.revision()));
    let required = required_scenarios(&std::fs::read_to_string(&list).map_err(io(&list))?);
    let mut scenarios = read_results(&folder)?;
    let mut absent = Vec::new();
    for name in required {
        match scenarios.get_mut(&name) {
            Some(scenario) => scenario.required = true,
            None => absent.push(name),
        }
    }
    Ok(Report { requirements, status, scenarios, absent })
}

impl Report {
    /// Returns the numbers of passed and failed checks of the required scenarios.
    #[must_use]
    pub fn required_checks(&self) -> (usize, usize) {
        self.count(|scenario| scenario.required)
    }

    /// Returns the numbers of passed and failed checks of all scenarios that ran.
    #[must_use]
    pub fn all_checks(&self) -> (usize, usize) {
        self.count(|_| true)
    }

    fn count(&self, which: impl Fn(&Scenario) -> bool) -> (usize, usize) {
        let chosen = self.scenarios.values().filter(|scenario| which(scenario));
        chosen.fold((0, 0), |(passed, failed), one| (passed + one.passed, failed + one.failed.len()))
    }

    /// Returns the checks of required scenarios that passed in `other` and not here. A proxy may not lose any check of
    /// its server.
    #[must_use]
    pub fn lost_against(&self, other: &Self) -> Vec<String> {
        let mut lost = Vec::new();
        for (name, scenario) in other.scenarios.iter().filter(|(_, scenario)| scenario.required) {
            let own = self.scenarios.get(name).map(|scenario| &scenario.checks);
            for (id, passed) in &scenario.checks {
                let here = own.and_then(|own| own.get(id)).copied().unwrap_or(0);
                if here < *passed {
                    lost.push(format!("{name}: {id} passed {here} times, not {passed}"));
                }
            }
        }
        lost
    }

    /// Returns why this run does not prove conformance; `None` if it does.
    #[must_use]
    pub fn shortfall(&self) -> Option<String> {
        if let Some(name) = self.absent.first() {
            return Some(format!("{} required scenarios did not run, {name} first", self.absent.len()));
        }
        let (passed, failed) = self.required_checks();
        if failed > 0 {
            return Some(format!("{failed} checks failed in required scenarios"));
        }
        if passed < self.requirements.passed_min() {
            let least = self.requirements.passed_min();
            return Some(format!("{passed} checks passed in required scenarios, {least} are the mark"));
        }
        (!self.status.success()).then(|| format!("the suite itself ended with {}", self.status))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, scenario) in &self.scenarios {
            let mark = if scenario.failed.is_empty() { "ok  " } else { "FAIL" };
            let weight = if scenario.required { "" } else { " (not required)" };
            writeln!(f, "    {mark} {name}{weight}: {} passed", scenario.passed)?;
            for failure in &scenario.failed {
                writeln!(f, "         {failure}")?;
            }
        }
        for name in &self.absent {
            writeln!(f, "    FAIL {name}: did not run")?;
        }
        let ((passed, failed), (all, all_failed)) = (self.required_checks(), self.all_checks());
        write!(
            f,
            "    {}: required {passed} checks passed, {failed} failed; everything {all} passed, {all_failed} failed",
            self.requirements.revision()
        )
    }
}

/// Returns the entries under `server:` in the suite's own list.
fn required_scenarios(yaml: &str) -> Vec<String> {
    yaml.lines()
        .skip_while(|line| *line != "server:")
        .skip(1)
        .take_while(|line| line.starts_with(' ') || line.is_empty() || line.starts_with('#'))
        .filter_map(|line| line.trim().strip_prefix("- "))
        .map(str::to_owned)
        .collect()
}

fn read_results(folder: &Path) -> Result<BTreeMap<String, Scenario>, ConformanceError> {
    let mut scenarios = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(io(folder))? {
        let entry = entry.map_err(io(folder))?;
        let path = entry.path().join("checks.json");
        if !path.is_file() {
            continue;
        }
        let folder_name = entry.file_name().to_string_lossy().into_owned();
        let name = folder_name.strip_prefix("server-").unwrap_or(&folder_name);
        let name = name.get(..name.len().saturating_sub(TIMESTAMP_LENGTH)).unwrap_or(name);
        let text = std::fs::read_to_string(&path).map_err(io(&path))?;
        let checks: Vec<Value> =
            serde_json::from_str(&text).map_err(|source| ConformanceError::Checks { path, source })?;
        scenarios.insert(name.to_owned(), Scenario::of(&checks));
    }
    Ok(scenarios)
}

impl Scenario {
    fn of(checks: &[Value]) -> Self {
        let mut scenario = Self::default();
        for check in checks {
            let text = |key| check.get(key).and_then(Value::as_str).unwrap_or("?");
            match text("status") {
                "SUCCESS" => {
                    scenario.passed += 1;
                    *scenario.checks.entry(text("id").to_owned()).or_default() += 1;
                }
                "FAILURE" => scenario.failed.push(format!("{}: {}", text("id"), text("errorMessage"))),
                _ => scenario.other += 1,
            }
        }
        scenario
    }
}

fn io(what: &Path) -> impl Fn(std::io::Error) -> ConformanceError + use<> {
    let what = what.display().to_string();
    move |source| ConformanceError::Io { what: what.clone(), source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    fn report(passed: usize, failed: &[&str]) -> Report {
        let failed = failed.iter().map(|&name| name.to_owned()).collect();
        let checks = BTreeMap::from([("answers".to_owned(), passed)]);
        let scenario = Scenario { required: true, passed, checks, other: 0, failed };
        Report {
            requirements: Requirements::Legacy,
            status: ExitStatus::from_raw(0),
            scenarios: BTreeMap::from([("ping".to_owned(), scenario)]),
            absent: Vec::new(),
        }
    }

    #[test]
    fn a_full_run_has_no_shortfall() {
        assert_eq!(report(70, &[]).shortfall(), None);
    }

    #[test]
    fn a_failed_check_a_thin_run_and_an_absent_scenario_are_shortfalls() {
        assert!(report(70, &["ping: no answer"]).shortfall().unwrap().contains("failed"));
        assert!(report(69, &[]).shortfall().unwrap().contains("the mark"));
        let absent = Report { absent: vec!["tools-list".to_owned()], ..report(70, &[]) };
        assert!(absent.shortfall().unwrap().contains("tools-list"));
    }

    #[test]
    fn a_check_that_passes_less_often_than_elsewhere_is_lost() {
        assert!(report(3, &[]).lost_against(&report(3, &[])).is_empty());
        let lost = report(2, &[]).lost_against(&report(3, &[]));
        assert_eq!(lost, ["ping: answers passed 2 times, not 3"]);
    }

    #[test]
    fn required_scenarios_end_where_the_next_list_begins() {
        let yaml = "# server:\nserver:\n  - ping\n  # why\n  - tools-list\n\nclient:\n  - initialize\n";
        assert_eq!(required_scenarios(yaml), ["ping", "tools-list"]);
    }
}
