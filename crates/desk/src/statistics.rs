//! Means, deviations and rounding, defined once.

/// Returns the mean; `None` without values.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the sample deviation (n - 1); `None` for fewer than two values.
pub(crate) fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    if values.len() < 2 {
        return None;
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Returns the median; the mean of the two middle values for an even count.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.len() / 2;
    let high = *sorted.get(upper)?;
    if !sorted.len().is_multiple_of(2) {
        return Some(high);
    }
    Some((sorted.get(upper.checked_sub(1)?)? + high) / 2.0)
}

/// Returns `part / whole`, rounded; `None` if `whole` is zero.
pub(crate) fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole != 0.0).then(|| rounded(part / whole))
}

/// Rounds to four decimal places.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}
