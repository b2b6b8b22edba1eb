//! Replaces values in a document; everything else is copied token by token.

use std::collections::HashMap;

use toolcrib_contract::json::{Node, Pointer, write_string};

/// Edit of the value at one location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Edit {
    /// Sets this JSON text. A missing member is appended to its object.
    Set(String),
    /// Removes the member.
    Remove,
}

/// Edits by location.
pub(crate) type Edits = HashMap<Pointer, Edit>;

/// Returns `root` with `edits` applied, without white space between tokens.
pub(crate) fn edited(root: Node<'_>, edits: &Edits) -> String {
    if edits.is_empty() {
        return root.to_compact();
    }
    // Values below no edit are copied without computing their locations.
    let mut above: HashMap<Pointer, Vec<(String, &Edit)>> = HashMap::new();
    for (place, edit) in edits {
        let mut at = place.clone();
        let mut own = place.tokens().last().map(|token| (token, edit));
        while !at.is_root() {
            at.pop();
            above.entry(at.clone()).or_default().extend(own.take());
        }
    }
    let mut out = String::with_capacity(root.raw().len());
    let mut place = Pointer::root();
    match edits.get(&place) {
        Some(Edit::Set(text)) => out.push_str(text),
        _ => write(root, &mut place, &above, &mut out),
    }
    out
}

fn write(
    node: Node<'_>,
    place: &mut Pointer,
    above: &HashMap<Pointer, Vec<(String, &Edit)>>,
    out: &mut String,
) {
    let Some(own) = above.get(place) else {
        node.write_compact(out);
        return;
    };
    let edit_of = |name: &str| own.iter().find(|(token, _)| token == name).map(|(_, edit)| *edit);
    let mut first = true;
    let mut comma = |out: &mut String| {
        if !std::mem::take(&mut first) {
            out.push(',');
        }
    };
    if node.is_array() {
        out.push('[');
        for (index, element) in node.elements().enumerate() {
            let index = index.to_string();
            match edit_of(&index) {
                Some(Edit::Remove) => {}
                Some(Edit::Set(text)) => {
                    comma(out);
                    out.push_str(text);
                }
                None => {
                    comma(out);
                    place.push(&index);
                    write(element, place, above, out);
                    place.pop();
                }
            }
        }
        out.push(']');
        return;
    }
    if !node.is_object() {
        node.write_compact(out);
        return;
    }
    out.push('{');
    for (key, value) in node.members() {
        let name = key.as_str().unwrap_or_default();
        let edit = edit_of(&name);
        if edit == Some(&Edit::Remove) {
            continue;
        }
        comma(out);
        out.push_str(key.raw());
        out.push(':');
        if let Some(Edit::Set(text)) = edit {
            out.push_str(text);
        } else {
            place.push(&name);
            write(value, place, above, out);
            place.pop();
        }
    }
    for (name, edit) in own {
        if let Edit::Set(text) = edit
            && node.get(name).is_none()
        {
            comma(out);
            write_string(out, name);
            out.push(':');
            out.push_str(text);
        }
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::json::{Document, Limits};

    use super::*;

    #[test]
    fn values_are_replaced_added_and_removed_where_they_stand() {
        let text = r#"{"a":{"b/c":[1,{"d":2},3]},"e":1.0,"f":{}}"#;
        let document = Document::parse(text.as_bytes(), &Limits::file()).unwrap();
        let at = |text: &str| Pointer::from_escaped(text);
        let edits = Edits::from([
            (at("/a/b~1c/1/d"), Edit::Set("[true]".into())),
            (at("/a/b~1c/0"), Edit::Remove),
            (at("/f/g"), Edit::Set("7".into())),
            (at("/none/such"), Edit::Set("7".into())),
        ]);
        assert_eq!(edited(document.root(), &edits), r#"{"a":{"b/c":[{"d":[true]},3]},"e":1.0,"f":{"g":7}}"#);
    }
}
