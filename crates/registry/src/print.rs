//! Pretty-prints JSON: two spaces, one member per line, every token as it was written.

use toolcrib_contract::json::Node;

/// Pretty-prints a value, with a final line feed.
#[must_use]
pub fn pretty(node: Node<'_>) -> String {
    let mut out = String::with_capacity(node.raw().len() * 2);
    write(node, 0, &mut out);
    out.push('\n');
    out
}

fn write(node: Node<'_>, level: usize, out: &mut String) {
    let line = |level: usize, out: &mut String| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", level));
    };
    if node.is_empty() || !(node.is_object() || node.is_array()) {
        node.write_compact(out);
        return;
    }
    let (begin, end) = if node.is_object() { ('{', '}') } else { ('[', ']') };
    out.push(begin);
    let mut first = true;
    let mut next = |out: &mut String| {
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        line(level + 1, out);
    };
    for (key, value) in node.members() {
        next(out);
        out.push_str(key.raw());
        out.push_str(": ");
        write(value, level + 1, out);
    }
    for value in node.elements() {
        next(out);
        write(value, level + 1, out);
    }
    line(level, out);
    out.push(end);
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::json::{Document, Limits};

    use super::*;

    #[test]
    fn layout_changes_no_token() {
        let text = r#"{"a":[1.0,{"b":"\u00e9"},[],{}],"c":9007199254740993}"#;
        let document = Document::parse(text.as_bytes(), &Limits::file()).unwrap();
        let shown = pretty(document.root());
        assert!(shown.starts_with("{\n  \"a\": [\n    1.0,\n    {\n      \"b\""), "{shown}");
        let again = Document::parse(shown.as_bytes(), &Limits::file()).unwrap();
        assert_eq!(again.root().to_compact(), text);
    }
}
