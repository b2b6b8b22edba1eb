//! Which tools are in which toolset, for one state of the registry, and the views made of it.
//!
//! Guarantees: built at most once per change, on first use; a view is built once per distinct standing and shared by
//! every caller that has it; a new state begins without views, so none outlives its tools.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use toolcrib_protocol::write;

use super::bits::Bits;
use super::callers::{self, CallerTable};
use super::standing::Standing;
use super::{DISCOVERY, Toolset, is_always_loaded};
use crate::discovery::Meta;
use crate::entry::{DEFAULT_TOOLSET, Entry};
use crate::limits::VIEWS_MAX;
use crate::listing::Item;
use crate::search::index::{Index, Text};
use crate::view::View;

/// A toolset with its tools.
#[derive(Debug)]
pub struct Kit {
    pub name: Arc<str>,
    pub description: Box<str>,
    pub always_loaded: bool,
    pub programmatic: bool,
    /// Places of its tools in the order of the list.
    pub members: Vec<u32>,
}

#[derive(Debug)]
struct Sets {
    kits: Vec<Kit>,
    by_name: HashMap<Arc<str>, usize>,
    /// For each tool, the toolsets it is in.
    of_entry: Vec<Vec<u32>>,
    always: Bits,
}

#[derive(Debug)]
pub struct Catalogue {
    all: Arc<View>,
    declared: Arc<[Toolset]>,
    sets: OnceLock<Sets>,
    index: OnceLock<Index>,
    views: Mutex<HashMap<Standing, Arc<View>>>,
}

impl Catalogue {
    #[must_use]
    pub fn new(all: Arc<View>, declared: Arc<[Toolset]>) -> Self {
        Self { all, declared, sets: OnceLock::new(), index: OnceLock::new(), views: Mutex::default() }
    }

    fn sets(&self) -> &Sets {
        self.sets.get_or_init(|| self.gather())
    }

    fn gather(&self) -> Sets {
        let mut groups: BTreeMap<Arc<str>, Vec<u32>> =
            self.declared.iter().map(|toolset| (Arc::from(&*toolset.name), Vec::new())).collect();
        let mut add = |name: &str, at: u32| match groups.get_mut(name) {
            Some(members) if members.last() == Some(&at) => {}
            Some(members) => members.push(at),
            None => {
                groups.insert(name.into(), vec![at]);
            }
        };
        for (at, entry) in (0_u32..).zip(self.all.entries()) {
            let mut fits = 0;
            for toolset in self.declared.iter().filter(|toolset| toolset.takes_in(entry)) {
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
            self.declared.iter().map(|toolset| (&*toolset.name, toolset)).collect();
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

    /// The toolsets, by name.
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

    /// Where a tool stands in the list of all.
    #[must_use]
    pub fn entry(&self, at: usize) -> Option<&Arc<Entry>> {
        self.all.entries().get(at)
    }

    /// Where the tool of that name stands, whoever sees it.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<usize> {
        let wanted = self.all.get(name)?.rank();
        self.all.entries().binary_search_by(|entry| entry.rank().cmp(&wanted)).ok()
    }

    /// Names of the toolsets a tool is in.
    pub fn toolsets_of(&self, at: usize) -> impl Iterator<Item = &Kit> {
        let sets = self.sets();
        sets.of_entry.get(at).into_iter().flatten().filter_map(|kit| sets.kits.get(*kit as usize))
    }

    /// Whether a tool is in one of these toolsets and passes the standing's filter.
    #[must_use]
    pub fn admits(&self, at: usize, within: &Bits, read_only: bool) -> bool {
        let in_set =
            self.sets().of_entry.get(at).is_some_and(|of| of.iter().any(|kit| within.has(*kit as usize)));
        in_set && (!read_only || self.entry(at).is_some_and(|entry| entry.contract().effect().read_only))
    }

    /// The search index over every tool but those of discovery.
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

    /// The view of a standing; the same standing gets the same view.
    #[must_use]
    pub fn view(&self, standing: &Standing, callers: &CallerTable) -> Arc<View> {
        if let Some(view) = self.lock().get(standing) {
            return view.clone();
        }
        // Built outside the lock: of two callers that build the same, the first one's is kept.
        let built = Arc::new(self.build(standing, callers));
        let mut views = self.lock();
        if views.len() >= VIEWS_MAX {
            views.clear();
        }
        views.entry(standing.clone()).or_insert(built).clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Standing, Arc<View>>> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn build(&self, standing: &Standing, table: &CallerTable) -> View {
        let rendered = standing.vendor.and_then(|vendor| table.render(vendor));
        let mut shown = Vec::with_capacity(self.all.entries().len());
        for (at, entry) in self.all.entries().iter().enumerate() {
            if !self.admits(at, &standing.loaded, standing.read_only) {
                continue;
            }
            let mut item = entry.item().clone();
            if entry.meta() == Some(Meta::Search) {
                let text = write::quoted(&self.search_description(standing));
                let raw: Arc<str> = entry.contract().definition().with_member("description", &text).into();
                item = Item { key: item.key, legacy: raw.clone(), modern: raw };
            }
            if let Some(vendor) = standing.vendor {
                let programmatic = self.toolsets_of(at).any(|kit| kit.programmatic);
                let callable = programmatic && callers::is_callable_from_code(entry);
                let callers = rendered.as_deref().filter(|_| callable);
                for raw in [&mut item.legacy, &mut item.modern] {
                    if let Some(changed) = callers::with_callers(raw, vendor, callers) {
                        *raw = changed.into();
                    }
                }
            }
            if standing.tokens.is_some_and(|least| entry.judged().demand >= least) {
                item = entry.with_token(&item);
            }
            shown.push((entry.clone(), item));
        }
        View::of(shown)
    }

    /// What lies behind `search_tools`: shorter where the list shows everything anyway.
    fn search_description(&self, standing: &Standing) -> String {
        let kits: Vec<&Kit> = self.reachable_kits(standing).map(|(_, kit)| kit).collect();
        let total = self.reachable_count(standing);
        if standing.loaded == standing.reach {
            return format!(
                "Finds tools by what they do, among {total} tools. All of them are listed already."
            );
        }
        let parts: Vec<String> = kits
            .iter()
            .map(|kit| match &*kit.description {
                "" => format!("{} ({})", kit.name, kit.members.len()),
                text => format!("{} ({}: {text})", kit.name, kit.members.len()),
            })
            .collect();
        format!(
            "Finds tools by what they do, also those that are not listed. {total} tools lie behind it, in these \
             toolsets: {}. A tool found here can be called with call_tool.",
            parts.join("; ")
        )
    }

    /// The toolsets a standing reaches, discovery aside.
    pub(crate) fn reachable_kits<'a>(
        &'a self,
        standing: &'a Standing,
    ) -> impl Iterator<Item = (usize, &'a Kit)> {
        let kits = self.kits().iter().enumerate();
        kits.filter(|(at, kit)| standing.reach.has(*at) && &*kit.name != DISCOVERY)
    }

    /// How many tools a standing reaches, discovery aside.
    pub(crate) fn reachable_count(&self, standing: &Standing) -> usize {
        let entries = self.all.entries().iter().enumerate();
        entries
            .filter(|(at, entry)| {
                entry.meta().is_none() && self.admits(*at, &standing.reach, standing.read_only)
            })
            .count()
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

    fn catalogue(toolsets: usize) -> Catalogue {
        let declared: Vec<Toolset> =
            (0..toolsets).map(|number| Toolset::new(&format!("s{number:02}"), "")).collect();
        Catalogue::new(Arc::new(View::new(Vec::new())), declared.into())
    }

    fn standing(toolsets: usize, loaded: usize) -> Standing {
        let mut bits = Bits::none(toolsets);
        (0..toolsets).filter(|at| loaded & (1 << at) != 0).for_each(|at| bits.set(at));
        Standing { reach: Bits::all(toolsets), loaded: bits, read_only: false, vendor: None, tokens: None }
    }

    /// R3.5: the same standing gets the same prepared view.
    #[test]
    fn equal_standings_share_a_view() {
        let (catalogue, callers) = (catalogue(3), CallerTable::default());
        let view = |loaded| catalogue.view(&standing(3, loaded), &callers);
        assert!(Arc::ptr_eq(&view(5), &view(5)));
        assert!(!Arc::ptr_eq(&view(5), &view(4)));
    }

    /// `VIEWS_MAX`: a caller that asks for every combination cannot make the server keep them all.
    #[test]
    fn no_more_than_views_max_views_are_kept() {
        let (catalogue, callers) = (catalogue(11), CallerTable::default());
        for loaded in 0..2_048 {
            let _ = catalogue.view(&standing(11, loaded), &callers);
        }
        assert!(catalogue.lock().len() <= VIEWS_MAX);
    }
}
