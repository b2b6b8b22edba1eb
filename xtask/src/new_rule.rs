//! `xtask new-rule ID`: scaffolds the file of a contract change rule and adds it to the list of rules. The author then
//! writes its message, its old/new pair and the code that detects it; the tests fail until all of them exist.

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use crate::shell::root;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The rule's name, `area.what`.
    id: String,
    /// The level it gives: breaking, dangerous, compatible, unknown, or containment.
    #[arg(long, default_value = "containment")]
    level: String,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    if !args.id.split_once('.').is_some_and(|(area, what)| word(area) && word(what)) {
        bail!("a rule is named `area.what`, lower case: {:?}", args.id);
    }
    let file = root().join("crates/change/rules").join(format!("{}.json", args.id));
    if file.exists() {
        bail!("{} exists", file.display());
    }
    let tool = json!({"name": "example", "inputSchema": {"type": "object"}});
    let rule = json!({
        "id": args.id, "group": "compatibility", "direction": "schema", "level": args.level, "bump": "minor",
        "message": "{name} changed from {old} to {new}", "reference": "https://modelcontextprotocol.io/",
        "fix": "", "old": [tool], "new": [tool],
    });
    std::fs::write(&file, format!("{rule:#}\n"))?;
    let list = root().join("crates/change/src/rule.rs");
    let text = std::fs::read_to_string(&list)?;
    let listed = with_line(&text, &args.id).context("crates/change/src/rule.rs has no list of files")?;
    std::fs::write(&list, listed)?;
    println!("{} written; now its message, fix and pair, and the code that finds it", file.display());
    Ok(())
}

/// Inserts the rule into the sorted list in the source and updates the list's length.
fn with_line(text: &str, id: &str) -> Option<String> {
    let (before, rest) = text.split_once("files![\n")?;
    let (body, after) = rest.split_once("];")?;
    let mut lines: Vec<String> = body.lines().map(str::to_owned).collect();
    lines.push(format!("    \"{id}\","));
    lines.sort();
    lines.dedup();
    let (head, length) = before.rsplit_once("[&str; ")?;
    let (_, tail) = length.split_once(']')?;
    Some(format!("{head}[&str; {}]{tail}files![\n{}\n];{after}", lines.len(), lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::with_line;

    #[test]
    fn the_list_grows_by_one_line_in_order() {
        let text = "const FILES: [&str; 2] = files![\n    \"a.x\",\n    \"c.x\",\n];\nmore";
        let grown = with_line(text, "b.x").unwrap();
        assert_eq!(
            grown,
            "const FILES: [&str; 3] = files![\n    \"a.x\",\n    \"b.x\",\n    \"c.x\",\n];\nmore"
        );
        assert_eq!(with_line("nothing", "b.x"), None);
    }
}
