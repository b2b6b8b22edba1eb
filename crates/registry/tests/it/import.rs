//! R6.1, R6.2: every real file imports with its report; a bad file is refused with the location and changes nothing.

use toolcrib_registry::import::{ImportError, Imported, Options, import};
use toolcrib_registry::{Fault, Level};
use toolcrib_store::StoreError;
use toolcrib_store::catalogue::{Catalogue, ListQuery, ToolQuery};

use crate::{databases, real};

fn options(lenient: bool) -> Options {
    let mut options = Options::default();
    options.lenient = lenient;
    options.name = Some("local/tools".to_owned());
    options
}

fn take(store: &Catalogue, text: &str, lenient: bool) -> Result<Imported, ImportError> {
    import(store, text.as_bytes().to_vec(), &options(lenient))
}

fn count(store: &Catalogue) -> usize {
    let query = ListQuery { limit: 10_000, include_deleted: true, ..ListQuery::default() };
    store.read::<_, StoreError, _>(move |db| db.list(&query)).wait_blocking().unwrap().len()
}

/// R6.2: every catalogue under shared/data imports, with a report and without an error.
#[test]
fn every_real_file_imports() {
    databases::each(|open| {
        for (name, text) in real::catalogues() {
            let store = open();
            let done = take(&store, &text, true).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(done.added, count(&store), "{name}");
            assert!(done.added > 0, "{name}");
            assert_eq!(done.report.count(Level::Error), 0, "{name}: {:?}", done.report.issues());
            let again = take(&store, &text, true).unwrap();
            assert_eq!((again.added, again.same), (0, done.added), "{name}");
        }
    });
}

/// R6.1: the last embedded registry imports with its 102 servers and 1,652 tools.
#[test]
fn the_legacy_registry_has_its_servers_and_tools() {
    databases::each(|open| {
        let Some(text) = real::file("toolhive/registry-legacy-2026-02-18.json") else { return };
        let store = open();
        let done = take(&store, &text, false).unwrap();
        assert_eq!((done.added, done.tools), (102, 1_652));
        let found = |query: ToolQuery| {
            store.read::<_, StoreError, _>(move |db| db.search(&query)).wait_blocking().unwrap()
        };
        let words = |text: &str| text.split(' ').map(str::to_owned).collect();
        let hits = found(ToolQuery { words: words("create issue"), limit: 5, ..ToolQuery::default() });
        assert!(hits.iter().any(|hit| hit.tool == "create_issue"), "{hits:?}");
        let none = found(ToolQuery {
            words: words("create issue"),
            read_only: Some(true),
            limit: 5,
            ..ToolQuery::default()
        });
        assert_eq!(none, [], "a name alone is never shown as read-only");
        let one = found(ToolQuery {
            words: words("issue"),
            server: Some("GitLab".into()),
            limit: 50,
            ..ToolQuery::default()
        });
        assert!(!one.is_empty() && one.iter().all(|hit| hit.server.contains("gitlab")));
    });
}

const GOOD: &str = r#"{"name":"a/b","description":"d","version":"1.0.0"}"#;

/// R6.2: truncated files, duplicates, nameless servers and unknown formats are refused with the location; nothing is
/// written.
#[test]
fn bad_files_are_named_by_place_and_change_nothing() {
    databases::each(|open| {
        for (text, place) in [
            (format!(r#"{{"data":{{"servers":[{GOOD},{{"name":"c/d""#), "/data/servers/1"),
            (
                format!(r#"{{"data":{{"servers":[{GOOD},{{"version":"1"}}]}}}}"#),
                "/data/servers/1: \"name\" is missing",
            ),
            (
                format!(r#"{{"data":{{"servers":[{GOOD},{GOOD}]}}}}"#),
                "/data/servers/1: a/b 1.0.0 stands here a second time",
            ),
            (
                format!(r#"{{"data":{{"servers":[{GOOD},7]}}}}"#),
                "/data/servers/1: expected an object, this is number",
            ),
            (format!(r#"{{"data":{{"servers":[{GOOD},{{"name":01}}]}}}}"#), "in /data/servers/1"),
            (r#"{"servers":{"abc":{"image":"i"},"abc":{"image":"j"}}}"#.to_owned(), "duplicate key \"abc\""),
            (r#"{"servers":{"abc":{"description":"x"}}}"#.to_owned(), "/servers/abc: \"image\" is missing"),
            (
                r#"{"image":"i:1","tools":["x"],"tool_definitions":[{"description":"no name"}]}"#.to_owned(),
                "/tool_definitions/0: /name",
            ),
            (
                r#"{"servers":{"abc":{"image":"i:1","tool_definitions":[{"name":"a"},{"description":"no name"}]}}}"#
                    .to_owned(),
                "/servers/abc/tool_definitions/1: /name",
            ),
            (r#"{"tools":[{"name":"a"},{"description":"no name"}]}"#.to_owned(), "/tools/1: /name"),
            (r#"[{"name":"a","inputSchema":{"type":"objekt"}}]"#.to_owned(), "/0/inputSchema/type: no valid schema"),
            (
                r##"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","outputSchema":{"$ref":"#/nowhere"}}]}}"##
                    .to_owned(),
                "/result/tools/0/outputSchema",
            ),
            (r#"{"name":"a","inputSchema":{"minimum":"x"}}"#.to_owned(), "/inputSchema/minimum"),
            (
                r#"{"servers":{"abc":{"image":"i:1","tool_definitions":[{"name":"a","inputSchema":{"type":7}}]}}}"#
                    .to_owned(),
                "/servers/abc/tool_definitions/0/inputSchema/type",
            ),
            (r#"{"something":"else"}"#.to_owned(), "none of the known formats"),
            ("key: [unclosed".to_owned(), "line"),
            (String::new(), "none of the known formats"),
        ] {
            let store = open();
            let error = take(&store, &text, false).unwrap_err().to_string();
            assert!(error.contains(place), "{text}: {error}");
            assert_eq!(count(&store), 0, "{text}");
        }
    });
}

/// R6.2: a lenient run imports the rest and lists what it left out.
#[test]
fn a_lenient_run_takes_the_rest() {
    databases::each(|open| {
        let text = format!(
            r#"{{"data":{{"servers":[7,{GOOD},{{"name":"c/d"}},{GOOD},{{"name":"e/f","version":"1"}}]}}}}"#
        );
        let store = open();
        let done = take(&store, &text, true).unwrap();
        assert_eq!((done.added, count(&store)), (2, 2));
        let left: Vec<&str> = done.report.issues().iter().map(|issue| issue.pointer.as_str()).collect();
        assert_eq!(left, ["/data/servers/0", "/data/servers/2", "/data/servers/3"]);
    });
}

/// R6.2: a lenient run keeps a tool with an invalid schema as it was given, and notes its location.
#[test]
fn a_lenient_run_keeps_what_it_complains_of() {
    let store = Catalogue::in_memory().unwrap();
    let text = r#"{"tools":[{"name":"bad","inputSchema":{"type":"objekt"}},{"name":"good"}]}"#;
    let done = take(&store, text, true).unwrap();
    assert_eq!((done.tools, done.report.issues()[0].pointer.as_str()), (2, "/tools/0/inputSchema/type"));
    let tools =
        store.read::<_, StoreError, _>(|db| db.tools("local/tools", "latest")).wait_blocking().unwrap();
    assert_eq!(tools[0].definition, r#"{"name":"bad","inputSchema":{"type":"objekt"}}"#);
}

/// R6.1: a version stays as it was stored; another document of it is a fault, or replaces it if that is requested.
#[test]
fn a_version_is_replaced_only_when_asked() {
    databases::each(|open| {
        let store = open();
        take(&store, GOOD, false).unwrap();
        let other = GOOD.replace("\"d\"", "\"e\"");
        let error = take(&store, &other, true).unwrap();
        assert!(matches!(error.report.issues()[0].fault, Fault::ChangedServer { .. }));
        let mut given = options(false);
        given.replace = true;
        let done = import(&store, other.into_bytes(), &given).unwrap();
        assert_eq!((done.added, done.replaced, count(&store)), (0, 1, 1));
    });
}

/// Issue 21: a file is read and checked completely before its transaction begins: a file that is faulty at its end is
/// refused while another write holds the catalogue.
#[test]
fn a_faulty_file_is_refused_before_the_catalogue_is_locked() {
    let store = Catalogue::in_memory().unwrap();
    let (started, has_started) = std::sync::mpsc::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let held = store.write::<_, StoreError, _>(move |_| {
        started.send(()).unwrap();
        let _ = released.recv();
        Ok(())
    });
    has_started.recv().unwrap();
    let file = format!(r#"{{"data":{{"servers":[{GOOD},{{"name":"c/d"}}]}}}}"#);
    let (told, is_told) = std::sync::mpsc::channel();
    let catalogue = store.clone();
    std::thread::spawn(move || told.send(take(&catalogue, &file, false).is_err()));
    let refused = is_told.recv_timeout(std::time::Duration::from_secs(10));
    drop(release);
    held.wait_blocking().unwrap();
    assert_eq!(refused, Ok(true), "it waited for the catalogue");
}
