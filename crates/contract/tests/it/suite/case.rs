//! Reader of the suite's files; uses the crate's own reader, so that every number keeps its spelling.

use std::path::{Path, PathBuf};

use toolcrib_contract::json::{Document, Limits, Node};

/// One schema and its test cases.
pub(super) struct Group {
    /// Path relative to the dialect's folder.
    pub(super) file: String,
    pub(super) name: String,
    pub(super) schema: String,
    pub(super) cases: Vec<Case>,
}

pub(super) struct Case {
    pub(super) name: String,
    pub(super) data: String,
    pub(super) valid: bool,
}

/// Returns all groups under `folder` of the suite, in the order of their files.
pub(super) fn groups(folder: &Path) -> Vec<Group> {
    let folder = root().join(folder);
    let mut files = Vec::new();
    collect(&folder, &mut files);
    files.sort();
    let mut groups = Vec::new();
    for file in files {
        let text = std::fs::read(&file).unwrap();
        let document = Document::parse(&text, &Limits::file())
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let name = file.strip_prefix(&folder).unwrap().to_str().unwrap();
        groups.extend(document.root().elements().map(|group| Group::read(name, group)));
    }
    groups
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.deps/json-schema-test-suite");
    assert!(
        root.join("tests").is_dir(),
        "the JSON Schema Test Suite is not at {}; run `cargo run -p xtask -- provision`",
        root.display()
    );
    root
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "json") {
            files.push(path);
        }
    }
}

impl Group {
    fn read(file: &str, group: Node<'_>) -> Self {
        let cases = group.get("tests").unwrap().elements().map(|case| Case {
            name: text(case, "description"),
            data: case.get("data").unwrap().raw().to_owned(),
            valid: case.get("valid").unwrap().as_bool().unwrap(),
        });
        Self {
            file: file.to_owned(),
            name: text(group, "description"),
            schema: group.get("schema").unwrap().raw().to_owned(),
            cases: cases.collect(),
        }
    }
}

fn text(node: Node<'_>, key: &str) -> String {
    node.get(key).unwrap().as_str().unwrap().into_owned()
}
