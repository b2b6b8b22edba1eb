//! R6.5: budgets over real entries: an entry over the budget is compacted, says so, and can be expanded again.

use toolcrib_contract::json::{Document, Limits, Node};
use toolcrib_registry::budget::{OFFICIAL_BYTES_MAX, Target, extension_bytes};
use toolcrib_registry::compact::{CompactError, Step, compacted, expanded, note};
use toolcrib_registry::convert::{Options, convert};
use toolcrib_registry::strict::check;
use toolcrib_registry::{Format, PUBLISHER_KEY, STACKLOK};

use crate::real;

fn parsed<T>(text: &str, then: impl FnOnce(Node<'_>) -> T) -> T {
    then(Document::parse(text.as_bytes(), &Limits::file()).unwrap().root())
}

fn server_of(tools: usize, schema_bytes: usize) -> String {
    let definitions: Vec<_> = (0..tools)
        .map(|i| {
            serde_json::json!({"name": format!("tool_{i}"), "description": "Does & says <something>.",
            "inputSchema": {"type":"object","description":"x".repeat(schema_bytes)}})
        })
        .collect();
    let names: Vec<_> = (0..tools).map(|i| format!("tool_{i}")).collect();
    serde_json::json!({"name":"a/b","description":"d","version":"1.0.0","packages":[{"registryType":"oci","identifier":"img:1","transport":{"type":"stdio"}}],
        "_meta":{PUBLISHER_KEY:{STACKLOK:{"img:1":{"status":"active","tier":"Community","tools":names,"tool_definitions":definitions}}}}})
    .to_string()
}

/// R6.5: the known sizes of real entries are those the registries count.
#[test]
fn real_sizes_are_those_that_registries_count() {
    for (name, bytes) in
        [("everything@2026.1.26", 3_494), ("everything@2026.8.31", 7_157), ("osv@0.1.0", 2_615)]
    {
        let Some(text) = real::file(&format!("toolhive-catalog/{name}.server.json")) else { return };
        assert_eq!(parsed(&text, extension_bytes), bytes, "{name}");
    }
}

/// R6.5: over the budget the smallest step that fits is taken; it keeps the format and can be expanded again.
#[test]
fn each_step_fits_says_what_it_left_and_comes_back() {
    let whole_at = "https://registry.example/v0.1/servers/a%2Fb/versions/1.0.0";
    for (tools, schema, step) in [
        (2, 10, Step::Whole),
        (10, 500, Step::Schemas),
        (26, 500, Step::Prose),
        (60, 10, Step::Definitions),
        (600, 10, Step::Names),
    ] {
        let text = server_of(tools, schema);
        let made = parsed(&text, |root| compacted(root, &Target::official(), whole_at)).unwrap();
        assert_eq!(made.step, step, "{tools} tools: {:?}", made.bytes);
        assert!(made.bytes.1 <= OFFICIAL_BYTES_MAX);
        parsed(&made.text, |root| {
            assert_eq!(check(Format::Server, root).issues(), []);
            assert_eq!(extension_bytes(root), made.bytes.1);
            match note(root) {
                None => assert_eq!(step, Step::Whole),
                Some(note) => {
                    assert_eq!(note.get("left_out").unwrap().len(), step.left_out().len());
                    assert_eq!(note.get("tool_count").unwrap().as_u64(), Some(tools as u64));
                    assert!(note.get("whole").unwrap().is_text(whole_at));
                    assert_eq!(parsed(&text, |whole| expanded(root, whole)).unwrap(), text);
                    let other = text.replace("Does", "Did");
                    assert!(matches!(
                        parsed(&other, |whole| expanded(root, whole)),
                        Err(CompactError::OtherWhole { .. })
                    ));
                }
            }
        });
    }
}

/// R6.5: a budget that other data exceeds is an error, never a cut.
#[test]
fn what_is_not_tool_data_is_never_cut() {
    let text = server_of(1, 1).replace(
        "\"tier\":\"Community\"",
        &format!("\"tier\":\"Community\",\"overview2\":\"{}\"", "y".repeat(5_000)),
    );
    let error = parsed(&text, |root| compacted(root, &Target::official(), "x")).unwrap_err();
    assert!(matches!(error, CompactError::StillOver { limit: OFFICIAL_BYTES_MAX, .. }), "{error}");
    let not = parsed(&server_of(1, 1), |root| expanded(root, root)).unwrap_err();
    assert_eq!(not, CompactError::NotCompact);
}

/// R6.5: every real list of tools becomes an entry that fits the official registry and expands to the original.
#[test]
fn every_real_list_fits_the_official_registry() {
    for (name, text) in
        real::catalogues().into_iter().filter(|(name, _)| name.starts_with("github-mcp-server"))
    {
        let mut options = Options::default();
        options.name = Some("io.github.github/github-mcp-server".to_owned());
        let server = convert(text.as_bytes(), Format::Server, &options).unwrap().text;
        let made = parsed(&server, |root| compacted(root, &Target::official(), "https://r/x")).unwrap();
        assert!(made.bytes.1 <= OFFICIAL_BYTES_MAX, "{name}");
        if made.step != Step::Whole {
            assert_eq!(
                parsed(&made.text, |root| parsed(&server, |whole| expanded(root, whole))).unwrap(),
                server,
                "{name}"
            );
        }
    }
}
