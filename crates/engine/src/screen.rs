//! Screening of tool definitions when they are registered (R4.9: text from upstream servers is untrusted).
//!
//! Guarantees: unless the policy says `pass`, a tool of an upstream server is quarantined alone, with its reasons, if
//! its text hides characters, imitates another server's tool or gives orders to the model; the rest of the server is
//! served. Findings in the author's own tools are only reported. Nothing is repaired: what is served is what was
//! sent.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolcrib_contract::Definition;
use toolcrib_contract::suspicion::{Neighbours, Suspicion, suspicions};
use toolcrib_contract::text::one_line;

use crate::entry::Entry;
use crate::limits::QUARANTINED_MAX;
use crate::safety::policy::Screening;

/// Tool that was quarantined.
#[derive(Debug, Clone)]
pub struct Quarantined {
    pub name: Box<str>,
    pub server: Option<Box<str>>,
    pub reasons: Vec<Suspicion>,
}

/// Quarantined tools by server and name; at most `QUARANTINED_MAX`, further ones are only reported.
#[derive(Debug, Default)]
pub(crate) struct Aside(BTreeMap<(Option<Box<str>>, Box<str>), Quarantined>);

impl Aside {
    pub(crate) fn keep(&mut self, one: Quarantined) {
        let key = (one.server.clone(), one.name.clone());
        if self.0.len() < QUARANTINED_MAX || self.0.contains_key(&key) {
            self.0.insert(key, one);
        }
    }

    pub(crate) fn all(&self) -> Vec<Quarantined> {
        self.0.values().cloned().collect()
    }
}

/// Tools and setting that the definitions of one change are screened against.
#[derive(Debug)]
pub(crate) struct Screen<'a> {
    screening: Screening,
    present: &'a [Arc<Entry>],
    /// Names of all other servers' tools, for the server of the last definition: a change is nearly always of one
    /// server.
    others: Option<(Option<Box<str>>, Neighbours<'a>)>,
}

impl<'a> Screen<'a> {
    pub(crate) fn new(screening: Screening, present: &'a [Arc<Entry>]) -> Self {
        Self { screening, present, others: None }
    }

    /// Returns the tool with the reasons to quarantine it, if there are any.
    pub(crate) fn aside(&mut self, definition: &Definition, server: Option<&str>) -> Option<Quarantined> {
        if self.screening == Screening::Pass {
            return None;
        }
        if self.others.as_ref().is_none_or(|(of, _)| of.as_deref() != server) {
            let others = self.present.iter().filter(|entry| entry.server() != server);
            self.others = Some((server.map(Into::into), others.map(|entry| entry.name()).collect()));
        }
        let (_, others) = self.others.as_ref()?;
        let reasons = suspicions(definition, others);
        report(definition, server, &reasons, self.screening).then(|| Quarantined {
            name: definition.name().into(),
            server: server.map(Into::into),
            reasons,
        })
    }
}

/// Logs all findings for the operator; returns true if the tool is to be quarantined.
fn report(
    definition: &Definition,
    server: Option<&str>,
    reasons: &[Suspicion],
    screening: Screening,
) -> bool {
    if reasons.is_empty() {
        return false;
    }
    let aside = server.is_some() && screening == Screening::Quarantine;
    let listed: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    tracing::warn!(
        target: "toolcrib",
        "{} of {}: {}{}",
        one_line(definition.name()),
        server.map_or_else(|| "this server".to_owned(), one_line),
        listed.join("; "),
        if aside { "; kept aside" } else { "" }
    );
    aside
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R4.9, `QUARANTINED_MAX`: servers that offer suspicious tools without end do not fill the memory, and a tool
    /// that is offered again is remembered once.
    #[test]
    fn no_more_than_quarantined_max_tools_are_remembered() {
        let mut aside = Aside::default();
        let tool = |number: usize, reasons| Quarantined {
            name: number.to_string().into(),
            server: Some("s".into()),
            reasons,
        };
        for number in 0..QUARANTINED_MAX + 5 {
            aside.keep(tool(number, Vec::new()));
            aside.keep(tool(0, Vec::new()));
        }
        assert_eq!(aside.all().len(), QUARANTINED_MAX);
        assert_eq!(aside.all().iter().filter(|one| &*one.name == "0").count(), 1);
    }
}
