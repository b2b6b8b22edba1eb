//! Words that people and tool authors use for one thing: a few general verbs of tools, and abbreviations.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::stem::stem;

const GROUPS: [&[&str]; 19] = [
    &["create", "make", "new", "open", "file"],
    &["delete", "remove", "drop", "discard"],
    &["get", "show", "read", "fetch", "view", "see", "detail", "download"],
    &["search", "find", "look"],
    &["update", "change", "edit", "modify", "set", "rename"],
    &["send", "post"],
    &["reply", "answer", "respond"],
    &["people", "user", "person"],
    &["latest", "newest"],
    &["pr", "pull"],
    &["repo", "repository"],
    &["email", "mail", "message"],
    &["log", "output"],
    &["run", "execute", "start", "trigger"],
    &["file", "document"],
    &["stop", "cancel"],
    &["kubernetes", "kubectl", "k8s"],
    &["usage", "use"],
    &["docs", "documentation"],
];

/// Returns the synonyms of a stem, as stems.
pub(super) fn of(stem: &str) -> &'static [Box<str>] {
    static TABLE: OnceLock<HashMap<Box<str>, Vec<Box<str>>>> = OnceLock::new();
    let table = TABLE.get_or_init(build);
    table.get(stem).map_or(&[], Vec::as_slice)
}

fn build() -> HashMap<Box<str>, Vec<Box<str>>> {
    let mut table: HashMap<Box<str>, Vec<Box<str>>> = HashMap::new();
    for group in GROUPS {
        let stems: Vec<Box<str>> = group.iter().map(|word| stem(word).into()).collect();
        for one in &stems {
            let others = table.entry(one.clone()).or_default();
            for other in stems.iter().filter(|other| *other != one) {
                if !others.contains(other) {
                    others.push(other.clone());
                }
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stands_for_the_others_of_its_group_and_not_for_itself() {
        let find = of(&stem("finding"));
        assert!(find.contains(&stem("search").into()) && !find.contains(&stem("find").into()));
        assert!(of("unheard").is_empty());
    }
}
