//! A clock: the same number of ticks on every day.
//!
//! The first tick of a day is where its window begins by the local clock; every other is a fixed time after the
//! one before it, in real time. So a day has as many ticks whether a clock was put forward or back on it or
//! not, and a stay of two hours covers no more ticks on that day than on any other, which is what a promise for stays
//! rests on. On a day on which clocks change within the window, ticks after the change come an hour later or earlier by the
//! local clock, and so does the window's end. A window from 06:00 to 22:00 has no change in it.
//!
//! A window that would reach into the next day's is over where that begins, so that a moment is in one window at most and a
//! stay is not told twice. The ticks beyond are none of the day's own: what they hold has no part of what was there then.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use thiserror::Error;
use veilwalk::internal::request::Span;

use crate::moment::{DAY, Moment, SECOND};
use crate::zone::{Day, Zone};

/// The part of a day in which there are ticks, by the local clock: from its beginning up to, not including, its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// In seconds after midnight, below a day.
    from: u32,
    /// In seconds, up to a day.
    length: u32,
}

/// Ticks at fixed distances within a window of every day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    every: Span,
    window: Window,
    ticks: NonZeroU32,
    /// What the state of a tick is where nothing is known.
    pub away: Option<String>,
    /// Which days a person has walks on.
    pub days: Days,
}

/// The days on which a person has a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Days {
    /// Those on which an event of the person is in the window. Which days these are can be seen in a release.
    #[default]
    Seen,
    /// All from the first event of anybody to the last, for every person: then only who there is can be seen.
    All,
}

/// Why there is no such clock.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClockError {
    /// Text that is no window.
    #[error("{0:?} is not a part of a day; write when it begins and ends, such as 06:00-22:00")]
    NotAWindow(String),
    /// Ticks that do not fill the window.
    #[error(
        "a window of {length} minutes is not a whole number of ticks of {every}; choose a tick that divides it"
    )]
    Uneven {
        /// The window's length in minutes.
        length: u32,
        /// The distance of ticks.
        every: Span,
    },
    /// A gap where nothing could be put in.
    #[error(
        "what is known is to be forgotten after a gap, and no state is to take its place; name one"
    )]
    GapWithoutAway,
}

impl FromStr for Window {
    type Err = ClockError;

    fn from_str(text: &str) -> Result<Self, ClockError> {
        const LAST: u32 = 86_400;
        let time = |text: &str| {
            let mut parts = text.trim().split(':');
            let mut seconds = 0;
            let mut part = |most: u32, unit: u32| {
                let digits = parts.next()?;
                let fits = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit());
                let number = digits.parse::<u32>().ok().filter(|number| fits && *number <= most)?;
                seconds += number * unit;
                Some(())
            };
            part(24, 3600)?;
            part(59, 60)?;
            let whole = part(59, 1).is_some() || text.trim().len() == 5;
            (whole && parts.next().is_none() && seconds <= LAST).then_some(seconds)
        };
        let parsed = text.split_once('-').and_then(|(from, to)| {
            let (from, to) = (time(from)?, time(to)?);
            let length = if to > from { to - from } else { to + LAST - from };
            (from < LAST).then_some(Self { from, length })
        });
        parsed.ok_or_else(|| ClockError::NotAWindow(text.chars().take(80).collect()))
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let to = self.from + self.length;
        show_time(f, self.from)?;
        f.write_str("-")?;
        show_time(f, if to > 86_400 { to - 86_400 } else { to })
    }
}

/// Hours and minutes after midnight, and seconds if there are any.
fn show_time(f: &mut fmt::Formatter<'_>, seconds: u32) -> fmt::Result {
    write!(f, "{:02}:{:02}", seconds / 3600, seconds / 60 % 60)?;
    if seconds.is_multiple_of(60) { Ok(()) } else { write!(f, ":{:02}", seconds % 60) }
}

impl Default for Window {
    /// The whole day.
    fn default() -> Self {
        Self { from: 0, length: 86_400 }
    }
}

impl Clock {
    /// Ticks so far apart, from the beginning of the window on.
    ///
    /// # Errors
    ///
    /// If they do not fill the window.
    pub fn new(every: Span, window: Window) -> Result<Self, ClockError> {
        let uneven = ClockError::Uneven { length: window.length / 60, every };
        let length = u64::from(window.length);
        if every.seconds() > length || !length.is_multiple_of(every.seconds()) {
            return Err(uneven);
        }
        let ticks = u32::try_from(length / every.seconds()).ok().and_then(NonZeroU32::new);
        let ticks = ticks.ok_or(uneven)?;
        Ok(Self { every, window, ticks, away: None, days: Days::default() })
    }

    /// How far apart ticks are.
    #[must_use]
    pub fn every(&self) -> Span {
        self.every
    }

    /// The part of the day.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// How many ticks a day has: the number of states of every walk.
    #[must_use]
    pub fn ticks(&self) -> NonZeroU32 {
        self.ticks
    }
}

/// The ticks of days in a zone.
#[derive(Debug)]
pub(crate) struct Ticks {
    every: i64,
    count: u32,
    window: Window,
    zone: Option<Zone>,
    /// Where windows begin, as far as somebody has asked: the days asked for lie close together.
    starts: hashbrown::HashMap<Day, Option<Moment>>,
}

impl Ticks {
    pub(crate) fn new(clock: &Clock, zone: Option<Zone>) -> Self {
        Self {
            every: clock.every.seconds() as i64 * SECOND,
            count: clock.ticks.get(),
            window: clock.window,
            zone,
            starts: hashbrown::HashMap::new(),
        }
    }

    /// How many ticks a day has.
    pub(crate) fn count(&self) -> usize {
        self.count as usize
    }

    /// The moment of the tick with this number of a window that begins at `start`.
    pub(crate) fn tick(&self, start: Moment, number: usize) -> Moment {
        Moment(start.0 + self.every * number as i64)
    }

    /// Where the window ends that begins at `start`.
    pub(crate) fn end(&self, start: Moment) -> Moment {
        self.tick(start, self.count())
    }

    /// How many ticks of a window that begins at `start` are before a moment.
    pub(crate) fn before(&self, start: Moment, moment: Moment) -> usize {
        let since = moment.0 - start.0;
        let before = if since <= 0 { 0 } else { (since - 1) / self.every + 1 };
        (before as usize).min(self.count())
    }

    /// Where the window of a day begins; `None` if the calendar of the place passes over the day.
    pub(crate) fn start(&mut self, day: Day) -> Option<Moment> {
        let Self { window, zone, starts, .. } = self;
        *starts.entry(day).or_insert_with(|| {
            let local = day.at(i64::from(window.from) * SECOND);
            let Some(zone) = zone else { return Some(local) };
            let start = zone.moment_of(local)?;
            (zone.local_time(start)?.day() == day).then_some(start)
        })
    }

    /// Where the own part of a day's window ends: at its end, or where the next window begins if that is earlier, which it is
    /// only where a clock was put forward.
    pub(crate) fn own_end(&mut self, day: Day, start: Moment) -> Moment {
        // A day may be missing in the calendar; no place has left out two in a row.
        let next = (1..=2).find_map(|days| self.start(Day(day.0 + days)));
        next.map_or(self.end(start), |next| next.min(self.end(start)))
    }

    /// The day in whose window a moment is, and where that window begins.
    pub(crate) fn day_of(&mut self, moment: Moment) -> Option<(Day, Moment)> {
        let local = match &self.zone {
            Some(zone) => zone.local_time(moment).unwrap_or(moment),
            None => moment,
        };
        let Day(last) = local.day();
        // A window of a whole day that begins before midnight ends on the next day, or an hour into the one after. The latest
        // that has begun is the only one the moment may be in.
        let begun = [Day(last), Day(last - 1), Day(last - 2)].into_iter().find_map(|day| {
            let start = self.start(day).filter(|start| *start <= moment)?;
            Some((day, start))
        });
        begun.filter(|(_, start)| moment < self.end(*start))
    }

    /// The first and last day that a walk may be on if all events are between these moments.
    pub(crate) fn range(&mut self, first: Moment, last: Moment) -> (Day, Day) {
        let day = |moment: Moment, zone: &Option<Zone>| match zone {
            Some(zone) => zone.local_time(moment).unwrap_or(moment).day(),
            None => moment.day(),
        };
        let from = self.day_of(first).map(|(day, _)| day);
        (from.unwrap_or(day(first, &self.zone)), day(last, &self.zone))
    }
}

/// The same clock for events that come one at a time, as they happen.
#[derive(Debug)]
pub struct LiveClock(Ticks);

/// A tick of a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveTick {
    /// The day, such as `2024-03-01`.
    pub day: String,
    /// The number of the tick on that day, from 0.
    pub number: u32,
    /// When the day's first tick is, in seconds since the beginning of 1970.
    pub start: i64,
}

impl LiveClock {
    /// The ticks of a clock in a zone.
    #[must_use]
    pub fn new(clock: &Clock, zone: Zone) -> Self {
        Self(Ticks::new(clock, Some(zone)))
    }

    /// The latest tick that is not after this moment, in seconds since the beginning of 1970. None if the moment is in
    /// no day's window.
    pub fn tick_of(&mut self, seconds: i64) -> Option<LiveTick> {
        let moment = Moment(seconds.checked_mul(SECOND).filter(|moment| moment.abs() <= FARTHEST)?);
        let (day, start) = self.0.day_of(moment)?;
        let number = u32::try_from((moment.0 - start.0) / self.0.every).ok()?;
        Some(LiveTick { day: day.to_string(), number, start: start.0.div_euclid(SECOND) })
    }

    /// How many ticks a day has.
    #[must_use]
    pub fn ticks(&self) -> u32 {
        self.0.count
    }

    /// How far apart ticks are, in seconds.
    #[must_use]
    pub fn every(&self) -> i64 {
        self.0.every / SECOND
    }
}

/// The most a moment may be away from 1970: what calendars reach, less a few days.
pub(crate) const FARTHEST: i64 = 2_932_880 * DAY;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moment::read;

    fn moment(text: &str) -> Moment {
        read(text).unwrap().1
    }

    fn ticks(every: &str, window: &str, zone: &str) -> Ticks {
        let clock = Clock::new(every.parse().unwrap(), window.parse().unwrap()).unwrap();
        Ticks::new(&clock, Some(zone.parse().unwrap()))
    }

    #[test]
    fn windows_are_read_and_shown() {
        for text in ["06:00-22:00", "00:00-24:00", "22:00-06:00", "09:00:30-09:01"] {
            assert_eq!(text.parse::<Window>().unwrap().to_string(), text);
        }
        assert_eq!(Window::default().to_string(), "00:00-24:00");
        for text in ["", "6-22", "06:00", "06:00-25:00", "24:00-06:00", "06:60-07:00", "a:b-c:d"] {
            assert!(
                text.parse::<Window>().unwrap_err().to_string().contains("06:00-22:00"),
                "{text}"
            );
        }
        let clock = Clock::new("5m".parse().unwrap(), "06:00-22:00".parse().unwrap()).unwrap();
        assert_eq!(clock.ticks().get(), 192);
        for every in ["7m", "2d"] {
            let error = Clock::new(every.parse().unwrap(), Window::default()).unwrap_err();
            assert!(error.to_string().contains("1440 minutes"), "{error}");
        }
    }

    /// Twenty-three, twenty-four and twenty-five hours, and always as many ticks an hour of real time apart.
    #[test]
    fn days_of_all_lengths_have_as_many_ticks() {
        let mut ticks = ticks("1h", "00:00-24:00", "Europe/Berlin");
        for (day, first, last) in [
            ("2024-03-30", "2024-03-30T00:00+01:00", "2024-03-30T23:00+01:00"),
            ("2024-03-31", "2024-03-31T00:00+01:00", "2024-04-01T00:00+02:00"),
            ("2024-10-27", "2024-10-27T00:00+02:00", "2024-10-27T22:00+01:00"),
        ] {
            let start = ticks.start(moment(day).day()).unwrap();
            assert_eq!(start, moment(first), "{day}");
            assert_eq!(ticks.tick(start, 23), moment(last), "{day}");
        }
        // After the long day an hour belongs to no window, and the hour after the short one to the next day alone.
        let mut day = |text| ticks.day_of(moment(text)).map(|(day, _)| day.to_string());
        assert_eq!(day("2024-10-27T23:30+01:00"), None);
        assert_eq!(day("2024-03-31T23:59+02:00").unwrap(), "2024-03-31");
        assert_eq!(day("2024-04-01T00:00+02:00").unwrap(), "2024-04-01");
        assert_eq!(day("2024-04-01T01:30+02:00").unwrap(), "2024-04-01");
        for (day, own) in [("2024-03-30", 24), ("2024-03-31", 23), ("2024-10-27", 24)] {
            let day = moment(day).day();
            let start = ticks.start(day).unwrap();
            let end = ticks.own_end(day, start);
            assert_eq!(ticks.before(start, end), own, "{day}");
        }
    }

    #[test]
    fn windows_over_midnight_belong_to_the_day_they_begin_on() {
        let mut ticks = ticks("30m", "22:00-06:00", "America/New_York");
        let mut day = |text| ticks.day_of(moment(text)).map(|(day, _)| day.to_string());
        assert_eq!(day("2024-07-01T23:00-04:00").unwrap(), "2024-07-01");
        assert_eq!(day("2024-07-02T05:59-04:00").unwrap(), "2024-07-01");
        assert_eq!(day("2024-07-02T06:00-04:00"), None);
    }

    /// Samoa went over to the other side of the date line, and had no 30 December 2011.
    #[test]
    fn a_day_that_was_left_out_has_no_window() {
        let mut ticks = ticks("1h", "06:00-22:00", "Pacific/Apia");
        assert_eq!(ticks.start(moment("2011-12-30").day()), None);
        assert!(ticks.start(moment("2011-12-31").day()).is_some());
    }

    /// Tick by tick: the last that is not after the moment.
    #[test]
    fn a_moment_is_in_the_tick_before_it() {
        let clock = Clock::new("5m".parse().unwrap(), "06:00-07:00".parse().unwrap()).unwrap();
        let mut live = LiveClock::new(&clock, "Europe/Berlin".parse().unwrap());
        let ticks = ticks("5m", "06:00-07:00", "Europe/Berlin");
        let start = moment("2024-03-31T06:00+02:00");
        let begin = start.0 / SECOND;
        for second in -700..5000 {
            let moment = Moment(start.0 + second * SECOND);
            let slow = (0..ticks.count()).rev().find(|n| ticks.tick(start, *n) <= moment);
            let slow = slow.filter(|_| moment < ticks.end(start)).map(|number| number as u32);
            let tick = live.tick_of(begin + second);
            assert_eq!(tick.as_ref().map(|tick| tick.number), slow, "{second}");
            assert!(tick.is_none_or(|tick| tick.day == "2024-03-31" && tick.start == begin));
        }
        assert_eq!(live.tick_of(i64::MAX), None);
        assert_eq!((live.ticks(), live.every()), (12, 300));
    }

    /// Tick by tick: the first that is not before the moment.
    #[test]
    fn ticks_before_a_moment_are_counted() {
        let ticks = ticks("5m", "06:00-07:00", "UTC");
        let start = moment("2024-03-01T06:00Z");
        for second in -700..5000 {
            let moment = Moment(start.0 + second * SECOND);
            let slow = (0..ticks.count()).filter(|n| ticks.tick(start, *n) < moment).count();
            assert_eq!(ticks.before(start, moment), slow, "{second}");
        }
    }
}
