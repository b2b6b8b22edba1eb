//! Round trip: matching an RFC 6570 expansion returns the values that were expanded.

use proptest::prelude::*;

use super::matched;

/// RFC 6570 expansion of one variable with a string value.
fn expanded(operator: &str, name: &str, value: &str, is_begun: bool) -> String {
    let (opening, separator) = match operator {
        "" | "+" => ("", ","),
        "#" => ("#", ","),
        "?" => ("?", "&"),
        other => (other, other),
    };
    let before = if is_begun { separator } else { opening };
    let value = encoded(value, matches!(operator, "+" | "#"));
    match operator {
        ";" if value.is_empty() => format!("{before}{name}"),
        ";" | "?" | "&" => format!("{before}{name}={value}"),
        _ => format!("{before}{value}"),
    }
}

fn encoded(value: &str, keeps_reserved: bool) -> String {
    let is_kept = |c: char| {
        c.is_ascii_alphanumeric()
            || "-._~".contains(c)
            || (keeps_reserved && ":/?#[]@!$&'()*+,;=".contains(c))
    };
    let encode = |c: char| c.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    value.chars().map(|c| if is_kept(c) { c.to_string() } else { encode(c) }).collect()
}

/// Expressions with their values; `None` is undefined. Only kinds whose values cannot be confused with their
/// neighbours: simple and path values are encoded, named values carry their names.
fn expression() -> impl Strategy<Value = (&'static str, Vec<Option<String>>)> {
    let text = "[a-c/?#&=;,.% é✓\u{1F600}-]{0,5}";
    let one = text.prop_filter("a value", |value| !value.is_empty()).prop_map(|value| vec![Some(value)]);
    let several = prop::collection::vec(prop::option::of(text), 1..4);
    prop_oneof![
        (Just(""), one.clone()),
        (Just("/"), one.clone()),
        (Just("."), one),
        (Just(";"), several.clone()),
        (Just("&"), several),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn values_come_back_from_their_expansion(
        expressions in prop::collection::vec(expression(), 1..5),
        query in prop::collection::vec(prop::option::of("[a-c/?&=é% ]{0,6}"), 0..4),
        fragment in prop::option::of("[a-c/?&=#é ]{0,6}"),
    ) {
        let (mut template, mut uri, mut values, mut number) = (String::new(), String::new(), Vec::new(), 0);
        let mut add = |literal: &str, operator: &str, list: &[Option<String>]| {
            template.push_str(literal);
            uri.push_str(literal);
            let mut names = Vec::new();
            let mut is_begun = false;
            for value in list {
                let name = format!("v{number}");
                number += 1;
                if let Some(value) = value {
                    uri.push_str(&expanded(operator, &name, value, is_begun));
                    is_begun = true;
                    values.push((name.clone(), value.clone()));
                }
                names.push(name);
            }
            template.push_str(&format!("{{{operator}{}}}", names.join(",")));
        };
        for (operator, list) in &expressions {
            add("s:/!", operator, list);
        }
        if !query.is_empty() {
            add("!", "?", &query);
        }
        if let Some(fragment) = fragment {
            add("!", "#", &[Some(fragment)]);
        }
        prop_assert_eq!(matched(&template, &uri), Some(values), "{} and {}", template, uri);
    }

    /// Any text parses or is refused, and any URI matches or does not: neither panics.
    #[test]
    fn nothing_panics(template in "[a-c{}+?#/.;&,*:0-9%é-]{0,30}", uri in "[a-c?#/.;&,=%0-9é-]{0,30}") {
        if super::UriTemplate::parse(&template).is_ok() {
            matched(&template, &uri);
        }
    }
}
