//! Search for the known name nearest to a wrong one.

/// Returns the closest name in `known`, if its edit distance is at most a third of the longer name. Case and
/// separators are ignored.
#[must_use]
pub fn nearest<'k>(given: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let folded = fold(given);
    known
        .filter(|name| *name != given)
        .map(|name| (distance(&folded, &fold(name)), name))
        .filter(|(distance, name)| {
            let longest = given.chars().count().max(name.chars().count());
            *distance <= longest.div_ceil(3) && *distance < longest
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

fn fold(name: &str) -> Vec<char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(64).collect()
}

/// Edit distance by optimal string alignment: insertions, deletions, replacements and swaps of neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    let mut rows = vec![0usize; (a.len() + 1) * width];
    let at = |i: usize, j: usize| i * width + j;
    let get = |rows: &[usize], i: usize, j: usize| rows.get(at(i, j)).copied().unwrap_or(usize::MAX);
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            let value = if i == 0 || j == 0 {
                i + j
            } else {
                let same = a.get(i - 1) == b.get(j - 1);
                let mut best = get(&rows, i - 1, j)
                    .min(get(&rows, i, j - 1))
                    .saturating_add(1)
                    .min(get(&rows, i - 1, j - 1).saturating_add(usize::from(!same)));
                if i > 1 && j > 1 && a.get(i - 1) == b.get(j - 2) && a.get(i - 2) == b.get(j - 1) {
                    best = best.min(get(&rows, i - 2, j - 2).saturating_add(1));
                }
                best
            };
            if let Some(cell) = rows.get_mut(at(i, j)) {
                *cell = value;
            }
        }
    }
    get(&rows, a.len(), b.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_their_name_and_strangers_find_none() {
        let known = ["query", "project_number", "limit"];
        for (given, meant) in [
            ("qurey", Some("query")),
            ("projectNumber", Some("project_number")),
            ("Limit", Some("limit")),
            ("querys", Some("query")),
            ("colour", None),
            ("q", None),
        ] {
            assert_eq!(nearest(given, known.into_iter()), meant, "{given}");
        }
    }
}
