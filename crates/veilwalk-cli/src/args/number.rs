//! Numbers by flag: what is accepted is part of every refusal.

use std::ops::RangeInclusive;
use std::str::FromStr;

use veilwalk::chain::{Length, LengthError};

use super::thousands;

/// Reads a whole number in this range.
pub(crate) fn whole<T: FromStr>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let (least, most) = (*range.start(), *range.end());
        let number = text.parse::<u128>().ok();
        if number.is_some_and(|number| number > most.into()) {
            return Err(format!("give a whole number up to {}", thousands(most as usize)));
        }
        let accepted = number.filter(|&number| number >= least.into());
        let read = accepted.and_then(|_| text.parse().ok());
        read.ok_or_else(|| format!("give a whole number from {least} up"))
    }
}

/// Reads a whole number that is not negative.
pub(crate) fn any_whole<T: FromStr>() -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync {
    whole(0..=u64::MAX)
}

/// Reads a count that fits into 32 bits, from one up.
pub(crate) fn count<T: FromStr>() -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync {
    whole(1..=u32::MAX.into())
}

/// Reads a length in metres (`100m`, or the number alone) or kilometres (`0.5km`).
pub(crate) fn metres(text: &str) -> Result<Length, String> {
    let text = text.trim();
    let (digits, kilometres) = match text.strip_suffix("km") {
        Some(digits) => (digits, true),
        None => (text.strip_suffix('m').unwrap_or(text), false),
    };
    let length: Length = digits.trim().parse().map_err(|error| match error {
        LengthError::NotANumber(_) => {
            "give metres such as 100m, or kilometres such as 0.5km".to_owned()
        }
        other => other.to_string(),
    })?;
    if !kilometres {
        return Ok(length);
    }
    let millimetres = length.millimetres().checked_mul(1000).and_then(Length::from_millimetres);
    millimetres.ok_or_else(|| format!("{text:?} is more than 4000 km"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_units() {
        for (text, expected) in
            [("100m", 100_000), ("100", 100_000), (" 0.5 km", 500_000), ("12.5 m", 12_500)]
        {
            assert_eq!(metres(text).map(Length::millimetres), Ok(expected), "{text}");
        }
        for (text, words) in [
            ("far", "such as 100m"),
            ("m", "such as 100m"),
            ("-1m", "negative"),
            ("4001km", "4000 km"),
        ] {
            let error = metres(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
