//! Cache of the listed forms of each tool.
//!
//! A view is a selection of tools, and callers can ask for any selection. Rewriting a definition for each view would
//! let a caller cost the server 10 µs per tool and view; here it is rewritten once per form and state of the
//! registry.

use std::sync::OnceLock;

use super::callers::Vendor;
use crate::listing::Item;

/// Properties of a view that the listed form of a tool depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// Vendor whose names for callers from code the form carries.
    pub(super) vendor: Option<Vendor>,
    /// `true` if the input schema has the property for a confirmation token.
    pub(super) takes_token: bool,
}

const FORMS: usize = 6;

impl Form {
    const fn place(self) -> usize {
        let vendor = match self.vendor {
            None => 0,
            Some(Vendor::Anthropic) => 1,
            Some(Vendor::OpenAi) => 2,
        };
        2 * vendor + self.takes_token as usize
    }
}

/// Listed items of one state of the registry, each rendered when a view first lists it.
#[derive(Debug, Default)]
pub(super) struct Forms([OnceLock<Box<[OnceLock<Item>]>>; FORMS]);

impl Forms {
    /// Returns the item of the tool at index `at` of `tools` tools, rendered on first use.
    pub(super) fn get(&self, form: Form, at: usize, tools: usize, make: impl FnOnce() -> Item) -> Item {
        let items = self
            .0
            .get(form.place())
            .map(|items| items.get_or_init(|| std::iter::repeat_with(OnceLock::new).take(tools).collect()));
        match items.and_then(|items| items.get(at)) {
            Some(item) => item.get_or_init(make).clone(),
            None => make(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_made_once_for_each_form() {
        let forms = Forms::default();
        let mut made = 0;
        for _ in 0..2 {
            for vendor in [None, Some(Vendor::Anthropic), Some(Vendor::OpenAi)] {
                for takes_token in [false, true] {
                    let item = forms.get(Form { vendor, takes_token }, 1, 2, || {
                        made += 1;
                        Item::same("t", format!("{vendor:?} {takes_token}"))
                    });
                    assert_eq!(&*item.modern, format!("{vendor:?} {takes_token}"));
                }
            }
        }
        assert_eq!(made, FORMS);
    }
}
