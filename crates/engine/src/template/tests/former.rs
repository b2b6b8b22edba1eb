//! Comparison with the backtracking matcher that this one replaced, for templates that both can match.

use proptest::prelude::*;

use super::matched;

enum Piece<'t> {
    Literal(&'t str),
    Segment(&'t str),
    Rest(&'t str),
}

fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for text in template.split_inclusive('}').flat_map(|text| match text.split_once('{') {
        Some((literal, variable)) => vec![literal, variable],
        None => vec![text],
    }) {
        pieces.push(match (text.strip_suffix('}'), text.strip_prefix('+')) {
            (Some(name), None) => Piece::Segment(name),
            (Some(name), Some(_)) => Piece::Rest(&name[1..]),
            (None, _) => Piece::Literal(text),
        });
    }
    pieces
}

/// Reference matcher, exponential in the number of variables.
fn backtrack(pieces: &[Piece<'_>], uri: &str, found: &mut Vec<(String, String)>) -> bool {
    let Some((piece, pieces)) = pieces.split_first() else { return uri.is_empty() };
    let (name, end) = match piece {
        Piece::Literal(text) => {
            return uri.strip_prefix(text).is_some_and(|rest| backtrack(pieces, rest, found));
        }
        Piece::Segment(name) => (name, uri.find('/').unwrap_or(uri.len())),
        Piece::Rest(name) => (name, uri.len()),
    };
    let ends: Vec<usize> = match pieces.first() {
        Some(Piece::Literal(next)) => uri.match_indices(next).map(|(at, _)| at).collect(),
        _ => vec![uri.len()],
    };
    ends.into_iter().filter(|at| (1..=end).contains(at)).any(|at| {
        let mark = found.len();
        let Some(value) = decoded(&uri[..at]) else { return false };
        found.push(((*name).to_owned(), value));
        let fits = backtrack(pieces, &uri[at..], found);
        if !fits {
            found.truncate(mark);
        }
        fits
    })
}

fn decoded(text: &str) -> Option<String> {
    let (mut octets, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((byte, after)) = rest.split_first() {
        let (octet, after) = match (byte, after) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                (u8::try_from(digit(high)? * 16 + digit(low)?).unwrap(), after)
            }
            (b'%', _) => return None,
            (byte, after) => (*byte, after),
        };
        octets.push(octet);
        rest = after;
    }
    String::from_utf8(octets).ok()
}

fn template() -> impl Strategy<Value = String> {
    let literal = prop::sample::select(vec!["/", "-", ".", "x", "x/", "-y", "://"]);
    let piece = (literal, prop::bool::ANY);
    (prop::collection::vec(piece, 1..5), prop::sample::select(vec!["", "/", "-", "x"])).prop_map(
        |(pieces, end)| {
            let mut text = String::from("s");
            for (number, (literal, is_rest)) in pieces.into_iter().enumerate() {
                let sign = if is_rest { "+" } else { "" };
                text.push_str(&format!("{literal}{{{sign}v{number}}}"));
            }
            text + end
        },
    )
}

fn uri() -> impl Strategy<Value = String> {
    let piece =
        prop::sample::select(vec!["/", "-", ".", "x", "y", "://", "é", "%20", "%C3%A9", "%zz", "%FF", "?"]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| format!("s{}", pieces.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn answers_are_those_of_the_backtracking_matcher((template, uri) in (template(), uri())) {
        let mut found = Vec::new();
        let former = backtrack(&pieces(&template), &uri, &mut found).then_some(found);
        prop_assert_eq!(matched(&template, &uri), former, "{} and {}", template, uri);
    }
}
