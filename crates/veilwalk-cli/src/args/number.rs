//! Numbers by flag: what is accepted is part of every refusal.

use std::ops::RangeInclusive;
use std::str::FromStr;

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
