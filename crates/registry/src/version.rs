//! Order of versions: semantic versions by precedence, others by time of publication.

use std::cmp::Ordering;

/// Parts of a semantic version.
#[derive(Debug, PartialEq, Eq)]
struct Semantic<'v> {
    numbers: [u64; 3],
    pre: Vec<&'v str>,
}

impl<'v> Semantic<'v> {
    fn parse(text: &'v str) -> Option<Self> {
        let text = text.split_once('+').map_or(text, |(text, _)| text);
        let (numbers, pre) = match text.split_once('-') {
            Some((numbers, pre)) => (numbers, pre.split('.').collect()),
            None => (text, Vec::new()),
        };
        let mut parts = numbers.split('.').map(|part| {
            let plain = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse().ok().filter(|_| plain && (part == "0" || !part.starts_with('0')))
        });
        let numbers = [parts.next()??, parts.next()??, parts.next()??];
        let named = pre
            .iter()
            .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'));
        (parts.next().is_none() && named).then_some(Self { numbers, pre })
    }

    fn precedence(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => {
                let parts = self.pre.iter().zip(&other.pre).map(|(own, other)| identifier(own, other));
                parts
                    .into_iter()
                    .find(|order| order.is_ne())
                    .unwrap_or_else(|| self.pre.len().cmp(&other.pre.len()))
            }
        })
    }
}

fn identifier(own: &str, other: &str) -> Ordering {
    match (own.parse::<u64>(), other.parse::<u64>()) {
        (Ok(own), Ok(other)) => own.cmp(&other),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => own.cmp(other),
    }
}

/// Returns true if `new` becomes the latest version: by precedence, and always if either is not semantic.
#[must_use]
pub fn replaces(new: &str, latest: &str) -> bool {
    match (Semantic::parse(new), Semantic::parse(latest)) {
        (Some(new), Some(latest)) => new.precedence(&latest).is_ge(),
        _ => true,
    }
}

/// Returns true if the step from `old` to `new` declares a breaking change; `None` if either is not semantic.
#[must_use]
pub fn is_major_step(old: &str, new: &str) -> Option<bool> {
    let (old, new) = (Semantic::parse(old)?, Semantic::parse(new)?);
    let [old_major, old_minor, _] = old.numbers;
    let [new_major, new_minor, _] = new.numbers;
    Some(new_major > old_major || (old_major == 0 && new_major == 0 && new_minor > old_minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R6.7: semantic versions have the order of the specification's own example; any other version is the newest.
    #[test]
    fn precedence_is_that_of_the_specification() {
        let rising = [
            "0.9.9",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.0.1",
            "1.10.0",
        ];
        for pair in rising.windows(2) {
            assert!(replaces(pair[1], pair[0]) && !replaces(pair[0], pair[1]), "{pair:?}");
        }
        assert!(replaces("1.0.0+b", "1.0.0+a"));
        for odd in ["2026", "v1.0.0", "01.0.0", "1.0", "1.0.0-", "snapshot"] {
            assert!(replaces(odd, "9.9.9") && replaces("0.0.1", odd), "{odd}");
        }
        assert_eq!(is_major_step("1.2.3", "2.0.0"), Some(true));
        assert_eq!(is_major_step("1.2.3", "1.9.0"), Some(false));
        assert_eq!(is_major_step("0.2.3", "0.3.0"), Some(true));
        assert_eq!(is_major_step("x", "0.3.0"), None);
    }
}
