//! URI templates, RFC 6570 level 2: `{name}` stands for one segment, `{+name}` for anything.
//!
//! Guarantees: matching is linear in the URI for templates without `{+…}` and bounded by its square with them;
//! variables are percent-decoded.

/// A template that can be matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriTemplate(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(Box<str>),
    Segment(Box<str>),
    Rest(Box<str>),
}

impl UriTemplate {
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            if before.contains('}') {
                return None;
            }
            if !before.is_empty() {
                parts.push(Part::Literal(before.into()));
            }
            let (name, after) = after.split_once('}')?;
            let part = match name.strip_prefix('+') {
                Some(name) => Part::Rest(name.into()),
                None => Part::Segment(name.into()),
            };
            let bare = name.strip_prefix('+').unwrap_or(name);
            let named =
                !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            // Two variables side by side cannot be told apart.
            if !named || matches!(parts.last(), Some(Part::Segment(_) | Part::Rest(_))) {
                return None;
            }
            parts.push(part);
            rest = after;
        }
        if rest.contains('}') {
            return None;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.into()));
        }
        Some(Self(parts))
    }

    /// The variables, if the URI fits.
    #[must_use]
    pub fn matches(&self, uri: &str) -> Option<Vec<(Box<str>, String)>> {
        let mut found = Vec::new();
        fits(&self.0, uri, &mut found).then_some(found)
    }

    #[must_use]
    pub fn has_variable(&self, name: &str) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Segment(own) | Part::Rest(own) if **own == *name))
    }
}

fn fits(parts: &[Part], uri: &str, found: &mut Vec<(Box<str>, String)>) -> bool {
    let Some((part, parts)) = parts.split_first() else { return uri.is_empty() };
    let (name, greedy) = match part {
        Part::Literal(text) => {
            return uri.strip_prefix(&**text).is_some_and(|rest| fits(parts, rest, found));
        }
        Part::Segment(name) => (name, false),
        Part::Rest(name) => (name, true),
    };
    let end = if greedy { uri.len() } else { uri.find('/').unwrap_or(uri.len()) };
    let Some(Part::Literal(next)) = parts.first() else {
        let (value, rest) = uri.split_at_checked(end).unwrap_or((uri, ""));
        return rest.is_empty() && take(name, value, found);
    };
    // The literal after the variable: its first place for a segment, any place for the rest.
    let places: Vec<usize> = uri.match_indices(&**next).map(|(at, _)| at).filter(|at| *at <= end).collect();
    places.into_iter().any(|at| {
        let mark = found.len();
        let (value, rest) = uri.split_at_checked(at).unwrap_or((uri, ""));
        if take(name, value, found) && fits(parts, rest, found) {
            return true;
        }
        found.truncate(mark);
        false
    })
}

fn take(name: &str, value: &str, found: &mut Vec<(Box<str>, String)>) -> bool {
    match (value.is_empty(), percent_decode(value)) {
        (false, Some(value)) => {
            found.push((name.into(), value));
            true
        }
        _ => false,
    }
}

fn percent_decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let high = char::from(bytes.next()?).to_digit(16)?;
            let low = char::from(bytes.next()?).to_digit(16)?;
            out.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
        let found = UriTemplate::parse(template).unwrap().matches(uri)?;
        Some(found.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    #[test]
    fn a_segment_stops_at_a_slash_and_the_rest_does_not() {
        assert_eq!(
            matched("test://t/{id}/data", "test://t/12%203/data"),
            Some(vec![("id".into(), "12 3".into())])
        );
        assert_eq!(matched("test://t/{id}/data", "test://t/1/2/data"), None);
        assert_eq!(matched("test://t/{id}/data", "test://t//data"), None);
        assert_eq!(matched("file://{+path}", "file:///a/b"), Some(vec![("path".into(), "/a/b".into())]));
        assert_eq!(
            matched("a://{+p}/x/{q}", "a://1/x/2/x/3"),
            Some(vec![("p".into(), "1/x/2".into()), ("q".into(), "3".into())])
        );
        assert_eq!(matched("a://x", "a://x"), Some(vec![]));
        assert_eq!(matched("a://{x}", "a://%zz"), None);
    }

    #[test]
    fn templates_that_cannot_be_matched_are_refused() {
        for bad in ["a://{", "a://}", "a://{}", "a://{a}{b}", "a://{a b}", "a://{?q}"] {
            assert_eq!(UriTemplate::parse(bad), None, "{bad}");
        }
    }
}
