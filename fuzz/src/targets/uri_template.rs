//! Fuzz target for a URI template of a server and a URI of a client.
//!
//! Properties: matching terminates soon. A URI that a template expands to is matched by it. Matched values expand to
//! the URI that they were found in.

use std::collections::BTreeSet;
use std::time::Duration;

use toolcrib_engine::template::{Uri, UriTemplate, Variables, Work};

use crate::mutation::tree::SEPARATOR;
use crate::target::{Memory, Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "uri_template",
    seeds,
    heavy,
    dictionary: DICTIONARY,
    bytes_max: 16 * 1024,
    cpu_max: Duration::from_millis(500),
    memory_max: Memory { factor: 1_024, constant: 4 * 1024 * 1024 },
    run,
};

const DICTIONARY: &[&str] = &[
    "{a}", "{+a}", "{#a}", "{.a}", "{/a}", "{;a}", "{?a}", "{&a}", "{a,b}", "{?a,b}", "{a*}", "{a:3}",
    "{a}{b}", "{", "}", "a://", "/", "?a=", "&b=", "#", "%20", "%zz", "%", ".", ";a=", "\u{e9}", "\u{1e}",
    "-profile",
];

fn seeds() -> Vec<Vec<u8>> {
    [
        "test://t/{id}/data\u{1e}test://t/12%203/data",
        "file://{+path}\u{1e}file:///a/b",
        "a://{+p}/x/{q}\u{1e}a://1/x/2/x/3",
        "a://{id}-profile\u{1e}a://1-profile",
        "a://{a}{b}\u{1e}a://xy",
        "a://x{?q,r}\u{1e}a://x?q=1&r=2",
        "a://x{/a,b}{.c}{#d}{;e}{&f}\u{1e}a://x/1/2.3#4;e=5&f=6",
        "a://{x}\u{1e}a://%zz",
        "a://{\u{1e}a://x",
    ]
    .map(|seed| seed.as_bytes().to_vec())
    .to_vec()
}

/// Repeats a part with as many variables as a template may have, each with its own name.
fn many(part: &str) -> String {
    (0..32).map(|n| part.replace('x', &format!("x{n}"))).collect()
}

/// Templates on which a backtracking matcher takes exponential time.
fn heavy() -> Vec<Vec<u8>> {
    [
        format!("a://{{a}}a{{b}}a{{c}}a{{d}}a{{e}}a{{f}}ax\u{1e}a://{}", "a".repeat(96)),
        format!("a://{{+a}}a{{+b}}a{{+c}}a{{+d}}a{{+e}}a{{+f}}ax\u{1e}a://{}", "a/".repeat(200)),
        format!("a://{{id}}-profile\u{1e}a://{}", "-".repeat(8_000)),
        format!("{}\u{1e}{}", many("{x}a"), "a".repeat(8_000)),
        format!("{}\u{1e}{}", many("{+x}a"), "a".repeat(8_000)),
        format!("{}\u{1e}?{}", many("{?x}"), "x1=&".repeat(1_900)),
        format!("{}\u{1e}{}", "{a}x".repeat(800), "ax".repeat(800)),
    ]
    .map(String::into_bytes)
    .to_vec()
}

fn run(input: &[u8]) -> Shape {
    let Ok(text) = std::str::from_utf8(input) else { return Shape::of(&["no text"]) };
    let (template, uri) = text.split_once(char::from(SEPARATOR)).unwrap_or((text, ""));
    let parsed = match UriTemplate::parse(template) {
        Ok(parsed) => parsed,
        Err(error) => {
            let words = error.to_string();
            return Shape::of(&["refused", words.split(['`', '"', '0', '1']).next().unwrap_or_default()]);
        }
    };
    let variables = variables(template);
    let expanded = expand(template, &|name: &str| Some(format!("v{}", name.len())));
    if let Some(expanded) = expanded.filter(|_| variables.is_some()) {
        let matched = matches(&parsed, &expanded);
        assert!(matched != Ok(None), "{template:?} does not match {expanded:?}");
    }
    let found = match matches(&parsed, uri) {
        Ok(Some(found)) => found,
        Ok(None) => return Shape::of(&["other", &template.len().min(40).to_string()]),
        Err(why) => return Shape::of(&[why]),
    };
    assert!(found.iter().all(|(name, _)| template.contains(&**name)), "a variable that {template:?} has not");
    let value = |name: &str| found.iter().find(|(own, _)| **own == *name).map(|(_, value)| value.clone());
    let is_plain = variables.is_some_and(|variables| variables.iter().all(|name| !name.contains([':', '*'])));
    if let Some(again) = expand(template, &value).filter(|_| is_plain && is_unescaped(template, uri)) {
        assert_eq!(again, uri, "{found:?} does not expand {template:?} to the URI");
    }
    Shape::of(&["matched", &found.len().to_string(), &is_plain.to_string()])
}

fn matches(template: &UriTemplate, uri: &str) -> Result<Option<Variables>, &'static str> {
    let uri = Uri::new(uri).map_err(|_| "too long")?;
    template.matches(&uri, &mut Work::default()).map_err(|_| "too much work")
}

/// Returns the variables with their modifiers; `None` if a name occurs twice, because its values would have to agree.
fn variables(template: &str) -> Option<Vec<&str>> {
    let expressions = template.split('{').skip(1).filter_map(|part| part.split('}').next());
    let variables: Vec<&str> =
        expressions.flat_map(|expression| expression.trim_start_matches(OPERATORS).split(',')).collect();
    let names: BTreeSet<&str> =
        variables.iter().map(|name| name.split([':', '*']).next().unwrap_or_default()).collect();
    (names.len() == variables.len()).then_some(variables)
}

/// Returns `true` if no character is escaped.
fn is_unescaped(template: &str, uri: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()+,;=".contains(c);
    uri.chars().all(is_plain) && !template.contains('%')
}

const OPERATORS: [char; 7] = ['+', '#', '.', '/', ';', '?', '&'];

/// Expands a template by RFC 6570 section 3.2 for string values; `None` if the template is malformed.
fn expand(template: &str, value: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (expression, after) = after.split_once('}')?;
        out.push_str(before);
        let (operator, names) = match expression.chars().next()? {
            first if OPERATORS.contains(&first) => (Some(first), expression.get(1..)?),
            _ => (None, expression),
        };
        let (first, separator, is_named) = match operator {
            None | Some('+') => ("", ',', false),
            Some('#') => ("#", ',', false),
            Some('.') => (".", '.', false),
            Some('/') => ("/", '/', false),
            Some(';') => (";", ';', true),
            Some('?') => ("?", '&', true),
            Some(_) => ("&", '&', true),
        };
        let mut is_first = true;
        for name in names.split(',') {
            let name = name.trim_end_matches('*');
            let (name, length) = match name.split_once(':') {
                Some((name, length)) => (name, length.parse().ok()?),
                None => (name, usize::MAX),
            };
            let Some(value) = value(name) else { continue };
            if std::mem::take(&mut is_first) {
                out.push_str(first);
            } else {
                out.push(separator);
            }
            let value: String = value.chars().take(length).collect();
            if is_named {
                out.push_str(name);
                if !(operator == Some(';') && value.is_empty()) {
                    out.push('=');
                }
            }
            out.push_str(&value);
        }
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}
