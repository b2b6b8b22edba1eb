//! Tests of parsing and matching; properties are in the submodules.

mod attacks;
mod expansion;
mod former;

use super::*;
use crate::limits::{TEMPLATE_BYTES_MAX, TEMPLATE_VARIABLES_MAX, URI_BYTES_MAX};

fn matched(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
    let template = UriTemplate::parse(template).unwrap_or_else(|error| panic!("{template}: {error}"));
    let found = template.matches(&Uri::new(uri).unwrap(), &mut Work::default()).unwrap()?;
    Some(found.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

/// Asserts that `uri` matches `template` with these values, written as `name=value name=value`.
#[track_caller]
fn fits(template: &str, uri: &str, values: &str) {
    let found = matched(template, uri).unwrap_or_else(|| panic!("{uri} does not fit {template}"));
    let shown: Vec<String> = found.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(shown.join(" "), values, "{uri} and {template}");
}

#[track_caller]
fn differs(template: &str, uri: &str) {
    assert_eq!(matched(template, uri), None, "{uri} and {template}");
}

#[test]
fn a_segment_stops_at_a_slash_and_the_rest_does_not() {
    fits("test://t/{id}/data", "test://t/12%203/data", "id=12 3");
    differs("test://t/{id}/data", "test://t/1/2/data");
    differs("test://t/{id}/data", "test://t//data");
    fits("file://{+path}", "file:///a/b", "path=/a/b");
    fits("a://{+p}/x/{q}", "a://1/x/2/x/3", "p=1/x/2 q=3");
    fits("a://x", "a://x", "");
    differs("a://x", "a://xy");
}

/// Adjacent variables: from left to right, each takes as little as the rest allows.
#[test]
fn adjacent_variables_are_split_from_the_left() {
    fits("a://{a}{b}", "a://xyz", "a=x b=yz");
    fits("a://{a}{b}", "a://%C3%A9%20", "a=é b= ");
    differs("a://{a}{b}", "a://x");
    fits("a://{a}{b}c{c}", "a://xycz", "a=x b=y c=z");
    fits("a://{+a}{/b}", "a://x/y/z", "a=x/y b=z");
    fits("a://{a:2}{b}", "a://xyz", "a=x b=yz");
}

/// RFC 6570, section 3.2: every operator with one and with several variables.
#[test]
fn every_operator_matches_what_it_expands_to() {
    fits("X{x,y}", "X1024,768", "x=1024 y=768");
    fits("X{x,y}", "X1024", "x=1024");
    fits("{x,hello,y}", "1024,Hello%20World%21,768", "x=1024 hello=Hello World! y=768");
    fits("{+x,y}/here", "/foo/bar,1024/here", "x=/foo/bar y=1024");
    fits("{+path}/here", "/foo/bar/here", "path=/foo/bar");
    fits("X{#var}", "X#value", "var=value");
    fits("X{#x,y}", "X#1,2", "x=1 y=2");
    fits("X{#x,y}", "X", "");
    differs("X{#x,y}", "X,2");
    fits("X{.var}", "X.value", "var=value");
    fits("X{.x,y}", "X.1024.768", "x=1024 y=768");
    fits("{name}{.ext}", "file.tar.gz", "name=file ext=tar.gz");
    fits("{name}{.ext}", "file", "name=file");
    fits("{/var}", "/value", "var=value");
    fits("{/var,x}/here", "/value/1024/here", "var=value x=1024");
    fits("{/var,empty}", "/value/", "var=value empty=");
    differs("{/var}", "/value/1");
    fits("{;x,y}", ";x=1024;y=768", "x=1024 y=768");
    fits("{;x,y,empty}", ";x=1024;y=768;empty", "x=1024 y=768 empty=");
    fits("{;x,xy}", ";xy=2", "xy=2");
    fits("s://a{?x,y}", "s://a?x=1024&y=768", "x=1024 y=768");
    fits("s://a{?x,y}", "s://a?y=768", "y=768");
    fits("s://a{?x,y}", "s://a?x=&y=", "x= y=");
    fits("s://a{?x,y}", "s://a", "");
    for bad in ["s://a&y=768", "s://a?y=1&x=2", "s://a?z=1", "s://a?x", "s://a?x=1?y=2&z=3", "s://a?"] {
        differs("s://a{?x,y}", bad);
    }
    fits("s://a?fixed=yes{&x}", "s://a?fixed=yes&x=1024", "x=1024");
    fits("s://a?fixed=yes{&x}", "s://a?fixed=yes", "");
}

/// A variable before a query expression ends at the `?`, although `{x}` alone may contain one.
#[test]
fn a_variable_ends_where_a_query_begins() {
    fits("s://{id}{?q}", "s://7?q=what%3F", "id=7 q=what?");
    fits("s://{id}{?q}", "s://7", "id=7");
    differs("s://{id}{?q}", "s://7?other=1");
    fits("s://{id}{#part}", "s://7#two", "id=7 part=two");
    fits("s://{id}", "s://what?", "id=what?");
}

/// RFC 6570, section 2.4: prefixes count decoded characters, exploded lists are returned as they are written.
#[test]
fn prefixes_and_lists_are_matched() {
    fits("{var:3}", "val", "var=val");
    differs("{var:3}", "value");
    fits("{var:2}", "%C3%A9%20", "var=é ");
    fits("{+a}-{b:2}", "x-abc-de", "a=x-abc b=de");
    fits("{/var:1,var}", "/v/value", "var=value");
    differs("{/var:1,var}", "/w/value");
    fits("{/list*}", "/red/gr%2Feen/blue", "list=red/gr%2Feen/blue");
    fits("{/list*,path:4}", "/red/green/foo", "list=red path=foo".replace("red", "red/green").as_str());
    fits("{list*}", "red,green,blue", "list=red,green,blue");
    fits("X{.list*}", "X.red.green", "list=red.green");
    fits("{;keys*}", ";semi=%3B;dot=.", "keys=semi=%3B;dot=.");
    fits("s://a{?list*}", "s://a?list=red&list=green", "list=list=red&list=green");
    fits("s://a{?keys*,last}", "s://a?a=1&b=2&last=3", "keys=a=1&b=2 last=3");
    fits("s://a{?a,more*}", "s://a?a=1&b=2", "a=1 more=b=2");
}

#[test]
fn a_variable_that_occurs_twice_has_one_value() {
    fits("a://{x}/{x}", "a://1/1", "x=1");
    differs("a://{x}/{x}", "a://1/2");
}

#[test]
fn undecodable_values_do_not_match() {
    for bad in ["a://%zz", "a://%", "a://%4", "a://x%FF", "a://%C3", "a://%C3x", "a://%ED%A0%80"] {
        differs("a://{x}", bad);
        differs("a://{+x}", bad);
    }
    differs("a://{x}-{y}", "a://%2-1");
    differs("a://{x}4{y}", "a://%41");
    fits("a://100%/{x}", "a://100%/1", "x=1");
}

#[test]
fn literals_outside_ascii_match_as_they_are_and_encoded() {
    for uri in ["a://é/1", "a://%C3%A9/1", "a://%c3%a9/1"] {
        fits("a://é/{x}", uri, "x=1");
        fits("a://%C3%A9/{x}", uri, "x=1");
    }
    differs("a://x/{x}", "a://x%2F1");
}

/// R5.3: texts that are not templates are refused, and the error names the fault and its position.
#[test]
fn texts_that_are_no_templates_are_refused_with_the_place() {
    for (bad, says) in [
        ("a://{", "`{` at byte 4"),
        ("a://{a", "`{` at byte 4"),
        ("a://}", "`}` at byte 4"),
        ("{a}}", "`}` at byte 3"),
        ("a://{}", "byte 5 has no name"),
        ("a://{?}", "byte 6 has no name"),
        ("a://{a,}", "byte 7 has no name"),
        ("a://{a b}", "\"a b\" at byte 5"),
        ("a://{a{b}}", "\"a{b\" at byte 5"),
        ("a://{a.}", "\"a.\" at byte 5"),
        ("a://{a-b}", "\"a-b\" at byte 5"),
        ("a://{%4}", "\"%4\" at byte 5"),
        ("a://{=a}", "`=` at byte 5 is reserved"),
        ("a://{|a}", "`|` at byte 5 is reserved"),
        ("a://{a:0}", "byte 7 is not a number from 1 to 9999"),
        ("a://{a:10000}", "byte 7 is not a number"),
        ("a://{a:+1}", "byte 7 is not a number"),
        ("a://{a:}", "byte 7 is not a number"),
        ("a://\u{1b}{a}", "control character at byte 4"),
    ] {
        let error = UriTemplate::parse(bad).unwrap_err().to_string();
        assert!(error.contains(says), "{bad:?}: {error}");
    }
}

#[test]
fn a_template_over_template_bytes_max_is_refused() {
    let fitting = format!("a://{{x}}{}", "y".repeat(TEMPLATE_BYTES_MAX - 7));
    assert!(UriTemplate::parse(&fitting).is_ok());
    let error = UriTemplate::parse(&format!("{fitting}y")).unwrap_err();
    assert_eq!(error, TemplateError::TooLong { bytes: TEMPLATE_BYTES_MAX + 1 });
    assert!(error.to_string().contains("TEMPLATE_BYTES_MAX"), "{error}");
}

#[test]
fn a_template_over_template_variables_max_is_refused() {
    let names: Vec<String> = (0..=TEMPLATE_VARIABLES_MAX).map(|number| format!("v{number}")).collect();
    let fitting = &names[..TEMPLATE_VARIABLES_MAX];
    assert!(UriTemplate::parse(&format!("a://{{{}}}", fitting.join("}{"))).is_ok());
    for joint in ["}{", ",", "}/{?"] {
        let error = UriTemplate::parse(&format!("a://{{{}}}", names.join(joint))).unwrap_err();
        assert_eq!(error, TemplateError::TooManyVariables, "{joint}");
    }
}

#[test]
fn a_uri_over_uri_bytes_max_is_not_matched() {
    let uri = "x".repeat(URI_BYTES_MAX + 1);
    assert!(Uri::new(&uri[1..]).is_ok());
    let error = Uri::new(&uri).unwrap_err();
    assert_eq!(error, UriTooLong { bytes: URI_BYTES_MAX + 1 });
    assert!(error.to_string().contains("URI_BYTES_MAX"), "{error}");
}
