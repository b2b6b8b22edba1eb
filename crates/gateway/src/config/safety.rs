//! `[safety]`: JSON Schema of the section that says which calls need a confirmation.
//!
//! The section is parsed as the engine's [`toolcrib_engine::Policy`]; this table only describes it, and a test
//! compares the two.

use schemars::JsonSchema;

/// Which calls have to be confirmed, and by whom; `--policy FILE` takes the place of the whole section.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "describes the section, which is read as a policy of the engine")]
pub(super) struct SafetyTable {
    /// The first rule whose patterns fit a tool counts.
    rules: Option<Vec<SafetyRuleTable>>,
    /// Demand for destructive tools that no rule names; `unaware` if absent.
    destructive: Option<DemandWord>,
    /// Patterns over the names of clients that ask their person before a destructive call.
    honouring_clients: Option<Vec<String>>,
    /// Whether a token is given only for the very arguments it is meant for.
    require_arguments: Option<bool>,
    /// Whether calls that nobody can be asked about wait for a person in the queue.
    queue: Option<bool>,
    /// How long a token is valid, in milliseconds.
    token_ms: Option<u64>,
    /// How long a call waits for a person, in milliseconds.
    approval_ms: Option<u64>,
    /// Calls of one caller that may wait for a person.
    approvals_pending_max: Option<u32>,
    /// Tokens that one caller is given within a minute.
    tokens_per_minute_max: Option<u32>,
    /// Requests to the REST interface by one credential within a minute.
    rest_requests_per_minute_max: Option<u32>,
    /// Repetitions of one call by one caller within the window before the caller is stopped; 0 counts nothing.
    repeats_max: Option<u32>,
    /// Repetitions of one read-only call by one caller within the window before the caller is stopped; 0 counts nothing.
    repeats_read_only_max: Option<u32>,
    /// Length of the window, in milliseconds.
    repeat_window_ms: Option<u64>,
    /// Treatment of tools of other servers whose text is suspicious.
    upstream_text: Option<ScreeningWord>,
    /// Whether destructive calls run although the audit was found broken.
    run_with_broken_audit: Option<bool>,
    /// Keys of gateways whose confirmations count here: 64 hexadecimal digits, as in the file `audit.pub` of each
    /// gateway's data folder.
    trusted_gateways: Option<Vec<String>>,
    /// Days that records of the audit are kept in the database; for ever if absent.
    audit_keep_days: Option<u32>,
    /// Maximum bytes of the database; the oldest records of the audit are taken out above it. No limit if absent.
    audit_bytes_max: Option<u64>,
    /// Folder that records are written to before they are taken out; they are deleted if absent.
    audit_archive: Option<String>,
}

/// Rule for tools by their names: the confirmation that they need, and corrections of their hints.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "describes the section, which is read as a policy of the engine")]
struct SafetyRuleTable {
    /// Patterns over the names of tools as they are served.
    tools: Vec<String>,
    demand: Option<DemandWord>,
    /// Whether the tools only read, whatever they say of themselves.
    read_only: Option<bool>,
    /// Whether the tools are destructive, whatever they say of themselves.
    destructive: Option<bool>,
}

/// Demand on a call before it may run: nothing, a confirmation unless the client asks by itself, a confirmation, or a
/// person's.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "describes the section, which is read as a policy of the engine")]
enum DemandWord {
    Never,
    Unaware,
    Always,
    Human,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "describes the section, which is read as a policy of the engine")]
enum ScreeningWord {
    Pass,
    Warn,
    Quarantine,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use toolcrib_engine::Policy;
    use toolcrib_engine::safety::policy::{Demand, Rule};
    use toolcrib_engine::toolset::glob::Glob;

    use super::*;

    fn keys(value: &serde_json::Value) -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    }

    /// R12.5: the published schema has the keys of the policy that the section is parsed as.
    #[test]
    fn the_schema_of_the_section_has_the_keys_of_a_policy() {
        let schema = schemars::schema_for!(SafetyTable).to_value();
        let rule = Rule {
            tools: vec![Glob::new("*")],
            demand: Some(Demand::Always),
            read_only: Some(false),
            destructive: Some(true),
        };
        let policy = Policy {
            rules: vec![rule],
            audit_keep_days: Some(1),
            audit_bytes_max: Some(1),
            audit_archive: Some("archive".into()),
            ..Policy::default()
        };
        let policy = serde_json::to_value(policy).unwrap();
        assert_eq!(keys(&schema["properties"]), keys(&policy));
        assert_eq!(keys(&schema["$defs"]["SafetyRuleTable"]["properties"]), keys(&policy["rules"][0]));
    }
}
