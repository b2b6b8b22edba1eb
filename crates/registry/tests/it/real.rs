//! Real catalogue files beside the repository. They are never copied into it, and a missing folder is reported.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Returns the folder, if it exists beside the repository.
pub(crate) fn folder() -> Option<PathBuf> {
    let found = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|at| at.join("shared/data"))
        .find(|p| p.is_dir());
    if found.is_none() {
        eprintln!("SKIPPED: no shared/data beside the repository, so no real catalogue was tested");
    }
    found
}

/// Returns the catalogue files by path: everything but schemas, pairs of schemas and API descriptions.
pub(crate) fn catalogues() -> BTreeMap<String, String> {
    let Some(folder) = folder() else { return BTreeMap::new() };
    let mut open = vec![folder.clone()];
    let mut files = BTreeMap::new();
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                open.push(path);
            } else if name.ends_with(".json") && !name.contains("schema") && !name.ends_with("swagger.json") {
                files.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    assert!(files.len() > 50, "only {} files were found", files.len());
    files
}

/// Reads one file of the folder.
pub(crate) fn file(name: &str) -> Option<String> {
    folder().map(|folder| std::fs::read_to_string(folder.join(name)).unwrap())
}
