//! Time zones: which moment a local time is, and which day a moment is on.
//!
//! jiff has the rules of all zones built in (the IANA database), so that the same file makes the same walks on every
//! machine, also on one that has no such database or an old one. Where a clock was put forward or back, a local
//! time is what calendars take it for (RFC 5545): one that was skipped is as much later as was skipped, and of two
//! moments with one time it is the first.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use thiserror::Error;

use crate::moment::{DAY, Moment};

/// A time zone by its name in the IANA database, such as `Europe/Berlin`, or `UTC`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// A name that no zone has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not a time zone; write a name such as Europe/Berlin, America/New_York or UTC")]
pub struct ZoneError(String);

/// A day of the calendar, counted from the first of January 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Day(pub(crate) i64);

impl FromStr for Zone {
    type Err = ZoneError;

    fn from_str(name: &str) -> Result<Self, ZoneError> {
        let wrong = || ZoneError(name.chars().take(80).collect());
        TimeZone::get(name.trim()).map(Self).map_err(|_| wrong())
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.iana_name().unwrap_or("UTC"))
    }
}

impl Zone {
    /// The moment of a local time; `None` if calendars do not reach so far.
    pub(crate) fn moment_of(&self, local: Moment) -> Option<Moment> {
        let local = TimeZone::UTC.to_datetime(Timestamp::from_microsecond(local.0).ok()?);
        let moment = self.0.to_ambiguous_timestamp(local).compatible().ok()?;
        Some(Moment(moment.as_microsecond()))
    }

    /// The local time of a moment.
    pub(crate) fn local_time(&self, moment: Moment) -> Option<Moment> {
        let timestamp = Timestamp::from_microsecond(moment.0).ok()?;
        let offset = self.0.to_offset(timestamp);
        Some(Moment(moment.0 + i64::from(offset.seconds()) * crate::moment::SECOND))
    }
}

impl Moment {
    /// The day of a local time.
    pub(crate) fn day(self) -> Day {
        Day(self.0.div_euclid(DAY))
    }
}

impl Day {
    /// The local time so long after the day's midnight.
    pub(crate) fn at(self, time: i64) -> Moment {
        Moment(self.0 * DAY + time)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_microsecond(self.at(0).0) {
            Ok(midnight) => write!(f, "{}", TimeZone::UTC.to_datetime(midnight).date()),
            Err(_) => write!(f, "day {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moment::read;

    fn moment(text: &str) -> Moment {
        read(text).unwrap().1
    }

    #[test]
    fn summer_time_begins_and_ends() {
        let berlin: Zone = "Europe/Berlin".parse().unwrap();
        for (local, utc) in [
            ("2024-03-31 01:59", "2024-03-31T00:59Z"),
            // Skipped: an hour later.
            ("2024-03-31 02:30", "2024-03-31T01:30Z"),
            ("2024-03-31 03:00", "2024-03-31T01:00Z"),
            // Twice: the first.
            ("2024-10-27 02:30", "2024-10-27T00:30Z"),
            ("2024-10-27 03:00", "2024-10-27T02:00Z"),
        ] {
            assert_eq!(berlin.moment_of(moment(local)), Some(moment(utc)), "{local}");
        }
        for (utc, local) in [
            ("2024-03-31T01:00Z", "2024-03-31 03:00"),
            ("2024-10-27T00:30Z", "2024-10-27 02:30"),
            ("2024-10-27T01:30Z", "2024-10-27 02:30"),
        ] {
            assert_eq!(berlin.local_time(moment(utc)), Some(moment(local)), "{utc}");
        }
        assert_eq!(berlin.to_string(), "Europe/Berlin");
        assert!("Europe/Bärlin".parse::<Zone>().unwrap_err().to_string().contains("Europe/Berlin"));
    }

    #[test]
    fn days_are_named_by_the_calendar() {
        for day in ["1969-12-31", "1970-01-01", "2024-02-29", "9999-12-30"] {
            assert_eq!(moment(day).day().to_string(), day);
        }
    }
}
