//! Screening of what other servers say of their tools, when it comes in (R4.9).
//!
//! Guarantees: with safety switched on and unless the policy says otherwise, a tool of another server whose text hides
//! something, looks like somebody else's or gives orders is kept aside alone, with its reasons; the rest of its server
//! is served. A tool of the author's own is only reported. Nothing is repaired: what is served is what was sent.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolcrib_contract::Definition;
use toolcrib_contract::suspicion::{Neighbours, Suspicion, suspicions};
use toolcrib_contract::text::one_line;

use crate::entry::Entry;
use crate::limits::QUARANTINED_MAX;
use crate::safety::policy::Screening;

/// A tool that was kept aside.
#[derive(Debug, Clone)]
pub struct Quarantined {
    pub name: Box<str>,
    pub server: Option<Box<str>>,
    pub reasons: Vec<Suspicion>,
}

/// Tools that were kept aside, by server and name; at most `QUARANTINED_MAX`, and further ones are only reported.
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

/// What one change of the registry is screened against.
#[derive(Debug)]
pub(crate) struct Screen<'a> {
    screening: Screening,
    present: &'a [Arc<Entry>],
    /// Of the server that was last looked at; a change is nearly always of one server.
    others: Option<(Option<Box<str>>, Neighbours<'a>)>,
}

impl<'a> Screen<'a> {
    pub(crate) fn new(screening: Screening, present: &'a [Arc<Entry>]) -> Self {
        Self { screening, present, others: None }
    }

    /// Why a tool is kept aside, if it is.
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

/// Tells the operator, with everything written out; true if the tool is to be kept aside.
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

    /// R4.9, `QUARANTINED_MAX`: servers that offer suspicious tools without end do not fill the memory, and the same
    /// tool offered again is remembered once.
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
