//! Templates and URIs on which a backtracking matcher would run for seconds or years.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use super::*;
use crate::content::ResourceContents;
use crate::context::Context;
use crate::limits::{TEMPLATE_STEPS_AT_ONCE, TEMPLATE_STEPS_MAX};
use crate::resource::{Reader, ResourceTemplate};
use crate::tool::{BoxFuture, ToolError};

struct Nobody;

impl Reader for Nobody {
    fn read<'a>(
        &'a self,
        _: &'a str,
        _: &'a [(Box<str>, String)],
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Vec<ResourceContents>, ToolError>> {
        Box::pin(async { Err(ToolError::NotFound) })
    }
}

fn index(templates: impl Iterator<Item = String>) -> TemplateIndex {
    let reader = Arc::new(Nobody);
    let templates = templates.map(|text| {
        let template = ResourceTemplate::raw(&text, "{}", reader.clone()).unwrap();
        (text, Arc::new(template))
    });
    TemplateIndex::new(templates.collect::<BTreeMap<_, _>>().values())
}

/// Returns a URI with every literal of `{+a}x{b}a{c}a!` in its place, and a `/` where none may be.
fn almost_fitting() -> String {
    format!("x/{}!", "a".repeat(URI_BYTES_MAX - 3))
}

/// Runs a search to its end; also returns how often it yielded.
fn search(index: &TemplateIndex, uri: &str) -> (Result<Option<index::Match>, TooMuchWork>, usize) {
    let uri = Uri::new(uri).unwrap();
    let mut work = Work::default();
    let mut search = pin!(index.find(&uri, &mut work));
    let mut context = std::task::Context::from_waker(Waker::noop());
    for pauses in 0.. {
        if let Poll::Ready(found) = search.as_mut().poll(&mut context) {
            return (found, pauses);
        }
    }
    unreachable!("the loop has no other end")
}

/// R5.6: the two templates that blocked a worker thread for 5 and for 15 seconds. The best of a few runs counts,
/// because the machine may be busy.
#[test]
fn templates_that_invite_backtracking_are_answered_at_once() {
    let six = "a://{a}a{b}a{c}a{d}a{e}a{f}ax";
    let longest = format!("a://{}", "a".repeat(URI_BYTES_MAX - 4));
    let attack = || {
        let begun = Instant::now();
        differs(six, &format!("a://{}", "a".repeat(96)));
        differs(six, &longest);
        differs(&six.replace('{', "{+"), &longest);
        differs("a://{id}-profile", &format!("a://{}", "-profil".repeat(URI_BYTES_MAX / 7 - 1)));
        begun.elapsed()
    };
    let best = (0..10).map(|_| attack()).min().unwrap();
    assert!(best < Duration::from_millis(50), "{best:?}");
}

/// A hundred templates of every kind: the work is at most the product of parts and characters.
#[test]
fn work_is_proportional_to_template_and_uri() {
    let operators = ["", "+", "#", ".", "/", ";", "?", "&"];
    let joints = ["", "a", "aa", "/", "a/a", "="];
    for number in 0..100 {
        let expressions: Vec<String> = (0..16)
            .map(|at| format!("{{{}a,b{at}*}}", operators[(number + at * number) % operators.len()]))
            .collect();
        let template = UriTemplate::parse(&(expressions.join(joints[number % joints.len()]) + "!")).unwrap();
        for piece in ["a", "a/", "?a=", ";a", "a,", ".", "%61"] {
            let text = piece.repeat(1_024 / piece.len()) + "!";
            let uri = Uri::new(&text).unwrap();
            let bound = 3 * 2 * template.parts.len() * (text.len() + 1);
            let outcome = template.matches(&uri, &mut Work::of(bound));
            assert!(outcome.is_ok(), "{} and {piece}", template.text());
        }
    }
}

/// R5.6: ten thousand templates that almost match cost one request no more than `TEMPLATE_STEPS_MAX`.
#[test]
fn a_search_over_template_steps_max_is_refused() {
    let many = index((0..10_000).map(|number| format!("{{+a{number}}}x{{b}}a{{c}}a!")));
    let error = search(&many, &almost_fitting()).0.unwrap_err();
    assert!(error.to_string().contains("TEMPLATE_STEPS_MAX"), "{error}");
    let ordinary = format!("x/{}!", "a".repeat(97));
    assert!(matches!(search(&many, &ordinary).0, Ok(None)));
}

/// Other requests of the thread run after every `TEMPLATE_STEPS_AT_ONCE`.
#[test]
fn a_long_search_lets_other_requests_run() {
    let many = index((0..10_000).map(|number| format!("{{+a{number}}}x{{b}}a{{c}}a!")));
    let (_, pauses) = search(&many, &almost_fitting());
    assert!(2 * pauses >= TEMPLATE_STEPS_MAX / TEMPLATE_STEPS_AT_ONCE, "{pauses}");
}

/// Only templates whose literal prefix the URI has are tried; the longest prefix wins.
#[test]
fn the_longest_literal_beginning_wins() {
    let texts = ["{+all}", "a://{x}", "a://b/{x}", "a://b/{y}", "a://b~{x}", "a://{y}/{z}"];
    let some = index(texts.iter().map(|text| (*text).to_owned()));
    for (uri, winner) in [
        ("a://b/1", "a://b/{x}"),
        ("a://b~1", "a://b~{x}"),
        ("a://c", "a://{x}"),
        ("a://c/d", "a://{y}/{z}"),
        ("b", "{+all}"),
    ] {
        let (found, _) = search(&some, uri);
        assert_eq!(&**found.unwrap().unwrap().0.uri_template(), winner, "{uri}");
    }
    let long = index((0..10_000).map(|number| format!("a://{number}/{{x}}")));
    let uri = Uri::new("a://77/1").unwrap();
    assert_eq!(long.candidates(uri.text()).count(), 1);
}
