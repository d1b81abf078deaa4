//! Numbers by flag: what is accepted is part of every refusal.

use std::ops::RangeInclusive;
use std::str::FromStr;

/// Reads a whole number in this range.
pub(crate) fn whole<T: FromStr>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse::<u64>().ok().filter(|number| range.contains(number));
        number.and_then(|_| text.parse().ok()).ok_or_else(|| match (range.start(), range.end()) {
            (least, &u64::MAX) => format!("give a whole number from {least} up"),
            (least, most) => format!("give a whole number from {least} to {most}"),
        })
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
