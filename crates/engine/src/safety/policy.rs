//! Policy: which calls must be confirmed, and which clients are trusted to ask by themselves (R4.4).
//!
//! Reads *effective* annotations (R1.4): the operator's override, else the stricter of the pinned hints and the
//! definition's own. Of the rules that match a tool, the first that sets a value counts; without one a destructive
//! tool is `unaware` and any other `never`.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolcrib_contract::{Contract, Digest, Effect, annotations::Hints};

use super::allowance::Allowance;
use super::vouch::GatewayKey;
use crate::limits::{
    APPROVAL_MS, APPROVALS_BYTES_MAX, APPROVALS_PENDING_MAX, APPROVALS_TOTAL_BYTES_MAX, APPROVALS_TOTAL_MAX,
    REPEAT_WINDOW_MS, REPEATS_MAX, REPEATS_READ_ONLY_MAX, REST_REQUESTS_PER_MINUTE_MAX,
    REST_REQUESTS_PER_MINUTE_TOTAL_MAX, TOKEN_MS, TOKENS_PER_MINUTE_MAX, TOKENS_PER_MINUTE_TOTAL_MAX,
};
use crate::toolset::glob::Glob;

/// Confirmation that a call needs before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Demand {
    /// No confirmation.
    Never,
    /// A confirmation, unless the client is trusted to ask its person itself.
    Unaware,
    /// A confirmation, from every client.
    Always,
    /// A person's confirmation. Nothing that a model can do alone suffices.
    Human,
}

impl Demand {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Unaware => "unaware",
            Self::Always => "always",
            Self::Human => "human",
        }
    }
}

/// Handling of suspicious text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Screening {
    /// Not screened.
    Pass,
    /// Reported.
    Warn,
    /// Reported, and the tool is kept out of every list and call.
    Quarantine,
}

/// Rule of the policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Patterns over tool names; a match of any suffices.
    pub tools: Vec<Glob>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<Demand>,
    /// Operator's override of the tool's hints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
}

/// Settings of the operator about safety. In the configuration: the section `[safety]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    pub rules: Vec<Rule>,
    /// Demand for destructive tools that no rule matches.
    pub destructive: Demand,
    /// Patterns over names of clients that ask their person before a destructive call.
    pub honouring_clients: Vec<Glob>,
    /// Tokens are issued only for exact arguments.
    pub require_arguments: bool,
    /// Calls whose client cannot be asked wait for a person in the approval queue.
    pub queue: bool,
    pub token_ms: u64,
    pub approval_ms: u64,
    /// Maximum waiting calls of one share: a subject, an anonymous session, or an address.
    pub approvals_pending_max: u32,
    pub tokens_per_minute_max: u32,
    pub rest_requests_per_minute_max: u32,
    /// Maximum repetitions of one call within the window, per caller; 0 switches the loop guard off.
    pub repeats_max: u32,
    pub repeats_read_only_max: u32,
    pub repeat_window_ms: u64,
    /// Handling of upstream tools with suspicious text (R4.9).
    pub upstream_text: Screening,
    /// Lets destructive calls run although the audit was found broken.
    pub run_with_broken_audit: bool,
    /// Public keys of gateways whose confirmations are accepted (R12.4).
    pub trusted_gateways: Vec<GatewayKey>,
    /// Days that audit records are kept in the database; `None` keeps them for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_keep_days: Option<u32>,
    /// Maximum bytes of the database, above which the oldest audit records are removed; `None` means no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_bytes_max: Option<u64>,
    /// Folder that records are written to before they are removed; `None` deletes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_archive: Option<PathBuf>,
}

impl Default for Policy {
    fn default() -> Self {
        let honouring =
            ["claude-code", "Claude Code", "roo-code", "Roo Code", "roo-cline", "Visual Studio Code*"];
        Self {
            rules: Vec::new(),
            destructive: Demand::Unaware,
            honouring_clients: honouring.into_iter().map(Glob::new).collect(),
            require_arguments: false,
            queue: true,
            token_ms: TOKEN_MS,
            approval_ms: APPROVAL_MS,
            approvals_pending_max: APPROVALS_PENDING_MAX,
            tokens_per_minute_max: TOKENS_PER_MINUTE_MAX,
            rest_requests_per_minute_max: REST_REQUESTS_PER_MINUTE_MAX,
            repeats_max: REPEATS_MAX,
            repeats_read_only_max: REPEATS_READ_ONLY_MAX,
            repeat_window_ms: REPEAT_WINDOW_MS,
            upstream_text: Screening::Quarantine,
            run_with_broken_audit: false,
            trusted_gateways: Vec::new(),
            audit_keep_days: None,
            audit_bytes_max: None,
            audit_archive: None,
        }
    }
}

/// Policy with its fingerprint, replaced together.
#[derive(Debug, Clone)]
pub struct InForce {
    policy: Arc<Policy>,
    fingerprint: Digest,
}

impl InForce {
    #[must_use]
    pub fn new(policy: Arc<Policy>) -> Self {
        Self { fingerprint: policy.fingerprint(), policy }
    }

    #[must_use]
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// Returns the digest that is stored in tickets issued under this policy.
    #[must_use]
    pub fn fingerprint(&self) -> Digest {
        self.fingerprint
    }
}

impl std::ops::Deref for InForce {
    type Target = Policy;

    fn deref(&self) -> &Policy {
        &self.policy
    }
}

/// Judgement of one tool by the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    pub effect: Effect,
    pub demand: Demand,
    /// Rule that decided, for the audit.
    pub rule: Arc<str>,
}

impl Judged {
    /// Adapts the judgement to a discovery tool, which changes nothing but lists.
    pub(crate) fn of_discovery(mut self) -> Self {
        self.effect.destructive = false;
        self.demand = Demand::Never;
        self.rule = "never for discovery".into();
        self
    }

    /// Returns true if a confirmation token has a meaning for the tool.
    #[must_use]
    pub fn takes_token(&self) -> bool {
        self.effect.destructive || self.demand > Demand::Never
    }
}

/// Invalid policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PolicyError(Box<str>);

impl Policy {
    /// Policy without safety: nothing is gated and nothing is screened.
    #[must_use]
    pub(crate) fn off() -> Self {
        Self { upstream_text: Screening::Pass, ..Self::default() }
    }

    /// Reads the section `[safety]` of a configuration; other sections are ignored.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        #[derive(Deserialize)]
        struct File {
            #[serde(default)]
            safety: Policy,
        }
        let file: File = toml::from_str(text).map_err(|error| PolicyError(error.to_string().into()))?;
        Ok(file.safety)
    }

    /// Adds a rule; earlier rules take precedence.
    #[must_use]
    pub fn rule(mut self, tools: &[&str], demand: Demand) -> Self {
        let tools = tools.iter().map(|pattern| Glob::new(pattern)).collect();
        self.rules.push(Rule { tools, demand: Some(demand), read_only: None, destructive: None });
        self
    }

    /// Judges a contract, by the stricter of its own hints and the pinned ones.
    #[must_use]
    pub fn judge(&self, contract: &Contract, pinned: Option<&Hints>) -> Judged {
        let name = contract.name().as_str();
        let fits = |rule: &&Rule| rule.tools.iter().any(|glob| glob.matches(name));
        let mut overrides = Hints::default();
        for rule in self.rules.iter().filter(fits) {
            overrides.read_only = overrides.read_only.or(rule.read_only);
            overrides.destructive = overrides.destructive.or(rule.destructive);
        }
        let effect = Effect::effective(&overrides, pinned, &contract.annotations().hints);
        let named = self.rules.iter().filter(fits).find_map(|rule| Some((rule, rule.demand?)));
        match named {
            Some((rule, demand)) => {
                let patterns: Vec<&str> = rule.tools.iter().map(Glob::as_str).collect();
                Judged {
                    effect,
                    demand,
                    rule: format!("{} for {}", demand.name(), patterns.join(",")).into(),
                }
            }
            None if effect.destructive => Judged {
                effect,
                demand: self.destructive,
                rule: format!("{} for destructive", self.destructive.name()).into(),
            },
            None => {
                let what = if effect.read_only { "read-only" } else { "write" };
                Judged { effect, demand: Demand::Never, rule: format!("never for {what}").into() }
            }
        }
    }

    #[must_use]
    pub fn honours(&self, client: &str) -> bool {
        self.honouring_clients.iter().any(|glob| glob.matches(client))
    }

    /// Returns the quota of tokens issued within a minute.
    #[must_use]
    pub fn token_allowance(&self) -> Allowance {
        Allowance::new("tokens a minute", self.tokens_per_minute_max as usize, TOKENS_PER_MINUTE_TOTAL_MAX)
    }

    /// Returns the quota of REST requests within a minute.
    #[must_use]
    pub fn rest_allowance(&self) -> Allowance {
        let share_max = self.rest_requests_per_minute_max as usize;
        Allowance::new("requests a minute", share_max, REST_REQUESTS_PER_MINUTE_TOTAL_MAX)
    }

    /// Returns the quotas of calls that wait for a person, and of the bytes of their arguments.
    #[must_use]
    pub fn approval_allowances(&self) -> (Allowance, Allowance) {
        let calls = self.approvals_pending_max as usize;
        (
            Allowance::new("calls that wait for a person", calls, APPROVALS_TOTAL_MAX),
            Allowance::new(
                "bytes of calls that wait for a person",
                APPROVALS_BYTES_MAX,
                APPROVALS_TOTAL_BYTES_MAX,
            ),
        )
    }

    /// Returns the digest of the settings that decide about confirmations: a token issued under another policy is
    /// void.
    #[must_use]
    pub fn fingerprint(&self) -> Digest {
        let decides = (
            &self.rules,
            self.destructive,
            &self.honouring_clients,
            self.require_arguments,
            &self.trusted_gateways,
        );
        Digest::of_bytes(&serde_json::to_vec(&decides).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::{Definition, SchemaCache, SchemaOptions};

    use super::*;

    fn contract(name: &str, annotations: &str) -> Contract {
        let text =
            format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{annotations}}}"#);
        let value = serde_json::from_str(&text).unwrap();
        let definition = Definition::from_value(&value).unwrap();
        Contract::compile(definition, &SchemaOptions::default(), &SchemaCache::new()).unwrap()
    }

    /// R4.4: a destructive tool is `unaware` by default, and an unannotated one is destructive.
    #[test]
    fn without_a_rule_destructive_tools_are_confirmed_and_others_not() {
        let policy = Policy::default();
        assert_eq!(policy.judge(&contract("a", "{}"), None).demand, Demand::Unaware);
        assert_eq!(policy.judge(&contract("a", r#"{"readOnlyHint":true}"#), None).demand, Demand::Never);
        assert_eq!(policy.judge(&contract("a", r#"{"destructiveHint":false}"#), None).demand, Demand::Never);
    }

    /// R4.4, R1.4: the first matching rule counts, and the operator's override precedes the tool's own hints.
    #[test]
    fn the_first_rule_that_fits_counts_and_the_operator_overrides_hints() {
        let policy = Policy::parse(
            "[safety]\ndestructive = \"always\"\n\
             [[safety.rules]]\ntools = [\"delete_*\"]\ndemand = \"human\"\n\
             [[safety.rules]]\ntools = [\"*\"]\nread_only = false\n",
        )
        .unwrap();
        let safe = r#"{"readOnlyHint":true}"#;
        assert_eq!(policy.judge(&contract("delete_all", safe), None).demand, Demand::Human);
        let claimed = policy.judge(&contract("look", safe), None);
        assert_eq!((claimed.demand, claimed.effect.destructive), (Demand::Always, true));
    }

    /// `TOKENS_PER_MINUTE_TOTAL_MAX`, `REST_REQUESTS_PER_MINUTE_TOTAL_MAX`, `APPROVALS_TOTAL_MAX`,
    /// `APPROVALS_BYTES_MAX` and `APPROVALS_TOTAL_BYTES_MAX` are the defaults. Behaviour at the bounds is tested with
    /// smaller ones.
    #[test]
    fn the_default_allowances_are_the_constants() {
        let policy = Policy::default();
        let (calls, bytes) = policy.approval_allowances();
        let values = |it: Allowance| (it.share_max, it.address_max, it.anonymous_max, it.total_max);
        assert_eq!(values(policy.token_allowance()), (120, 480, 1_920, TOKENS_PER_MINUTE_TOTAL_MAX));
        assert_eq!(values(policy.rest_allowance()), (600, 2_400, 30_000, REST_REQUESTS_PER_MINUTE_TOTAL_MAX));
        assert_eq!(values(calls), (32, 128, 2_048, APPROVALS_TOTAL_MAX));
        assert_eq!(
            values(bytes),
            (
                APPROVALS_BYTES_MAX,
                4 * APPROVALS_BYTES_MAX,
                16 * APPROVALS_BYTES_MAX,
                APPROVALS_TOTAL_BYTES_MAX
            )
        );
    }

    /// R4.3, a changed policy revokes a token: policies that decide differently have different fingerprints.
    #[test]
    fn a_changed_policy_has_another_fingerprint() {
        let one = Policy::default();
        let two = Policy::default().rule(&["x"], Demand::Always);
        assert_ne!(one.fingerprint(), two.fingerprint());
        assert_eq!(one.fingerprint(), Policy::default().fingerprint());
        assert!(Policy::parse("[safety]\nunknown = 1").is_err());
        assert!(Policy::parse("[[safety.rules]]\ntools = [\"a\"]\ndemand = \"maybe\"").is_err());
    }
}
