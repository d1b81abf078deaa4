//! Reads one time.
//!
//! A time is seconds since 1970, or a date and time of ISO 8601 with a zone, or one without. The three are told apart
//! and never mixed: a time without a zone is hours away from the same one with it. Times are kept in microseconds.

use std::fmt;

use jiff::civil::DateTime;

use crate::error::EventError;

/// A moment: microseconds since the start of 1970, in UTC or, where no zone is known, in local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Moment(pub(crate) i64);

pub(crate) const SECOND: i64 = 1_000_000;
pub(crate) const DAY: i64 = 86_400 * SECOND;

/// How the times of a file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeKind {
    /// Seconds since 1970.
    Seconds,
    /// A date and time with its distance from UTC.
    Zoned,
    /// A date and time of whatever place the event was at.
    Local,
}

impl fmt::Display for TimeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seconds => "seconds since 1970",
            Self::Zoned => "a date and time with a zone",
            Self::Local => "a date and time without a zone",
        })
    }
}

/// Reads a time. That of [`TimeKind::Local`] is as if the place were in UTC.
pub(crate) fn read(text: &str) -> Result<(TimeKind, Moment), EventError> {
    let text = text.trim();
    if let Some(read) = read_usual(text.as_bytes()) {
        return Ok(read);
    }
    read_seconds(text).unwrap_or_else(|| read_unusual(text))
}

/// `2024-03-01T08:00:00.123+01:00` and what is like it, without a detour.
fn read_usual(text: &[u8]) -> Option<(TimeKind, Moment)> {
    let two = |at: usize| number(text.get(at..at + 2)?);
    let is = |at: usize, bytes: &[u8]| text.get(at).is_some_and(|byte| bytes.contains(byte));
    let (year, month, day) = (number(text.get(..4)?)?, two(5)?, two(8)?);
    let (hour, minute) = (two(11)?, two(14)?);
    if !(is(4, b"-") && is(7, b"-") && is(10, b"T t") && is(13, b":")) {
        return None;
    }
    let (second, mut at) = if is(16, b":") { (two(17)?, 19) } else { (0, 16) };
    let mut micros = 0;
    if at == 19 && is(at, b".,") {
        let digits = text[20..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=9).contains(&digits) {
            return None;
        }
        let shown = digits.min(6);
        micros = number(&text[20..20 + shown])? * 10_i64.pow(6 - shown as u32);
        at = 20 + digits;
    }
    let fits = (1..=12).contains(&month)
        && (1..=days_of(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60
        && year > 0;
    if !fits {
        return None;
    }
    let (kind, offset) = match &text[at..] {
        [] => (TimeKind::Local, 0),
        [b'Z' | b'z'] => (TimeKind::Zoned, 0),
        [sign @ (b'+' | b'-'), offset @ ..] => {
            let (hours, minutes) = match offset {
                [_, _] => (number(offset)?, 0),
                [_, _, b':', minutes @ ..] if minutes.len() == 2 => {
                    (number(&offset[..2])?, number(minutes)?)
                }
                [_, _, _, _] => (number(&offset[..2])?, number(&offset[2..])?),
                _ => return None,
            };
            if hours > 24 || minutes > 59 {
                return None;
            }
            let seconds = 3600 * hours + 60 * minutes;
            (TimeKind::Zoned, if *sign == b'-' { -seconds } else { seconds })
        }
        _ => return None,
    };
    let days = days_before(year, month, day);
    let seconds = 86_400 * days + 3600 * hour + 60 * minute + second - offset;
    Some((kind, Moment(seconds * SECOND + micros)))
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit().then(|| 10 * number + i64::from(byte - b'0'))
    })
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the start of 1970 to this date. The year is counted from March, so that a leap day is its last.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
        - 719_468
}

/// Seconds since 1970, which may have a fraction.
fn read_seconds(text: &str) -> Option<Result<(TimeKind, Moment), EventError>> {
    /// The first second of the year 5138, in seconds; in milliseconds it was in 1973.
    const LAST: i64 = 100_000_000_000;
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let whole = whole.parse::<i64>().ok().filter(|whole| *whole < LAST);
    let Some(whole) = whole else {
        return Some(Err(EventError::Milliseconds { found: shortened(text) }));
    };
    let shown = &fraction[..fraction.len().min(6)];
    let micros = shown.bytes().fold(0, |micros, byte| 10 * micros + i64::from(byte - b'0'))
        * 10_i64.pow(6 - shown.len() as u32);
    Some(Ok((TimeKind::Seconds, Moment(sign * (whole * SECOND + micros)))))
}

/// Whatever else is ISO 8601 or RFC 9557: a date alone, a zone by name, a leap second.
fn read_unusual(text: &str) -> Result<(TimeKind, Moment), EventError> {
    let not_a_time = || EventError::NotATime { found: shortened(text) };
    // A name in brackets has to fit the distance from UTC before it, and must not be passed over.
    if text.contains('[') {
        let zoned: jiff::Zoned = text.parse().map_err(|_| not_a_time())?;
        return Ok((TimeKind::Zoned, Moment(zoned.timestamp().as_microsecond())));
    }
    if let Ok(timestamp) = text.parse::<jiff::Timestamp>() {
        return Ok((TimeKind::Zoned, Moment(timestamp.as_microsecond())));
    }
    let local: DateTime = text.parse().map_err(|_| not_a_time())?;
    let utc = local.to_zoned(jiff::tz::TimeZone::UTC).map_err(|_| not_a_time())?;
    Ok((TimeKind::Local, Moment(utc.timestamp().as_microsecond())))
}

/// Text for a message, cut if it is long.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seconds(text: &str) -> (TimeKind, f64) {
        let (kind, moment) = read(text).unwrap();
        (kind, moment.0 as f64 / 1e6)
    }

    #[test]
    fn times_that_are_taken() {
        use TimeKind::{Local, Seconds, Zoned};
        for (text, kind, expected) in [
            ("1970-01-01T00:00:00Z", Zoned, 0.0),
            ("1970-01-01 01:00:00+01:00", Zoned, 0.0),
            ("1970-01-01T01:00+0100", Zoned, 0.0),
            ("1969-12-31T21:30:00.5-02:30", Zoned, 0.5),
            ("1970-01-01T01:00:00+01", Zoned, 0.0),
            ("2011-10-11 13:45:40.276000+02:00", Zoned, 1_318_333_540.276),
            ("2024-02-29T00:00:00Z", Zoned, 1_709_164_800.0),
            ("2024-03-31T03:30:00+02:00[Europe/Berlin]", Zoned, 1_711_848_600.0),
            ("2016-12-31T23:59:60Z", Zoned, 1_483_228_799.0),
            ("1970-01-02", Local, 86_400.0),
            ("1970-01-01 00:01", Local, 60.0),
            (" 1970-01-01T00:00:01,25 ", Local, 1.25),
            ("1318333540", Seconds, 1_318_333_540.0),
            ("1318333540.276", Seconds, 1_318_333_540.276),
            ("-1.5", Seconds, -1.5),
            ("0.1234567", Seconds, 0.123456),
        ] {
            assert_eq!(seconds(text), (kind, expected), "{text}");
        }
    }

    #[test]
    fn times_that_are_refused() {
        for text in [
            "",
            "noon",
            "11/10/2011 13:45",
            "2011-02-29 10:00:00",
            "2011-13-01 10:00:00",
            "2011-10-11 25:00:00",
            "2011-10-11 13:45:40+02:00x",
            "2024-03-31T03:30:00+05:00[Europe/Berlin]",
            "1e9",
            "nan",
            "12:30",
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("2024-03-01T08:00:00+01:00"), "{text}: {error}");
        }
        let error = read("1318333540276").unwrap_err().to_string();
        assert!(error.contains("milliseconds"), "{error}");
        assert!(read("99999999999999999999999").unwrap_err().to_string().contains("milliseconds"));
    }

    proptest! {
        /// jiff says what a time means.
        #[test]
        fn usual_times_are_those_of_jiff(
            seconds in -62_000_000_000_i64..250_000_000_000,
            micros in 0..1_000_000_i64,
            offset in prop_oneof![Just(None), (-14 * 60..=14 * 60_i32).prop_map(Some)],
            space in any::<bool>(),
        ) {
            let exact = jiff::Timestamp::from_microsecond(seconds * SECOND + micros).unwrap();
            let shift = jiff::tz::Offset::from_seconds(60 * offset.unwrap_or(0)).unwrap();
            let local = shift.to_datetime(exact);
            let mut text = format!("{:.6}", local);
            if space { text = text.replace('T', " "); }
            let sign = if offset.unwrap_or(0) < 0 { '-' } else { '+' };
            let minutes = offset.unwrap_or(0).abs();
            if offset.is_some() {
                text += &format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60);
            }
            prop_assume!(local.year() > 0);
            let kind = if offset.is_some() { TimeKind::Zoned } else { TimeKind::Local };
            let expected = (kind, Moment(exact.as_microsecond()));
            prop_assert_eq!(read_usual(text.as_bytes()), Some(expected), "{}", text);
            prop_assert_eq!(read_unusual(&text).unwrap(), expected, "{}", text);
        }

        #[test]
        fn no_text_is_too_much(text in "[0-9T :.+Z\\[-]{0,32}") {
            let _ = read(&text);
        }
    }
}
