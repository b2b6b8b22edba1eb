//! Parses durations and sizes with units: `90d`, `512MiB`.

/// Parses a duration with its unit and returns milliseconds.
pub(crate) fn duration_ms(text: &str) -> Result<u64, String> {
    let units =
        [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)];
    amount(text, &units)
        .ok_or_else(|| "an age is a number and one of ms, s, m, h, d, w, such as 90d".to_owned())
}

/// Parses a size; without a unit it is in bytes.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let units = [
        ("", 1),
        ("B", 1),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
    ];
    amount(text, &units).ok_or_else(|| {
        "a size is a number of bytes, or with KiB, MiB, GiB, kB, MB, GB, such as 512MiB".to_owned()
    })
}

fn amount(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_their_units() {
        assert_eq!(duration_ms("90d"), Ok(90 * 86_400_000));
        assert_eq!(duration_ms("12 h"), Ok(12 * 3_600_000));
        assert_eq!(bytes("512MiB"), Ok(512 << 20));
        assert_eq!((bytes("10"), bytes("3kB")), (Ok(10), Ok(3_000)));
        for wrong in ["", "d", "-1d", "1x", "1", "99999999999999999999d", "18446744073709551615w"] {
            assert!(duration_ms(wrong).is_err(), "{wrong}");
        }
        assert!(bytes("1 MiB2").is_err() && bytes("MiB").is_err());
    }
}
