//! [`Listing`]: a list in its wire form, rendered once per change.
//!
//! Guarantees: equal items give equal bytes; the first page is shared bytes, into which a request only splices its
//! id. Cursors are sealed: a forged cursor, or one of another list, is refused.

use std::sync::{Arc, OnceLock};

use ahash::RandomState;
use bytes::Bytes;
use toolcrib_protocol::{CacheHint, Era};

use crate::seal::Sealer;

/// List item in the forms of both eras, as raw JSON.
#[derive(Debug, Clone)]
pub struct Item {
    pub key: Arc<str>,
    pub legacy: Arc<str>,
    pub modern: Arc<str>,
    /// Hash of both forms, computed once and reused by every view that shares the item.
    fingerprint: u64,
}

impl Item {
    #[must_use]
    pub fn new(key: Arc<str>, legacy: Arc<str>, modern: Arc<str>) -> Self {
        // Fixed seeds, because hashes of different states of the registry are compared. No table is keyed by this
        // hash.
        let fingerprint = RandomState::with_seeds(1, 2, 3, 4).hash_one((&legacy, &modern));
        Self { key, legacy, modern, fingerprint }
    }

    /// Returns an item with one form for both eras.
    #[must_use]
    pub fn same(key: impl Into<Arc<str>>, raw: impl Into<Arc<str>>) -> Self {
        let raw = raw.into();
        Self::new(key.into(), raw.clone(), raw)
    }

    /// Returns the item with both forms rewritten, or rewritten once if they are shared; `None` leaves a form
    /// unchanged.
    #[must_use]
    pub fn changed(self, change: impl Fn(&str) -> Option<String>) -> Self {
        let form = |raw: &Arc<str>| change(raw).map_or_else(|| raw.clone(), Arc::from);
        let modern = form(&self.modern);
        let legacy =
            if Arc::ptr_eq(&self.legacy, &self.modern) { modern.clone() } else { form(&self.legacy) };
        Self::new(self.key, legacy, modern)
    }

    pub(crate) const fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}

/// Settings that all pages of a server's lists share.
#[derive(Debug, Clone)]
pub struct Render {
    pub page_items: usize,
    pub hint: CacheHint,
    /// `_meta` object of modern results, as raw JSON.
    pub meta: Arc<str>,
    pub sealer: Sealer,
}

/// The cursor was not issued for this list, or the item it points at is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the cursor is not valid for this list; start again without one")]
pub struct BadCursor;

/// List with its rendered first page in each era.
#[derive(Debug)]
pub struct Listing {
    /// Member of the result that holds the items, such as `tools`.
    member: &'static str,
    items: Vec<Item>,
    legacy: OnceLock<Bytes>,
    modern: OnceLock<Bytes>,
}

impl Listing {
    #[must_use]
    pub fn new(member: &'static str, items: Vec<Item>) -> Self {
        Self { member, items, legacy: OnceLock::new(), modern: OnceLock::new() }
    }

    pub(crate) fn items(&self) -> &[Item] {
        &self.items
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the result object of the first page, or of the page after the cursor.
    pub fn page(&self, era: Era, cursor: Option<&str>, render: &Render) -> Result<Bytes, BadCursor> {
        match cursor {
            None => {
                let cell = match era {
                    Era::Legacy => &self.legacy,
                    Era::Modern => &self.modern,
                };
                Ok(cell.get_or_init(|| self.render(era, 0, render)).clone())
            }
            Some(cursor) => Ok(self.render(era, self.open_cursor(cursor, render)?, render)),
        }
    }

    fn render(&self, era: Era, start: usize, render: &Render) -> Bytes {
        let page: Vec<&Item> = self.items.iter().skip(start).take(render.page_items).collect();
        let size: usize = page.iter().map(|item| item.modern.len().max(item.legacy.len()) + 1).sum();
        let mut out = Vec::with_capacity(size + 256);
        out.push(b'{');
        if era == Era::Modern {
            out.extend_from_slice(b"\"resultType\":\"complete\",");
        }
        out.push(b'"');
        out.extend_from_slice(self.member.as_bytes());
        out.extend_from_slice(b"\":[");
        for (index, item) in page.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            let raw = if era == Era::Modern { &item.modern } else { &item.legacy };
            out.extend_from_slice(raw.as_bytes());
        }
        out.push(b']');
        let end = start + page.len();
        if let (true, Some(last)) = (end < self.items.len(), page.last())
            && let Some(cursor) = self.seal_cursor(end, &last.key, render)
        {
            out.extend_from_slice(b",\"nextCursor\":\"");
            out.extend_from_slice(cursor.as_bytes());
            out.push(b'"');
        }
        if era == Era::Modern {
            render.hint.write(&mut out);
            out.extend_from_slice(b",\"_meta\":");
            out.extend_from_slice(render.meta.as_bytes());
        }
        out.push(b'}');
        out.into()
    }

    fn seal_cursor(&self, end: usize, last: &str, render: &Render) -> Option<String> {
        render.sealer.seal(&["cursor", self.member], format!("{end}:{last}").as_bytes()).ok()
    }

    /// Returns the index where the page after the cursor starts; the list may have changed since the cursor was
    /// issued.
    fn open_cursor(&self, cursor: &str, render: &Render) -> Result<usize, BadCursor> {
        let plain = render.sealer.open(&["cursor", self.member], cursor).ok_or(BadCursor)?;
        let text = std::str::from_utf8(&plain).map_err(|_| BadCursor)?;
        let (end, last) = text.split_once(':').ok_or(BadCursor)?;
        let end: usize = end.parse().map_err(|_| BadCursor)?;
        let unmoved =
            end.checked_sub(1).and_then(|at| self.items.get(at)).is_some_and(|item| *item.key == *last);
        if unmoved {
            return Ok(end);
        }
        self.items.iter().position(|item| *item.key == *last).map(|at| at + 1).ok_or(BadCursor)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use toolcrib_protocol::CacheScope;

    use super::*;

    fn render(page_items: usize) -> Render {
        Render {
            page_items,
            hint: CacheHint { ttl_ms: 5, scope: CacheScope::Public },
            meta: "{}".into(),
            sealer: Sealer::random().unwrap(),
        }
    }

    fn listing(member: &'static str, names: &[&str]) -> Listing {
        Listing::new(member, names.iter().map(|name| Item::same(*name, format!("\"{name}\""))).collect())
    }

    #[test]
    fn pages_follow_each_other_and_the_last_has_no_cursor() {
        let (list, render) = (listing("tools", &["a", "b", "c"]), render(2));
        let first: Value = serde_json::from_slice(&list.page(Era::Legacy, None, &render).unwrap()).unwrap();
        assert_eq!(first["tools"], serde_json::json!(["a", "b"]));
        let cursor = first["nextCursor"].as_str().unwrap();
        let second: Value =
            serde_json::from_slice(&list.page(Era::Modern, Some(cursor), &render).unwrap()).unwrap();
        assert_eq!(second["tools"], serde_json::json!(["c"]));
        assert_eq!(second.get("nextCursor"), None);
        assert_eq!(second["ttlMs"], 5);
    }

    #[test]
    fn a_cursor_survives_a_change_of_the_list_if_its_item_does() {
        let render = render(1);
        let old = listing("tools", &["b", "d"]);
        let first: Value = serde_json::from_slice(&old.page(Era::Legacy, None, &render).unwrap()).unwrap();
        let cursor = first["nextCursor"].as_str().unwrap();
        let changed = listing("tools", &["a", "b", "c", "d"]);
        let next: Value =
            serde_json::from_slice(&changed.page(Era::Legacy, Some(cursor), &render).unwrap()).unwrap();
        assert_eq!(next["tools"], serde_json::json!(["c"]));
        assert_eq!(listing("tools", &["a"]).page(Era::Legacy, Some(cursor), &render), Err(BadCursor));
    }

    #[test]
    fn forged_cursors_and_those_of_another_list_are_refused() {
        let render = render(1);
        let tools = listing("tools", &["a", "b"]);
        let first: Value = serde_json::from_slice(&tools.page(Era::Legacy, None, &render).unwrap()).unwrap();
        let cursor = first["nextCursor"].as_str().unwrap();
        assert_eq!(listing("prompts", &["a", "b"]).page(Era::Legacy, Some(cursor), &render), Err(BadCursor));
        for forged in ["", "1", "bm90IG91cnM", &cursor[1..]] {
            assert_eq!(tools.page(Era::Legacy, Some(forged), &render), Err(BadCursor), "{forged}");
        }
    }

    #[test]
    fn the_first_page_is_the_same_bytes_every_time() {
        let (list, render) = (listing("tools", &["a"]), render(9));
        let (one, two) =
            (list.page(Era::Modern, None, &render).unwrap(), list.page(Era::Modern, None, &render).unwrap());
        assert_eq!(one.as_ptr(), two.as_ptr());
    }
}
