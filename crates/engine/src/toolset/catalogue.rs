//! [`Catalogue`]: the members of each toolset in one state of the registry, the search index, and the views.
//!
//! Guarantees: built at most once per change, on first use; a view is built once per distinct standing and shared by
//! all callers that have it; a new state begins without views, so none outlives its tools or the selection.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use toolcrib_protocol::write;

use super::bits::Bits;
use super::callers;
use super::forms::{Form, Forms};
use super::prepared::Prepared;
use super::standing::Standing;
use super::{DISCOVERY, Toolset, ToolsetOptions, is_always_loaded};
use crate::discovery::{CALL_READERS, Meta};
use crate::entry::{DEFAULT_TOOLSET, Entry};
use crate::limits::TOOLSETS_NAMED_MAX;
use crate::listing::Item;
use crate::search::index::{Index, Text};
use crate::view::View;

/// Toolset with its tools.
#[derive(Debug)]
pub struct Kit {
    pub name: Arc<str>,
    pub description: Box<str>,
    pub always_loaded: bool,
    pub programmatic: bool,
    /// Indices of its tools, in the order of the list.
    pub members: Vec<u32>,
}

#[derive(Debug)]
struct Sets {
    kits: Vec<Kit>,
    by_name: HashMap<Arc<str>, usize>,
    /// For each tool, the indices of its toolsets.
    of_entry: Vec<Vec<u32>>,
    always: Bits,
}

/// Toolsets, search index and views of one state of the registry.
#[derive(Debug)]
pub struct Catalogue {
    all: Arc<View>,
    options: Arc<ToolsetOptions>,
    sets: OnceLock<Sets>,
    index: OnceLock<Index>,
    views: Prepared,
    forms: Forms,
}

impl Catalogue {
    #[must_use]
    pub fn new(all: Arc<View>, options: Arc<ToolsetOptions>) -> Self {
        let (sets, index) = (OnceLock::new(), OnceLock::new());
        Self { all, options, sets, index, views: Prepared::default(), forms: Forms::default() }
    }

    /// Returns the toolset options at the time this catalogue was made.
    #[must_use]
    pub fn options(&self) -> &Arc<ToolsetOptions> {
        &self.options
    }

    fn sets(&self) -> &Sets {
        self.sets.get_or_init(|| self.gather())
    }

    fn gather(&self) -> Sets {
        let named = self.options.declared.iter().map(|toolset| &toolset.name).chain(&self.options.expected);
        let mut groups: BTreeMap<Arc<str>, Vec<u32>> =
            named.map(|name| (Arc::from(&**name), Vec::new())).collect();
        let mut add = |name: &str, at: u32| match groups.get_mut(name) {
            Some(members) if members.last() == Some(&at) => {}
            Some(members) => members.push(at),
            None => {
                groups.insert(name.into(), vec![at]);
            }
        };
        for (at, entry) in (0_u32..).zip(self.all.entries()) {
            let mut fits = 0;
            for toolset in self.options.declared.iter().filter(|toolset| toolset.takes_in(entry)) {
                add(&toolset.name, at);
                fits += 1;
            }
            match entry.own_toolset() {
                Some(own) => add(own, at),
                None if fits == 0 => add(entry.server().unwrap_or(DEFAULT_TOOLSET), at),
                None => {}
            }
        }
        let declared: HashMap<&str, &Toolset> =
            self.options.declared.iter().map(|toolset| (&*toolset.name, toolset)).collect();
        let mut kits = Vec::with_capacity(groups.len());
        let mut of_entry = vec![Vec::new(); self.all.entries().len()];
        let mut always = Bits::none(groups.len());
        for (name, members) in groups {
            let toolset = declared.get(&*name).copied();
            for at in &members {
                if let Some(sets) = of_entry.get_mut(*at as usize) {
                    sets.push(u32::try_from(kits.len()).unwrap_or(u32::MAX));
                }
            }
            let always_loaded = is_always_loaded(&name, toolset);
            if always_loaded {
                always.set(kits.len());
            }
            kits.push(Kit {
                description: described(&name, toolset),
                programmatic: toolset.is_some_and(|toolset| toolset.programmatic),
                always_loaded,
                name,
                members,
            });
        }
        let by_name = kits.iter().enumerate().map(|(at, kit)| (kit.name.clone(), at)).collect();
        Sets { kits, by_name, of_entry, always }
    }

    /// Returns the toolsets, sorted by name.
    #[must_use]
    pub fn kits(&self) -> &[Kit] {
        &self.sets().kits
    }

    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.sets().by_name.get(name).copied()
    }

    pub(super) fn always(&self) -> &Bits {
        &self.sets().always
    }

    pub(super) fn bits<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Bits {
        let mut bits = Bits::none(self.kits().len());
        names.into_iter().filter_map(|name| self.find(name)).for_each(|at| bits.set(at));
        bits
    }

    #[must_use]
    pub fn entries(&self) -> &[Arc<Entry>] {
        self.all.entries()
    }

    /// Returns the tool at an index of the list of all tools.
    #[must_use]
    pub fn entry(&self, at: usize) -> Option<&Arc<Entry>> {
        self.all.entries().get(at)
    }

    /// Returns the index of the tool of that name, independent of any view.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<usize> {
        let wanted = self.all.get(name)?.rank();
        self.all.entries().binary_search_by(|entry| entry.rank().cmp(&wanted)).ok()
    }

    /// Returns the toolsets that a tool is in.
    pub fn toolsets_of(&self, at: usize) -> impl Iterator<Item = &Kit> {
        let sets = self.sets();
        sets.of_entry.get(at).into_iter().flatten().filter_map(|kit| sets.kits.get(*kit as usize))
    }

    /// Returns true if a tool is in one of these toolsets and passes the read-only filter.
    #[must_use]
    pub fn admits(&self, at: usize, within: &Bits, read_only: bool) -> bool {
        let in_set =
            self.sets().of_entry.get(at).is_some_and(|of| of.iter().any(|kit| within.has(*kit as usize)));
        // `call_tool` counts as read-only: in a read-only view it reaches only read-only tools.
        let reads = |entry: &Arc<Entry>| entry.judged().effect.read_only || entry.meta() == Some(Meta::Call);
        in_set && (!read_only || self.entry(at).is_some_and(reads))
    }

    /// Returns the search index over every tool except the discovery tools.
    #[must_use]
    pub fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            Index::build(self.all.entries().iter().enumerate().map(|(at, entry)| {
                if entry.meta().is_some() {
                    return Text::default();
                }
                let group: Vec<&str> = self.toolsets_of(at).map(|kit| &*kit.name).collect();
                Text::of(entry.contract().definition(), &group.join(" "))
            }))
        })
    }

    /// Returns the view of a standing; equal standings share one view.
    #[must_use]
    pub fn view(&self, standing: &Standing) -> Arc<View> {
        self.views.get(standing, || self.build(standing))
    }

    fn build(&self, standing: &Standing) -> View {
        let rendered =
            standing.vendor.and_then(|vendor| Some((vendor, self.options.callers.render(vendor)?)));
        let mut shown = Vec::with_capacity(self.all.entries().len());
        for (at, entry) in self.all.entries().iter().enumerate() {
            if !self.admits(at, &standing.loaded, standing.read_only) {
                continue;
            }
            let takes_token = standing.tokens.is_some_and(|least| entry.judged().demand >= least);
            let with_token = |item: Item| if takes_token { entry.with_token(&item) } else { item };
            let item = match entry.meta() {
                Some(Meta::Search) => {
                    let text = write::quoted(&self.search_description(standing));
                    with_token(rewritten(entry, "description", &text))
                }
                Some(Meta::Call) if standing.read_only => {
                    with_token(rewritten(entry, "annotations", CALL_READERS))
                }
                Some(_) => with_token(entry.item().clone()),
                None => {
                    let form = Form { vendor: rendered.as_ref().map(|(vendor, _)| *vendor), takes_token };
                    self.forms.get(form, at, self.all.entries().len(), || {
                        let programmatic = self.toolsets_of(at).any(|kit| kit.programmatic);
                        let callable = programmatic && callers::is_callable_from_code(entry);
                        let rendered = rendered.as_ref().filter(|_| callable);
                        with_token(entry.item().clone().changed(|raw| {
                            callers::with_callers(raw, rendered.map(|(vendor, names)| (*vendor, &**names)))
                        }))
                    })
                }
            };
            shown.push((entry.clone(), item));
        }
        View::of(shown)
    }

    /// Returns the description of `search_tools`, which is short if every tool is listed anyway. It names the
    /// toolsets but no counts, so that a tool that is added or removed changes only the lists that contain it.
    fn search_description(&self, standing: &Standing) -> String {
        if standing.loaded == standing.reach {
            return "Finds tools by what they do. All of them are listed already.".to_owned();
        }
        let kits = self.reachable_kits(standing).map(|(_, kit)| match &*kit.description {
            "" => kit.name.to_string(),
            text => format!("{} ({text})", kit.name),
        });
        format!(
            "Finds tools by what they do, also those that are not listed. Behind it lie these toolsets: {}. A tool \
             found here can be called with call_tool.",
            enumerated(kits, "; ")
        )
    }

    /// Returns the number of a toolset's tools that the standing reaches.
    pub(crate) fn count(&self, kit: &Kit, standing: &Standing) -> usize {
        let members = kit.members.iter().map(|at| *at as usize);
        members.filter(|at| self.admits(*at, &standing.reach, standing.read_only)).count()
    }

    /// Returns the toolsets that a standing reaches, except `discovery`.
    pub(crate) fn reachable_kits<'a>(
        &'a self,
        standing: &'a Standing,
    ) -> impl Iterator<Item = (usize, &'a Kit)> {
        let kits = self.kits().iter().enumerate();
        kits.filter(|(at, kit)| standing.reach.has(*at) && &*kit.name != DISCOVERY)
    }

    /// Returns the number of tools that a standing reaches, except the discovery tools.
    pub(crate) fn reachable_count(&self, standing: &Standing) -> usize {
        let entries = self.all.entries().iter().enumerate();
        entries
            .filter(|(at, entry)| {
                entry.meta().is_none() && self.admits(*at, &standing.reach, standing.read_only)
            })
            .count()
    }
}

/// Returns a discovery tool with one member of its definition replaced.
fn rewritten(entry: &Entry, member: &str, raw: &str) -> Item {
    Item::same(entry.item().key.clone(), entry.contract().definition().with_member(member, raw))
}

/// Joins the first `TOOLSETS_NAMED_MAX` names, and says how many more there are.
pub(crate) fn enumerated(names: impl Iterator<Item = String>, between: &str) -> String {
    let names: Vec<String> = names.collect();
    let named = names.get(..TOOLSETS_NAMED_MAX).unwrap_or(&names).join(between);
    match names.len().saturating_sub(TOOLSETS_NAMED_MAX) {
        0 => named,
        more => format!("{named}{between}and {more} more (list_available_toolsets names them)"),
    }
}

fn described(name: &str, toolset: Option<&Toolset>) -> Box<str> {
    match (toolset, name) {
        (Some(toolset), _) if !toolset.description.is_empty() => toolset.description.clone(),
        (_, DISCOVERY) => "Finds, loads and calls tools that are not listed".into(),
        _ => "".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `VIEWS_MAX`: a caller can ask for any selection, so views share the rewritten definitions of their tools.
    #[test]
    fn views_of_different_selections_share_their_items() {
        let engine = engine_with_tools(&["a", "b", "c"]);
        let (one, two) = (view(&engine, &["a", "b"]), view(&engine, &["b", "c"]));
        let item = |view: &View| {
            let found = view.listing().items().iter().find(|item| &*item.key == "b");
            found.map(|item| item.modern.clone()).unwrap()
        };
        assert!(item(&one).contains("confirmation_token"));
        assert!(Arc::ptr_eq(&item(&one), &item(&two)));
        assert_ne!(one.fingerprint(), two.fingerprint());
        let other = view(&engine_with_tools(&["a", "b"]), &["a", "b"]);
        assert_eq!(one.fingerprint(), other.fingerprint(), "the same list in another state of the registry");
    }

    /// Returns the view of these toolsets, with the token property in the schemas of gated tools.
    fn view(engine: &crate::Engine, names: &[&str]) -> Arc<View> {
        let catalogue = engine.registry().load_full().catalogue.clone();
        let loaded = catalogue.bits(names.iter().copied());
        let reach = Bits::all(catalogue.kits().len());
        let tokens = Some(crate::safety::policy::Demand::Never);
        catalogue.view(&Standing { reach, loaded, read_only: false, vendor: None, tokens })
    }

    /// Creates an engine with tools of these names, each in a toolset of its own name.
    fn engine_with_tools(names: &[&str]) -> crate::Engine {
        let engine =
            crate::Engine::new(crate::ServerInfo::new("x", "1"), crate::Options::default(), None).unwrap();
        for &name in names {
            let definition = serde_json::json!({"name": name, "inputSchema": {"type": "object"}});
            let definition = toolcrib_contract::Definition::from_value(&definition).unwrap();
            engine.registry().register(definition, Some(name), Arc::new(Nothing)).unwrap();
        }
        engine
    }

    #[derive(Debug)]
    struct Nothing;

    impl crate::Tool for Nothing {
        fn call<'a>(
            &'a self,
            _: crate::Invocation<'a>,
        ) -> crate::BoxFuture<'a, Result<crate::Answer, crate::ToolError>> {
            Box::pin(async { Ok(crate::ToolResult::text("x").into()) })
        }
    }

    /// `TOOLSETS_NAMED_MAX`: the text that a model reads does not grow with the number of servers.
    #[test]
    fn no_more_than_toolsets_named_max_are_named() {
        let names = |count: usize| enumerated((0..count).map(|number| format!("s{number}")), ", ");
        assert!(!names(TOOLSETS_NAMED_MAX).contains("more"));
        let many = names(TOOLSETS_NAMED_MAX + 7);
        assert!(many.ends_with("s39, and 7 more (list_available_toolsets names them)"), "{many}");
    }
}
