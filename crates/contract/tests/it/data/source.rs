//! Source of the definitions under test, extracted without the crate's reader so that it cannot hide its own faults.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

/// Definition as it is written in a file.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) place: String,
    /// First component of the file's path.
    pub(super) folder: String,
    pub(super) text: String,
}

/// Returns the fixtures of this crate, by file name.
pub(super) fn fixtures() -> Vec<Found> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut found: Vec<Found> = files(&folder)
        .into_iter()
        .map(|(place, text)| Found { folder: place.clone(), place, text: text.trim().to_owned() })
        .collect();
    found.sort_by(|a, b| a.place.cmp(&b.place));
    assert!(found.len() >= 6, "the fixtures are gone");
    found
}

/// Returns the real files by path; prints a notice and returns `None` if they are not beside the repository.
pub(super) fn real_files() -> Option<BTreeMap<String, String>> {
    match Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|at| at.join("shared/data"))
        .find(|p| p.is_dir())
    {
        Some(folder) => Some(files(&folder)),
        None => {
            eprintln!("SKIPPED: no shared/data beside the repository, so no real definition was tested");
            None
        }
    }
}

/// Returns every definition in the real files; prints a notice and returns none if they are not beside the
/// repository.
pub(super) fn real_definitions() -> Vec<Found> {
    let Some(files) = real_files() else { return Vec::new() };
    let mut found = Vec::new();
    for (file, text) in &files {
        let root: &RawValue = serde_json::from_str(text).unwrap();
        walk(root, file, true, &mut found);
    }
    assert!(found.len() > 2_000, "only {} real definitions were found", found.len());
    found
}

/// Collects definitions: objects with a name and an input schema, or objects with a name in a list of tools.
fn walk(raw: &RawValue, place: &str, in_tools: bool, found: &mut Vec<Found>) {
    if let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(raw.get()) {
        let named = members.get("name").is_some_and(|name| name.get().starts_with('"'));
        let listed = in_tools && place.contains('#');
        if named && (members.contains_key("inputSchema") || listed) {
            let folder = place.split('/').next().unwrap_or_default().to_owned();
            found.push(Found { place: place.to_owned(), folder, text: raw.get().to_owned() });
            return;
        }
        for (key, value) in members {
            walk(
                value,
                &format!("{place}#{key}"),
                matches!(key.as_str(), "tools" | "tool_definitions"),
                found,
            );
        }
    } else if let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(raw.get()) {
        for (i, element) in elements.into_iter().enumerate() {
            walk(element, &format!("{place}#{i}"), in_tools, found);
        }
    }
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut open: Vec<PathBuf> = vec![folder.to_owned()];
    let mut files = BTreeMap::new();
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ext| ext == "json") {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                files.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}
