//! Degrees and times as text, exactly.

use std::io::{Result, Write};

use veilwalk::chain::Coordinates;

/// Writes an angle as a decimal number of degrees, with the seven places it has and no more than it needs.
pub(crate) fn write_degrees(out: &mut impl Write, units: i32) -> Result<()> {
    const UNITS: u32 = Coordinates::PER_DEGREE as u32;
    let (size, sign) = (units.unsigned_abs(), if units < 0 { "-" } else { "" });
    let (whole, part) = (size / UNITS, size % UNITS);
    if part == 0 {
        return write!(out, "{sign}{whole}");
    }
    let digits = format!("{part:07}");
    write!(out, "{sign}{whole}.{}", digits.trim_end_matches('0'))
}

/// A moment as RFC 3339 has it, in UTC, to the millisecond.
pub(crate) fn time(micros: i64) -> String {
    let millis = micros.div_euclid(1000);
    match jiff::Timestamp::from_millisecond(millis) {
        Ok(moment) => moment.to_string(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn degrees(units: i32) -> String {
        let mut out = Vec::new();
        write_degrees(&mut out, units).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn degrees_have_as_many_places_as_they_need() {
        let shown = [425_063_000, -15_218_000, 1, -1, 0, -1_800_000_000].map(degrees);
        assert_eq!(shown, ["42.5063", "-1.5218", "0.0000001", "-0.0000001", "0", "-180"]);
    }

    #[test]
    fn times_are_in_utc() {
        assert_eq!(time(1_777_615_200_000_000), "2026-05-01T06:00:00Z");
        assert_eq!(time(1_777_615_200_250_999), "2026-05-01T06:00:00.25Z");
    }

    proptest! {
        #[test]
        fn degrees_are_read_back(units in -1_800_000_000..=1_800_000_000) {
            let read: f64 = degrees(units).parse().unwrap();
            prop_assert_eq!((read * 1e7).round() as i32, units);
        }
    }
}
