//! When the states of walks were.
//!
//! Walks hold states and no times. But states are a fixed time apart, and what stands beside walks that were put on a
//! clock says how far, and where their days begin. A walk of a clock is named after its day. So a time can be given back to
//! every state: not that of an event, but that of a tick, which is the same for everybody.

use thiserror::Error;
use veilwalk::internal::request::Span;

use crate::clock::{Clock, ClockError, Ticks};
use crate::error::EventError;
use crate::moment::{DAY, Moment, SECOND, TimeKind, read};
use crate::zone::{Zone, ZoneError};

/// When the states of walks were.
#[derive(Debug)]
pub struct Timetable {
    every: Span,
    starts: Starts,
}

#[derive(Debug)]
enum Starts {
    /// All walks begin at one moment.
    At(Moment),
    /// A walk begins with the window of the day that it is named after.
    Days(Box<Ticks>),
}

/// Why states have no times.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TimetableError {
    /// Text that is not a span.
    #[error("{0}")]
    Span(String),
    /// Text that is not a window, or a window that ticks do not fill.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// Text that is not a time zone.
    #[error(transparent)]
    Zone(#[from] ZoneError),
    /// Text that is not a moment.
    #[error(transparent)]
    Moment(#[from] EventError),
    /// A walk that is not named after a day.
    #[error(
        "the walk {walk:?} is not named after a day, as walks on a clock are (ann/2024-03-01); say when walks begin \
         and how far apart states are"
    )]
    NoDay {
        /// The walk.
        walk: String,
    },
    /// A moment beyond what calendars reach.
    #[error(
        "the walk {walk:?} would be at a time that calendars do not reach; correct when walks begin"
    )]
    FarAway {
        /// The walk.
        walk: String,
    },
}

impl Timetable {
    /// All walks begin at one moment, which is a time of this zone if it has none of its own; UTC if there is no zone.
    ///
    /// # Errors
    ///
    /// If the text is not a time.
    pub fn from_moment(
        start: &str,
        every: Span,
        zone: Option<&Zone>,
    ) -> Result<Self, TimetableError> {
        let (kind, moment) = read(start)?;
        let start = match (kind, zone) {
            (TimeKind::Local, Some(zone)) => zone
                .moment_of(moment)
                .ok_or_else(|| EventError::FarAway { found: start.to_owned() })?,
            _ => moment,
        };
        Ok(Self { every, starts: Starts::At(start) })
    }

    /// Walks were put on a clock with these settings, as they stand beside prepared walks. Days without a zone are taken
    /// as those of UTC.
    ///
    /// # Errors
    ///
    /// If one of them is not what it should be.
    pub fn on_clock(
        every: &str,
        window: &str,
        zone: Option<&Zone>,
    ) -> Result<Self, TimetableError> {
        let span: Result<Span, _> = every.parse();
        let every = span.map_err(|error| TimetableError::Span(error.to_string()))?;
        let clock = Clock::new(every, window.parse()?)?;
        Ok(Self { every, starts: Starts::Days(Box::new(Ticks::new(&clock, zone.cloned()))) })
    }

    /// How far apart states are.
    #[must_use]
    pub fn every(&self) -> Span {
        self.every
    }

    /// When the first state of a walk was, in microseconds since the start of 1970 in UTC.
    ///
    /// # Errors
    ///
    /// If the walk is not named after a day, and would have to be, or one of this many states is beyond what calendars reach.
    pub fn first(&mut self, walk: &str, states: u64) -> Result<i64, TimetableError> {
        let first = match &mut self.starts {
            Starts::At(moment) => *moment,
            Starts::Days(ticks) => {
                let day = walk.rsplit('/').next().filter(|day| day.len() == 10);
                let midnight = day.and_then(|day| read(day).ok());
                let midnight = midnight
                    .filter(|(kind, at)| *kind == TimeKind::Local && at.0.rem_euclid(DAY) == 0);
                let start = midnight.and_then(|(_, at)| ticks.start(at.day()));
                start.ok_or_else(|| TimetableError::NoDay { walk: walk.to_owned() })?
            }
        };
        let far = || TimetableError::FarAway { walk: walk.to_owned() };
        let every = i64::try_from(self.every.seconds()).ok().and_then(|s| s.checked_mul(SECOND));
        let span = every.and_then(|every| every.checked_mul(i64::try_from(states).ok()?));
        let last = span.and_then(|span| first.0.checked_add(span)).ok_or_else(far)?;
        let reached = |micros: i64| jiff::Timestamp::from_microsecond(micros).is_ok();
        if reached(first.0) && reached(last) { Ok(first.0) } else { Err(far()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(text: &str) -> i64 {
        read(text).unwrap().1.0
    }

    #[test]
    fn walks_of_a_clock_begin_with_the_window_of_their_day() {
        let berlin: Zone = "Europe/Berlin".parse().unwrap();
        let mut table = Timetable::on_clock("30m", "06:00-22:00", Some(&berlin)).unwrap();
        assert_eq!(table.every().seconds(), 1800);
        for (walk, first) in [
            ("ann/2024-03-01", "2024-03-01T06:00+01:00"),
            ("a/b/2024-07-01", "2024-07-01T06:00+02:00"),
            ("2024-07-01", "2024-07-01T06:00+02:00"),
        ] {
            assert_eq!(table.first(walk, 32), Ok(micros(first)), "{walk}");
        }
        for walk in ["ann", "ann/1", "ann/2024-02-30", "ann/1700000000", ""] {
            let error = table.first(walk, 32).unwrap_err();
            assert!(error.to_string().contains("not named after a day"), "{walk}: {error}");
        }
        let mut plain = Timetable::on_clock("1h", "00:00-24:00", None).unwrap();
        assert_eq!(plain.first("x/2024-03-01", 24), Ok(micros("2024-03-01T00:00Z")));
        for (every, window, words) in [
            ("soon", "06:00-22:00", "such as 2h"),
            ("7m", "06:00-22:00", "whole number of ticks"),
            ("5m", "morning", "part of a day"),
        ] {
            let error = Timetable::on_clock(every, window, None).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn all_walks_may_begin_at_one_moment() {
        let every: Span = "1m".parse().unwrap();
        let berlin: Zone = "Europe/Berlin".parse().unwrap();
        for (start, zone, first) in [
            ("2026-05-01T06:00", None, "2026-05-01T06:00Z"),
            ("2026-05-01T06:00", Some(&berlin), "2026-05-01T04:00Z"),
            ("2026-05-01T06:00-03:00", Some(&berlin), "2026-05-01T09:00Z"),
            ("1777615200", Some(&berlin), "2026-05-01T06:00Z"),
        ] {
            let mut table = Timetable::from_moment(start, every, zone).unwrap();
            assert_eq!(table.first("any", 100), Ok(micros(first)), "{start}");
        }
        let error = Timetable::from_moment("noon", every, None).unwrap_err().to_string();
        assert!(error.contains("is not a time"), "{error}");
        let mut table = Timetable::from_moment("9999-12-30T00:00Z", every, None).unwrap();
        assert!(table.first("short", 10).is_ok());
        for states in [10_000, u64::MAX] {
            let error = table.first("long", states).unwrap_err().to_string();
            assert!(error.contains("calendars do not reach"), "{error}");
        }
    }
}
