//! Terminal output: colour, tables, and confirmation questions.
//!
//! Guarantees: no colour if `NO_COLOR` is set, `TERM` is `dumb` or the output is no terminal, and no information only
//! in colour. A question is asked only on a terminal.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use crate::exit::{Exit, Failure};

/// Style of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Strong,
    Good,
    Bad,
    Faint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    colour: bool,
    /// Columns of the terminal; `None` if the output is no terminal.
    width: Option<usize>,
}

impl Style {
    pub(crate) const PLAIN: Self = Self { colour: false, width: None };

    pub(crate) fn of_stdout() -> Self {
        let stdout = std::io::stdout();
        if !stdout.is_terminal() {
            return Self::PLAIN;
        }
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        let size = rustix::termios::tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col));
        Self { colour: !is_set("NO_COLOR") && !dumb, width: size.filter(|columns| *columns >= 40) }
    }

    pub(crate) fn paint(self, text: &str, paint: Paint) -> String {
        let code = match paint {
            Paint::Strong => "1",
            Paint::Good => "32",
            Paint::Bad => "31",
            Paint::Faint => "2",
        };
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// Returns the word for a tool's effect, coloured and padded to twelve columns.
    pub(crate) fn badge(self, effect: toolcrib_contract::Effect) -> String {
        let paint = match effect {
            toolcrib_contract::Effect { read_only: true, .. } => Paint::Good,
            toolcrib_contract::Effect { destructive: true, .. } => Paint::Bad,
            _ => Paint::Strong,
        };
        self.paint(&format!("{:<12}", crate::show::badge(effect)), paint)
    }
}

/// Table whose last column is cut at the terminal's edge.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&str]) -> Self {
        let rows = if head.is_empty() {
            Vec::new()
        } else {
            vec![head.iter().map(|&word| word.to_owned()).collect()]
        };
        Self { rows }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    pub(crate) fn render_plain(&self) -> String {
        self.render(Style::PLAIN)
    }

    pub(crate) fn render(&self, style: Style) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|at| {
                self.rows.iter().filter_map(|row| row.get(at)).map(|cell| shown(cell)).max().unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::from("  ");
            for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
                if at + 1 == row.len() {
                    let room = style.width.map(|columns| columns.saturating_sub(shown(&line)));
                    line.push_str(&cut(cell, room));
                } else {
                    line.push_str(cell);
                    line.push_str(&" ".repeat(width - shown(cell) + 2));
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Counts characters without colour codes.
fn shown(text: &str) -> usize {
    let mut count = 0;
    let mut inside = false;
    for character in text.chars() {
        match character {
            '\u{1b}' => inside = true,
            'm' if inside => inside = false,
            _ if inside => {}
            _ => count += 1,
        }
    }
    count
}

fn cut(text: &str, room: Option<usize>) -> String {
    match room {
        Some(room) if shown(text) > room && room > 1 => {
            let kept: String = text.chars().take(room - 1).collect();
            format!("{kept}…")
        }
        _ => text.to_owned(),
    }
}

/// Formats a count with its noun, such as `1 tool` or `2 tools`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Asks a yes-or-no question at the terminal. Fails with `hint` if there is no terminal.
pub(crate) fn confirmed(question: &str, hint: &'static str) -> Result<bool, Failure> {
    let internal = |error: std::io::Error| Failure::new(Exit::Internal, error);
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        let error = anyhow::anyhow!("there is no terminal to ask at");
        return Err(Failure::new(Exit::Usage, error).hint(hint));
    }
    eprint!("{question} [y/N] ");
    std::io::stderr().flush().map_err(internal)?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(internal)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_beside_each_other_and_the_last_is_cut() {
        let mut table = Table::new(&["A", "B"]);
        let style = Style { colour: true, width: Some(20) };
        table.row([style.paint("loaded", Paint::Good), "a text that is too long".to_owned()]);
        table.row(["x".to_owned(), "short".to_owned()]);
        let text = table.render(style);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines, ["  A       B", "  \u{1b}[32mloaded\u{1b}[0m  a text th…", "  x       short"]);
        assert_eq!(table.render_plain().lines().last(), Some("  x       short"));
    }
}
