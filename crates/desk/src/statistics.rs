//! Means, deviations and rounding, defined once.

/// `None` for nothing.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// Of a sample (n - 1); `None` for fewer than two values.
pub(crate) fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    if values.len() < 2 {
        return None;
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The value in the middle; the mean of the two for an even count.
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

/// `part / whole`; `None` of nothing.
pub(crate) fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole != 0.0).then(|| rounded(part / whole))
}

/// To four places: what people read.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}
