//! Search for tools by words and by hints.

use rusqlite::{Connection, params};

use crate::catalogue::query::ToolQuery;
use crate::catalogue::row::ToolHit;
use crate::catalogue::words;
use crate::error::StoreError;

/// Condition of the filters, which are `?1` to `?4`.
const FILTERS: &str = "s.is_latest = 1 AND s.status <> 'deleted'
    AND (?1 IS NULL OR instr(lower(s.name), ?1) > 0)
    AND (?2 IS NULL OR t.read_only = ?2)
    AND (?3 IS NULL OR t.destructive = ?3)
    AND (?4 IS NULL OR t.has_output = ?4)";

/// Returns the matching tools of latest versions, best first: a match in the name weighs most, then in its words, then
/// in the prose.
pub(super) fn search(db: &Connection, query: &ToolQuery) -> Result<Vec<ToolHit>, StoreError> {
    let server = query.server.as_ref().map(|text| text.to_lowercase());
    let read = |row: &rusqlite::Row<'_>| {
        Ok(ToolHit {
            server: row.get(0)?,
            version: row.get(1)?,
            tool: row.get(2)?,
            definition: row.get(3)?,
            digest: row.get(4)?,
        })
    };
    let found = matching(&query.words);
    let sql = match &found {
        Some(_) => format!(
            "SELECT s.name, s.version, t.name, t.definition, t.digest FROM catalogue_words w
             JOIN catalogue_tools t ON t.id = w.rowid JOIN catalogue_servers s ON s.id = t.server
             WHERE catalogue_words MATCH ?7 AND w.rank MATCH 'bm25(8.0, 4.0, 1.5, 1.0, 2.0)' AND {FILTERS}
             ORDER BY w.rank, s.name, t.name LIMIT ?5 OFFSET ?6"
        ),
        None => format!(
            "SELECT s.name, s.version, t.name, t.definition, t.digest FROM catalogue_servers s
             JOIN catalogue_tools t ON t.server = s.id
             WHERE ?7 IS NULL AND {FILTERS} ORDER BY s.name, t.place LIMIT ?5 OFFSET ?6"
        ),
    };
    let hits = db
        .prepare_cached(&sql)?
        .query_map(
            params![
                server,
                query.read_only,
                query.destructive,
                query.has_output,
                query.limit,
                query.offset,
                found
            ],
            read,
        )?
        .collect::<Result<_, _>>()?;
    Ok(hits)
}

/// Builds the FTS5 query: all words have to match, the last one as a prefix. Words are quoted, so none is an operator.
fn matching(words: &[String]) -> Option<String> {
    let quoted: Vec<String> = words::plain(words).map(|word| format!("\"{word}\"")).collect();
    (!quoted.is_empty()).then(|| format!("{}*", quoted.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::matching;

    #[test]
    fn words_are_never_operators() {
        let of = |words: &[&str]| matching(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["create issue", "OR"]).unwrap(), r#""create" "issue" "OR"*"#);
        assert_eq!(of(&["a\"b", "NEAR(x)"]).unwrap(), r#""a" "b" "NEAR" "x"*"#);
        assert_eq!(of(&["--", "\""]), None);
    }
}
