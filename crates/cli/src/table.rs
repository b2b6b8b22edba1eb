//! Tables that fit the terminal.

use std::io::IsTerminal as _;

use toolcrib_contract::text::one_line;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Minimum width of the last column.
const LAST_MIN: usize = 16;
/// Width kept for the last column before other columns are cut, because names are there to be copied.
const LAST_GOOD: usize = 30;
/// Spaces between columns.
const GAP: usize = 2;

/// Returns the terminal's width: `COLUMNS`, else the terminal's size, else unlimited.
pub(crate) fn columns() -> usize {
    let told =
        std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|columns| *columns > 0);
    let asked = || {
        let out = std::io::stdout();
        out.is_terminal()
            .then(|| rustix::termios::tcgetwinsize(out).ok().map(|size| usize::from(size.ws_col)))
            .flatten()
    };
    told.or_else(asked).filter(|columns| *columns > 0).unwrap_or(usize::MAX)
}

/// Formats rows under a header. The last column is cut to the rest of `columns`. If less than [`LAST_GOOD`] would
/// remain, the other columns are cut too: the widest first, to no less than a third.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]], columns: usize) -> String {
    let cells = |row: &[String; N]| row.clone().map(|cell| one_line(&cell.replace(['\n', '\t'], " ")));
    let rows: Vec<[String; N]> = rows.iter().map(cells).collect();
    let third = (columns / 3).max(LAST_MIN);
    let mut widths = [0; N];
    for (at, width) in widths.iter_mut().enumerate() {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width());
        let own = cells.chain(head.get(at).map(|cell| cell.width())).max().unwrap_or(0);
        *width = own;
    }
    let needed = widths.last().copied().unwrap_or(0).min(LAST_GOOD);
    let room = columns.saturating_sub(needed);
    if let Some((_, others)) = widths.split_last_mut() {
        loop {
            let taken: usize = others.iter().map(|width| width + GAP).sum();
            let Some(widest) = others.iter_mut().max() else { break };
            if taken <= room || *widest <= third {
                break;
            }
            *widest = widest.saturating_sub(taken - room).max(third);
        }
    }
    let before: usize = widths.iter().take(N.saturating_sub(1)).map(|width| width + GAP).sum();
    let last = columns.saturating_sub(before).max(LAST_MIN);
    let mut out = String::new();
    for row in std::iter::once(head.map(str::to_owned)).chain(rows) {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            let is_last = at + 1 == N;
            let width = if is_last { last } else { widths.get(at).copied().unwrap_or(0) };
            let shown = cut(cell, width);
            line.push_str(&shown);
            if !is_last {
                line.extend(std::iter::repeat_n(' ', width.saturating_sub(shown.width()) + GAP));
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Cuts `text` to `width` columns and marks the cut with `…`.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for letter in text.chars() {
        used += letter.width().unwrap_or(0);
        if used > width {
            break;
        }
        out.push(letter);
    }
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R8.2: no line is wider than the terminal, wide characters included; a cut cell ends with `…`.
    #[test]
    fn tables_fit_the_terminal() {
        let rows: Vec<[String; 2]> =
            ["short", "東京東京東京東京東京東京東京東京東京東京東京", "line\nbreak \u{1b}[31m"]
                .iter()
                .map(|text| ["name".to_owned(), (*text).to_owned()])
                .collect();
        for columns in [24, 40, 80] {
            let shown = table(["NAME", "TOOLS"], &rows, columns);
            assert!(shown.lines().all(|line| line.width() <= columns), "{shown}");
            assert!(!shown.contains('\u{1b}') && shown.lines().count() == 4, "{shown}");
        }
        assert!(table(["NAME", "TOOLS"], &rows, 24).contains('…'));
        let name = "io.github.example/a-name-of-forty-characters";
        let named =
            [[name.to_owned(), "tool (which does a great many things to a great many others)".to_owned()]];
        let shown = table(["NAME", "TOOLS"], &named, 80);
        assert!(shown.contains(name) && shown.lines().all(|line| line.width() <= 80), "{shown}");
        assert!(!table(["NAME", "TOOLS"], &rows, usize::MAX).contains('…'));
    }
}
