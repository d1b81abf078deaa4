//! A promise in the words of people: any one stay of up to two hours.
//!
//! On a clock, a walk has one state for every tick. Somebody who comes at one moment and leaves at another, which
//! does not belong to the stay any more, is there at no more than `⌈stay/tick⌉` ticks. So to put anything else in the
//! place of the stay replaces at most that many states, and a promise for as many substitutions covers it.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use thiserror::Error;

/// A span of time in whole seconds, such as `2h`, `90m` or `1d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    seconds: u64,
}

/// Why a text is not a span of time.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{0:?} is not a span of time; write a whole number of days, hours, minutes or seconds, such as 2h, 90m or \
     30s"
)]
pub struct NotASpan(String);

const UNITS: [(u64, char); 4] = [(86_400, 'd'), (3_600, 'h'), (60, 'm'), (1, 's')];

impl FromStr for Span {
    type Err = NotASpan;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let seconds = seconds_in(text, &UNITS).filter(|&seconds| seconds > 0);
        let span = seconds.map(|seconds| Self { seconds });
        span.ok_or_else(|| NotASpan(text.chars().take(80).collect()))
    }
}

/// The seconds of a whole number of one of these units.
#[must_use]
pub fn seconds_in(text: &str, units: &[(u64, char)]) -> Option<u64> {
    let trimmed = text.trim();
    let unit = trimmed.chars().next_back()?;
    let (seconds, _) = units.iter().find(|(_, name)| *name == unit)?;
    let number: u64 = trimmed[..trimmed.len() - unit.len_utf8()].trim().parse().ok()?;
    number.checked_mul(*seconds)
}

impl Span {
    /// How many seconds it is: one or more.
    #[must_use]
    pub fn seconds(self) -> u64 {
        self.seconds
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |(size, _): &&(u64, char)| self.seconds.is_multiple_of(*size);
        let (size, name) = UNITS.iter().find(whole).unwrap_or(&(1, 's'));
        write!(f, "{}{name}", self.seconds / size)
    }
}

/// A stay of up to so long, on a clock with so long between its ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// How long the stay may be.
    pub stay: Span,
    /// How long it is from one state of a walk to the next.
    pub every: Span,
}

impl Visit {
    /// How many states such a stay may have; `None` if they are more than can be counted.
    #[must_use]
    pub fn substitutions(self) -> Option<NonZeroU32> {
        let ticks = self.stay.seconds.div_ceil(self.every.seconds);
        u32::try_from(ticks).ok().and_then(NonZeroU32::new)
    }
}

impl fmt::Display for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stay, every } = self;
        let states = self.substitutions().map_or(0, NonZeroU32::get);
        let plural = if states == 1 { "" } else { "s" };
        write!(
            f,
            "Any one stay of up to {stay} can be replaced by anything else: with a state every {every} that is at \
             most {states} state{plural}, so {states} substitution{plural}."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(stay: &str, every: &str) -> Option<u32> {
        let visit = Visit { stay: stay.parse().unwrap(), every: every.parse().unwrap() };
        visit.substitutions().map(NonZeroU32::get)
    }

    #[test]
    fn stays_are_counted_in_ticks() {
        assert_eq!(visit("2h", "5m"), Some(24));
        assert_eq!(visit("121m", "5m"), Some(25));
        assert_eq!(visit("1m", "5m"), Some(1));
        assert_eq!(visit("1d", "1s"), Some(86_400));
        assert_eq!(visit("99999999999d", "1s"), None);
        for text in ["", "2", "h", "-2h", "0m", "2 weeks", "1.5h", "99999999999999999999d"] {
            let error = text.parse::<Span>().unwrap_err().to_string();
            assert!(error.contains("such as 2h"), "{error}");
        }
        let two: Visit = Visit { stay: "120m".parse().unwrap(), every: "300s".parse().unwrap() };
        assert_eq!(
            two.to_string(),
            "Any one stay of up to 2h can be replaced by anything else: with a state every 5m that is at most 24 \
             states, so 24 substitutions."
        );
    }

    /// Ticks that a stay can cover, moment by moment.
    #[test]
    fn no_stay_covers_more_ticks() {
        for every in 1..8u64 {
            for stay in 1..40u64 {
                let most = (0..every)
                    .map(|from| (from..from + stay).filter(|moment| moment % every == 0).count());
                let visit = Visit { stay: Span { seconds: stay }, every: Span { seconds: every } };
                let counted = visit.substitutions().unwrap().get() as usize;
                assert_eq!(most.max(), Some(counted), "{stay} on {every}");
            }
        }
    }
}
