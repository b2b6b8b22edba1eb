//! Days and moments in UTC, in the proleptic Gregorian calendar.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Day, counted from 1970-01-01; as JSON, `YYYY-MM-DD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(i64);

/// Second, counted from 1970-01-01; as JSON, `YYYY-MM-DDTHH:MM:SSZ`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

/// Error for a text that is not a day of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a day is written YYYY-MM-DD")]
pub struct NoDay;

impl Day {
    /// Returns the day, or `None` if the calendar has no such day.
    #[must_use]
    pub fn new(year: i64, month: i64, day: i64) -> Option<Self> {
        if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || day < 1 {
            return None;
        }
        // Howard Hinnant's days_from_civil: the year begins in March, so the leap day is its last.
        let shifted = if month <= 2 { year - 1 } else { year };
        let era = shifted.div_euclid(400);
        let of_era = shifted.rem_euclid(400);
        let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let days = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
        let found = Self(era * 146_097 + days - 719_468);
        (found.civil() == (year, month, day)).then_some(found)
    }

    #[must_use]
    pub fn civil(self) -> (i64, i64, i64) {
        let shifted = self.0 + 719_468;
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        (year_of_era + era * 400 + i64::from(month <= 2), month, day)
    }

    #[must_use]
    pub fn year(self) -> i64 {
        self.civil().0
    }

    #[must_use]
    pub const fn plus(self, days: i64) -> Self {
        Self(self.0.saturating_add(days))
    }

    /// Returns the days from `earlier` to this day.
    #[must_use]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the day of the week; Monday is 0.
    #[must_use]
    pub const fn weekday(self) -> i64 {
        (self.0 + 3).rem_euclid(7)
    }

    #[must_use]
    pub const fn is_trading(self) -> bool {
        self.weekday() < 5
    }

    #[must_use]
    pub const fn at(self, second: i64) -> Moment {
        Moment(self.0 * 86_400 + second)
    }
}

impl Moment {
    #[must_use]
    pub const fn day(self) -> Day {
        Day(self.0.div_euclid(86_400))
    }

    /// Returns the seconds from `earlier` to this moment.
    #[must_use]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    #[must_use]
    pub const fn plus(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let second = self.0.rem_euclid(86_400);
        write!(f, "{}T{:02}:{:02}:{:02}Z", self.day(), second / 3_600, second / 60 % 60, second % 60)
    }
}

impl FromStr for Day {
    type Err = NoDay;

    fn from_str(text: &str) -> Result<Self, NoDay> {
        let mut parts = text.splitn(3, '-').map(|part| {
            let digits = part.bytes().all(|byte| byte.is_ascii_digit());
            if digits { part.parse::<i64>().ok() } else { None }
        });
        let mut next = || parts.next().flatten().ok_or(NoDay);
        let (year, month, day) = (next()?, next()?, next()?);
        if text.len() != 10 {
            return Err(NoDay);
        }
        Self::new(year, month, day).ok_or(NoDay)
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Day {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Day".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" })
    }
}

impl JsonSchema for Moment {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_as_the_calendar_has_them() {
        assert_eq!(Day::new(1970, 1, 1), Some(Day(0)));
        assert_eq!(Day::new(2000, 3, 1), Some(Day(11_017)));
        assert_eq!(Day::new(2024, 2, 29).map(|day| day.plus(1).to_string()).as_deref(), Some("2024-03-01"));
        assert_eq!(Day::new(2025, 2, 29), None);
        assert_eq!(Day::new(2024, 1, 1).map(Day::weekday), Some(0), "a Monday");
    }

    #[test]
    fn every_day_of_a_century_is_written_and_read() {
        let mut day = Day::new(1960, 1, 1).unwrap();
        while day.year() < 2060 {
            assert_eq!(day.to_string().parse(), Ok(day));
            day = day.plus(1);
        }
        for text in ["2025-1-1", "2025-13-01", "2025-02-30", "+025-01-01", "today", "2025-01-011"] {
            assert_eq!(text.parse::<Day>(), Err(NoDay), "{text}");
        }
    }
}
