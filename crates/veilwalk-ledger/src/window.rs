//! How far back a budget looks.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use veilwalk::internal::request::seconds_in;

/// A span of time, such as `30d`: releases that are older do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Window {
    seconds: u64,
}

/// Why a text is not a window.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{0:?} is not a span of time; write a whole number of days, hours or minutes, such as 30d, 12h or 90m"
)]
pub struct WindowError(String);

const UNITS: [(u64, char); 5] =
    [(7 * 86_400, 'w'), (86_400, 'd'), (3_600, 'h'), (60, 'm'), (1, 's')];

impl Window {
    /// A window of so many seconds; `None` for zero, or more than a thousand years.
    #[must_use]
    pub const fn of_seconds(seconds: u64) -> Option<Self> {
        const LONGEST: u64 = 1_000 * 366 * 86_400;
        if seconds == 0 || seconds > LONGEST { None } else { Some(Self { seconds }) }
    }

    /// Its length.
    #[must_use]
    pub const fn seconds(self) -> u64 {
        self.seconds
    }

    /// Whether something charged at that time counts now. What is dated later than now does: a clock
    /// that was put back makes nothing cheaper.
    #[must_use]
    pub(crate) fn covers(self, charged: i64, now: i64) -> bool {
        i128::from(now) - i128::from(charged) <= i128::from(self.seconds)
    }
}

impl FromStr for Window {
    type Err = WindowError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let window = seconds_in(text, &UNITS).and_then(Self::of_seconds);
        window.ok_or_else(|| WindowError(text.to_owned()))
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Days rather than weeks: that is how people say it.
        let fits = |(seconds, _): &(u64, char)| self.seconds.is_multiple_of(*seconds);
        let (seconds, name) = UNITS.into_iter().skip(1).find(fits).unwrap_or((1, 's'));
        write!(f, "{}{name}", self.seconds / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_written() {
        for (text, shown) in
            [("30d", "30d"), ("2w", "14d"), ("90m", "90m"), (" 24h ", "1d"), ("5s", "5s")]
        {
            assert_eq!(text.parse::<Window>().unwrap().to_string(), shown);
        }
        for text in
            ["", "d", "30", "0d", "-1d", "1.5d", "1y", "99999999999999999999d", "9999999w", "é"]
        {
            assert!(text.parse::<Window>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_clock_that_was_put_back_makes_nothing_cheaper() {
        let window: Window = "1h".parse().unwrap();
        assert!(window.covers(1_000, 4_600) && !window.covers(1_000, 4_601));
        assert!(window.covers(1_000, 999) && window.covers(i64::MAX, i64::MIN));
        assert!(!window.covers(i64::MIN, i64::MAX));
    }
}
