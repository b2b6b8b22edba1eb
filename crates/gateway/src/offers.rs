//! Resources, templates, prompts and completions of all servers together (R5.3: everything is aggregated).
//!
//! URIs are global and stay unchanged; prompts are named like tools. An item that two servers claim belongs to the
//! first one in the configuration; the other is listed as quarantined in the status.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use toolcrib_contract::json::{Document, Limits, ObjectWriter};
use toolcrib_engine::completion::Reference;
use toolcrib_engine::limits::URI_BYTES_MAX;
use toolcrib_engine::prompt::Prompt;
use toolcrib_engine::registry::Offers;
use toolcrib_engine::resource::{Resource, ResourceTemplate};
use toolcrib_protocol::write;
use toolcrib_upstream::{Catalogue, RemoteOffer, Upstream};

use crate::naming;
use crate::source::Source;
use crate::status::Quarantined;

/// Offers collected so far, with their owners.
#[derive(Default)]
pub(crate) struct Collection {
    pub(crate) offers: Offers,
    /// URI schemes of the server that was added last. Searching its definitions for each unknown URI instead would
    /// take tens of milliseconds per request.
    pub(crate) schemes: HashSet<Box<str>>,
    owners: HashMap<(&'static str, String), String>,
}

/// Maximum bytes of a scheme that is remembered; registered ones have at most 40.
const SCHEME_BYTES: usize = 64;

impl Collection {
    /// Adds everything that one server offers; returns what cannot be served.
    pub(crate) fn add(
        &mut self,
        source: &Source,
        upstream: &Arc<Upstream>,
        catalogue: &Catalogue,
    ) -> Vec<Quarantined> {
        let mut quarantined = Vec::new();
        self.schemes.clear();
        let completes = catalogue.introduction.offers("completions");
        for raw in &catalogue.resources {
            let outcome = self.resource(source, upstream, raw);
            quarantined.extend(outcome.err());
        }
        for raw in &catalogue.templates {
            let outcome = self.template(source, upstream, raw, completes);
            quarantined.extend(outcome.err());
        }
        for raw in &catalogue.prompts {
            let outcome = self.prompt(source, upstream, raw, completes);
            quarantined.extend(outcome.err());
        }
        quarantined
    }

    fn resource(&mut self, source: &Source, upstream: &Arc<Upstream>, raw: &str) -> Result<(), Quarantined> {
        let uri = member(raw, "uri").ok_or_else(|| unnamed("resource"))?;
        self.note_scheme(&uri);
        if uri.len() > URI_BYTES_MAX {
            let reason = format!("the resource's URI has more than {URI_BYTES_MAX} bytes (URI_BYTES_MAX)");
            return Err(Quarantined { tool: shortened(&uri), reason });
        }
        self.claim("resource", &uri, source)?;
        let reader = Arc::new(RemoteOffer::new(upstream.clone(), &uri));
        self.offers.resources.push(Resource::raw(&uri, raw, reader));
        Ok(())
    }

    fn template(
        &mut self,
        source: &Source,
        upstream: &Arc<Upstream>,
        raw: &str,
        completes: bool,
    ) -> Result<(), Quarantined> {
        let uri = member(raw, "uriTemplate").ok_or_else(|| unnamed("resource template"))?;
        self.note_scheme(&uri);
        self.claim("resource template", &uri, source)?;
        let offer = Arc::new(RemoteOffer::new(upstream.clone(), &uri));
        let template = ResourceTemplate::raw(&uri, raw, offer.clone());
        let template = template.map_err(|cause| Quarantined {
            tool: shortened(&uri),
            reason: format!("the resource template is not a URI template: {cause}"),
        })?;
        if completes {
            let reference = Reference::Template(template.uri_template().clone());
            self.offers.completers.push((reference, offer));
        }
        self.offers.templates.push(template);
        Ok(())
    }

    fn prompt(
        &mut self,
        source: &Source,
        upstream: &Arc<Upstream>,
        raw: &str,
        completes: bool,
    ) -> Result<(), Quarantined> {
        let own = member(raw, "name").ok_or_else(|| unnamed("prompt"))?;
        let name = naming::served(source.prefix.as_deref(), &own);
        self.claim("prompt", &name, source)?;
        let offer = Arc::new(RemoteOffer::new(upstream.clone(), &own));
        let renamed = renamed(raw, &name).unwrap_or_else(|| raw.to_owned());
        if completes {
            let reference = Reference::Prompt(name.as_str().into());
            self.offers.completers.push((reference, offer.clone()));
        }
        self.offers.prompts.push(Prompt::raw(&name, &renamed, offer));
        Ok(())
    }

    fn note_scheme(&mut self, uri: &str) {
        if let Some((scheme, _)) = uri.split_once(':')
            && scheme.len() <= SCHEME_BYTES
            && !self.schemes.contains(scheme)
        {
            self.schemes.insert(scheme.into());
        }
    }

    fn claim(&mut self, kind: &'static str, key: &str, source: &Source) -> Result<(), Quarantined> {
        let claim = (kind, key.to_owned());
        if let Some(owner) = self.owners.get(&claim) {
            let reason = format!("server {owner:?} has a {kind} that is called so too");
            return Err(Quarantined { tool: key.to_owned(), reason });
        }
        self.owners.insert(claim, source.name().to_owned());
        Ok(())
    }
}

fn unnamed(kind: &str) -> Quarantined {
    Quarantined { tool: String::new(), reason: format!("a {kind} has no name") }
}

fn member(raw: &str, name: &str) -> Option<String> {
    let document = Document::parse(raw.as_bytes(), &Limits::definition()).ok()?;
    let text = document.root().get(name)?.as_str()?.into_owned();
    (!text.is_empty()).then_some(text)
}

fn renamed(raw: &str, name: &str) -> Option<String> {
    let document = Document::parse(raw.as_bytes(), &Limits::definition()).ok()?;
    let mut object = ObjectWriter::new();
    for (key, value) in document.root().members() {
        if key.is_text("name") {
            object.raw("name", &write::quoted(name));
        } else {
            object.copy(key, value);
        }
    }
    Some(object.finish())
}

/// Beginning of a URI for a status line: a URI that is refused for its length would fill it.
fn shortened(uri: &str) -> String {
    const CHARS_MAX: usize = 200;
    let mut text: String = uri.chars().take(CHARS_MAX).collect();
    if text.len() < uri.len() {
        text.push('…');
    }
    text
}
