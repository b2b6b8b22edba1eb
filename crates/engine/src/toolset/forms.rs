//! How each tool is listed, for every form that views list it in.
//!
//! A view is a selection of tools, and callers can ask for any selection. Rewriting a definition for each view would
//! cost a caller nothing and the server 10 µs per tool and view; here it happens once per form and state of the registry.

use std::sync::OnceLock;

use super::callers::Vendor;
use crate::listing::Item;

/// What the form of a tool depends on besides the tool itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// Whose names for callers from code it carries.
    pub(super) vendor: Option<Vendor>,
    /// Whether it shows the argument that takes a confirmation token.
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

/// The items of one state of the registry, each made when a view first lists it.
#[derive(Debug, Default)]
pub(super) struct Forms([OnceLock<Box<[OnceLock<Item>]>>; FORMS]);

impl Forms {
    /// Returns the item of the tool at this place of `tools`, made if it is not there.
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
