//! Suggestions for an unknown name.

use toolcrib_contract::nearest;

/// Maximum names listed if none is near.
const NAMES_SHOWN: usize = 12;

/// Returns `did you mean …?` if one name is near, else the first known names.
pub(crate) fn hint<'n>(wanted: &str, names: impl Iterator<Item = &'n str> + Clone) -> String {
    let part = |name: &&str| !wanted.is_empty() && (name.contains(wanted) || wanted.contains(name));
    let near = names.clone().filter(part).min_by_key(|name| name.len().abs_diff(wanted.len()));
    if let Some(near) = near.or_else(|| nearest(wanted, names.clone())) {
        return format!("did you mean {near}?");
    }
    let count = names.clone().count();
    let some: Vec<&str> = names.take(NAMES_SHOWN).collect();
    let more = count.checked_sub(NAMES_SHOWN).filter(|more| *more > 0);
    let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
    format!("known: {}{more}", some.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_a_slip_and_a_stranger() {
        let names = ["get_quote", "get_round_trips", "get_round_trips_of_a_day", "place_order"];
        assert_eq!(hint("round_trips", names.into_iter()), "did you mean get_round_trips?");
        assert_eq!(hint("place-oder", names.into_iter()), "did you mean place_order?");
        assert_eq!(hint("xyz", names.into_iter().take(2)), "known: get_quote, get_round_trips");
        let many: Vec<String> = (0..20).map(|n| format!("t{n}")).collect();
        assert!(hint("xyz", many.iter().map(String::as_str)).ends_with("t11 and 8 more"));
    }
}
