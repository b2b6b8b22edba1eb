//! Exchange of the resources, templates, prompts and completers of one source as a whole.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, PoisonError};

use super::{Keyed, Registry, Shelf, Snapshot, set_templates};
use crate::completion::{Completer, Reference};
use crate::hub::Change;
use crate::prompt::Prompt;
use crate::resource::{Resource, ResourceTemplate};

/// Everything that a source offers besides tools.
#[derive(Debug, Default)]
pub struct Offers {
    pub resources: Vec<Resource>,
    pub templates: Vec<ResourceTemplate>,
    pub prompts: Vec<Prompt>,
    /// Completers for all arguments of a prompt or template.
    pub completers: Vec<(Reference, Arc<dyn Completer>)>,
}

/// Keys that a source has registered; passed to its next exchange, which removes them.
#[derive(Debug, Default)]
pub struct Held {
    resources: Vec<Arc<str>>,
    templates: Vec<Arc<str>>,
    prompts: Vec<Arc<str>>,
    completers: Vec<Reference>,
}

impl Registry {
    /// Removes the keys in `held` and adds the offers. A key that another source registered keeps its item. Clients
    /// are notified only of lists that differ.
    pub fn exchange(&self, held: &Held, offers: Offers) -> Held {
        let _writing = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut snapshot = Snapshot::clone(&self.snapshot.load());
        let mut now = Held::default();
        let resources = swap(
            &snapshot.resources.by_key,
            &held.resources,
            offers.resources.into_iter().map(|resource| (resource.uri.clone(), resource)),
            &mut now.resources,
        );
        let templates = swap(
            &snapshot.templates.by_key,
            &held.templates,
            offers.templates.into_iter().map(|template| (template.uri_template().clone(), template)),
            &mut now.templates,
        );
        let prompts = swap(
            &snapshot.prompts.by_key,
            &held.prompts,
            offers.prompts.into_iter().map(|prompt| (prompt.name.clone(), prompt)),
            &mut now.prompts,
        );
        let mut changes = Vec::new();
        if differ(&snapshot.resources.by_key, &resources, |resource| &resource.definition)
            || differ(&snapshot.templates.by_key, &templates, |template| &template.definition)
        {
            changes.push(Change::Resources);
        }
        if differ(&snapshot.prompts.by_key, &prompts, |prompt| &prompt.definition) {
            changes.push(Change::Prompts);
        }
        snapshot.resources = Arc::new(Shelf::new("resources", resources, |resource| &resource.definition));
        set_templates(&mut snapshot, templates);
        snapshot.prompts = Arc::new(Shelf::new("prompts", prompts, |prompt| &prompt.definition));
        let completers = Arc::make_mut(&mut snapshot.completers);
        for reference in &held.completers {
            completers.remove_all(reference);
        }
        for (reference, completer) in offers.completers {
            now.completers.push(reference.clone());
            completers.set_all(reference, completer);
        }
        self.snapshot.store(Arc::new(snapshot));
        for change in &changes {
            self.hub.publish(change);
        }
        now
    }
}

fn swap<T>(
    old: &Keyed<T>,
    gone: &[Arc<str>],
    added: impl Iterator<Item = (Arc<str>, T)>,
    held: &mut Vec<Arc<str>>,
) -> Keyed<T> {
    let mut new: Keyed<T> = old.clone();
    for key in gone {
        new.remove(key);
    }
    for (key, thing) in added {
        if let Entry::Vacant(free) = new.entry(key) {
            held.push(free.key().clone());
            free.insert(Arc::new(thing));
        }
    }
    new
}

fn differ<T>(
    old: &BTreeMap<Arc<str>, Arc<T>>,
    new: &BTreeMap<Arc<str>, Arc<T>>,
    text: fn(&T) -> &Arc<str>,
) -> bool {
    old.len() != new.len()
        || old.iter().zip(new).any(|((one, left), (other, right))| one != other || text(left) != text(right))
}
