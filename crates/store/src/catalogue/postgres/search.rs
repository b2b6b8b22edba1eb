//! Search for tools by words and by hints.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use super::{PostgresShelves, text};
use crate::catalogue::query::ToolQuery;
use crate::catalogue::row::ToolHit;
use crate::catalogue::words;
use crate::error::StoreError;

/// SELECT of tools; `$1` to `$4` are the filters.
macro_rules! tools {
    ($found:literal, $order:literal) => {
        concat!(
            "SELECT s.name, s.version, t.name, t.definition, t.digest
             FROM catalogue_tools t JOIN catalogue_servers s ON s.id = t.server
             WHERE s.is_latest AND s.status <> 'deleted'
               AND ($1::text IS NULL OR strpos(lower(s.name COLLATE \"C\"), $1) > 0)
               AND ($2::boolean IS NULL OR t.read_only = $2)
               AND ($3::boolean IS NULL OR t.destructive = $3)
               AND ($4::boolean IS NULL OR t.has_output = $4)
               AND ",
            $found,
            " ORDER BY ",
            $order,
            " LIMIT $5 OFFSET $6"
        )
    };
}

pub(super) fn search(db: &mut PostgresShelves<'_>, query: &ToolQuery) -> Result<Vec<ToolHit>, StoreError> {
    let server = query.server.as_ref().map(|part| text(&part.to_lowercase()).into_owned());
    let found = matching(&query.words);
    // The weights are those of the SQLite index: parameters, prose and server, words of the name, the name itself.
    let sql = match &found {
        Some(_) => tools!(
            "t.words @@ to_tsquery('catalogue_words', $7)",
            "ts_rank('{0.125, 0.2, 0.5, 1.0}', t.words, to_tsquery('catalogue_words', $7), 1) DESC, s.name, t.name"
        ),
        None => tools!("$7::text IS NULL", "s.name, t.place"),
    };
    let rows = db.rows(
        sql,
        &[
            &server,
            &query.read_only,
            &query.destructive,
            &query.has_output,
            &i64::from(query.limit),
            &i64::from(query.offset),
            &found,
        ],
    )?;
    rows.iter()
        .map(|row| {
            Ok(ToolHit {
                server: row.try_get(0)?,
                version: row.try_get(1)?,
                tool: row.try_get(2)?,
                definition: row.try_get(3)?,
                digest: row.try_get(4)?,
            })
        })
        .collect()
}

/// Builds the `tsquery`: all words have to match, the last one as a prefix.
fn matching(asked: &[String]) -> Option<String> {
    let folded: Vec<String> =
        words::plain(asked).map(folded).filter(|word| !word.trim().is_empty()).collect();
    (!folded.is_empty()).then(|| format!("{}:*", folded.join(" & ")))
}

/// Lower-cases letters, removes their accents, and replaces every character that is neither letter nor digit by a
/// space, so that PostgreSQL's parser cannot take any of it for a path, a URL or a number with a sign.
pub(super) fn folded(given: &str) -> String {
    given
        .nfd()
        .filter(|c| !is_combining_mark(*c))
        .flat_map(char::to_lowercase)
        .map(|c| if c.is_alphanumeric() { c } else { ' ' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_never_operators() {
        let of = |words: &[&str]| matching(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["create issue", "OR"]).unwrap(), "create & issue & or:*");
        assert_eq!(of(&["a'b", "!(x) | y:*"]).unwrap(), "a & b & x & y:*");
        assert_eq!(of(&["--", "'"]), None);
    }

    #[test]
    fn accents_and_case_do_not_tell_words_apart() {
        assert_eq!(folded("Événement_SÃO-Straße/日本.v2"), "evenement sao straße 日本 v2");
    }
}
