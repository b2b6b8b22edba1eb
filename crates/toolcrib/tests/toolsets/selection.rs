//! Operator's selection of toolsets at the start.

use toolcrib::HttpOptions;

use crate::shed::*;
use crate::support::*;

/// R3.2: the flag overrides the file; an unknown, malformed or missing value stops the start.
#[tokio::test]
async fn a_bad_selection_stops_the_start() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("toolsets.json");
    std::fs::write(&file, r#"{"defaultToolsets":["admin"],"clientOverrides":{"raw":["all"]}}"#).unwrap();
    let path = file.to_str().unwrap().to_owned();
    let variable = |name: &str| (name == "TOOLCRIB_TOOLSET_CONFIG").then(|| path.clone());
    let flags = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let by_file = fill(builder().selection(vec![], variable).unwrap().build().unwrap());
    let running = serve(&by_file).await;
    let to = running.address;
    assert_eq!(listed(to, &session(to, "/mcp", "x").await).await, ["audit_read", "drop_all", "ping"]);
    assert_eq!(listed(to, &session(to, "/mcp", "raw").await).await.len(), 5);
    let by_flag = fill(builder().selection(flags("--toolsets git"), variable).unwrap().build().unwrap());
    let running = serve(&by_flag).await;
    let to = running.address;
    assert_eq!(listed(to, &session(to, "/mcp", "raw").await).await, ["git_log", "git_push", "ping"]);
    let unknown = fill(builder().selection(flags("--toolsets=git,gti"), variable).unwrap().build().unwrap());
    let refused = unknown.bind_http("127.0.0.1:0", HttpOptions::default()).await.unwrap_err().to_string();
    assert!(refused.contains("gti") && refused.contains("admin, core, discovery, git, reading"), "{refused}");
    std::fs::write(&file, "{\n  \"defaultToolsets\": [1]}").unwrap();
    let malformed = builder().selection(vec![], variable).unwrap_err().to_string();
    assert!(malformed.contains("line 2, column"), "{malformed}");
    let missing = builder().selection(vec![], |_| Some("auto".into())).unwrap_err().to_string();
    assert!(missing.starts_with("auto: "), "{missing}");
    assert!(builder().selection(vec![], |_| Some("sometimes".into())).is_err());
}
