//! Times in the registry's format: RFC 3339 in UTC with milliseconds, so that they sort as text.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current time.
#[must_use]
pub fn now() -> String {
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    written(i64::try_from(millis).unwrap_or(i64::MAX))
}

/// Formats milliseconds since 1970.
#[must_use]
pub fn written(millis: i64) -> String {
    let (days, rest) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let (year, month, day) = civil(days);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, milli) = (rest / 1_000 % 60, rest % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Converts days since 1970 to year, month and day of the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Converts an RFC 3339 time to the registry's format; `None` if it is invalid.
#[must_use]
pub fn normal(text: &str) -> Option<String> {
    let number = |range: std::ops::Range<usize>| -> Option<i64> {
        text.get(range).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
    };
    let sign = |at: usize, wanted: &[u8]| text.as_bytes().get(at).is_some_and(|byte| wanted.contains(byte));
    let shaped = sign(4, b"-") && sign(7, b"-") && sign(10, b"Tt ") && sign(13, b":") && sign(16, b":");
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let valid =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    if !shaped || !valid || civil(days(year, month, day)) != (year, month, day) {
        return None;
    }
    let rest = text.get(19..)?;
    let (fraction, zone) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?),
        None => ("0", rest),
    };
    if fraction.is_empty() {
        return None;
    }
    let milli: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let offset = match zone {
        "Z" | "z" => 0,
        _ => {
            let two = |text: &str| -> Option<i64> {
                let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
                is_number.then(|| text.parse().ok()).flatten()
            };
            let (hours, minutes) = zone.get(1..)?.split_once(':')?;
            let hours = two(hours).filter(|hours| *hours < 24)?;
            let minutes = hours * 60 + two(minutes).filter(|minutes| *minutes < 60)?;
            match zone.get(..1)? {
                "+" => minutes,
                "-" => -minutes,
                _ => return None,
            }
        }
    };
    let seconds = days(year, month, day) * 86_400 + hour * 3_600 + (minute - offset) * 60 + second;
    Some(written(seconds * 1_000 + milli))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_one_writing() {
        assert_eq!(written(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(normal("2024-02-29T23:59:59.1Z").unwrap(), "2024-02-29T23:59:59.100Z");
        assert_eq!(normal("2026-01-01T01:30:00+02:00").unwrap(), "2025-12-31T23:30:00.000Z");
        assert_eq!(normal("2026-01-01T00:00:00-00:30").unwrap(), "2026-01-01T00:30:00.000Z");
        for bad in [
            "",
            "2026-01-01",
            "2023-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+99:59",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00+05:60",
            "2026-01-01T00:00:00+-1:00",
            "2026-01-01T00:00:00+05:-5",
            "yesterday",
        ] {
            assert_eq!(normal(bad), None, "{bad}");
        }
    }
}
