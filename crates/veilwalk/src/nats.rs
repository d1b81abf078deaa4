//! Distances as integers.
//!
//! A weight is `-ln P` in units of 2⁻²⁰ nats, rounded **down**, and a distance is a sum of weights.
//! Integers make two things exact that a proof needs and floats would only nearly give: the
//! triangle inequality, and the order of two costs. Rounding down keeps every distance at or below
//! its real-valued counterpart, so two walks that are adjacent under the real-valued distance are
//! adjacent here too, and the guarantee is never weaker for the rounding.

use std::fmt;

use bytemuck::{Pod, Zeroable};
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

/// A non-negative distance, a whole number of 2⁻²⁰ nats.
///
/// The largest value, about 4096 nats, stands for itself and everything beyond: sums saturate
/// there. A quasi-metric cut off at a ceiling still satisfies the triangle inequality.
///
/// In memory it is its number of units, a `u32`, and every such number is a distance.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Nats(u32);

impl Nats {
    /// How many bits lie behind the binary point.
    pub const FRACTION_BITS: u32 = 20;
    /// Units in one nat.
    pub const PER_NAT: u32 = 1 << Self::FRACTION_BITS;
    /// No distance at all.
    pub const ZERO: Self = Self(0);
    /// The ceiling, about 4096 nats.
    pub const MAX: Self = Self(u32::MAX);

    /// A distance of this many units of 2⁻²⁰ nats.
    #[must_use]
    pub const fn from_units(units: u32) -> Self {
        Self(units)
    }

    /// The distance in units of 2⁻²⁰ nats.
    #[must_use]
    pub const fn units(self) -> u32 {
        self.0
    }

    /// The distance in nats. Exact: a 32-bit integer over 2²⁰ is a double.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Self::PER_NAT)
    }

    /// The largest distance that is at most `nats`, or the ceiling. `None` for what is negative
    /// or not a number.
    #[must_use]
    pub fn at_most(nats: f64) -> Option<Self> {
        // `as` saturates, which is what a value beyond the ceiling asks for.
        (nats >= 0.0).then(|| Self((nats * f64::from(Self::PER_NAT)).floor() as u32))
    }

    /// The weight of a transition with this probability: `-ln p`, rounded down.
    ///
    /// # Precision
    ///
    /// Never above the real `-ln p`, for `p` itself and for every real number within a relative
    /// 2⁻⁵⁰ of it, so that the roundings of dividing a count by a total or an entry by its row's
    /// sum are covered as well. The logarithm comes from `libm`, whose error is below one unit in
    /// the last place and which uses no instruction whose result depends on the platform, so a
    /// chain has the same weights everywhere.
    ///
    /// # Panics
    ///
    /// If `p` is not in (0, 1]. Chains check this before they come here.
    #[must_use]
    pub fn weight_of(p: f64) -> Self {
        assert!(p > 0.0 && p <= 1.0, "a transition's probability is in (0, 1], not {p}");
        let exact = -libm::log(p) * f64::from(Self::PER_NAT);
        // A relative 2^-50 in p moves the logarithm by that much in absolute terms: 2^-30 units.
        // The logarithm and the product are each off by a relative 2^-52 at most.
        let below = exact - exact * 2f64.powi(-50) - 2f64.powi(-29);
        Self(below.max(0.0).floor() as u32)
    }

    /// The sum, held at the ceiling.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Nats {
    /// In nats, with three digits unless the format asks for others.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.*}", f.precision().unwrap_or(3), self.as_f64())
    }
}

/// A number with its unit: `1 nat`, `2.5 nats`.
#[must_use]
pub fn in_nats(number: impl fmt::Display) -> String {
    let number = number.to_string();
    let unit = if number == "1" { "nat" } else { "nats" };
    format!("{number} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_nat_is_one() {
        assert_eq!([in_nats(1.0), in_nats("1")], ["1 nat", "1 nat"]);
        let others = [in_nats(0.0), in_nats(0.5), in_nats("11"), in_nats("1.000"), in_nats("1/3")];
        assert_eq!(others, ["0 nats", "0.5 nats", "11 nats", "1.000 nats", "1/3 nats"]);
    }

    #[test]
    fn known_weights() {
        assert_eq!(Nats::weight_of(1.0), Nats::ZERO);
        // ln 2 = 0.693147180559945309..., times 2^20 = 726817.498...
        assert_eq!(Nats::weight_of(0.5).units(), 726_817);
        // the smallest positive double: 1074 ln 2
        assert_eq!(Nats::weight_of(f64::from_bits(1)).units(), 780_601_992);
        // one step below one: 2^-53 nats is nothing in our units
        assert_eq!(Nats::weight_of(1.0 - f64::EPSILON / 2.0), Nats::ZERO);
    }

    #[test]
    fn sums_stop_at_the_ceiling() {
        assert_eq!(Nats::MAX.saturating_add(Nats::from_units(1)), Nats::MAX);
        assert_eq!(Nats::at_most(1e12), Some(Nats::MAX));
        assert_eq!(Nats::at_most(f64::NAN), None);
        assert_eq!(Nats::at_most(-0.5), None);
        assert_eq!(Nats::at_most(1.0).map(Nats::units), Some(Nats::PER_NAT));
    }

    #[test]
    fn printed_in_nats() {
        assert_eq!(Nats::weight_of(0.5).to_string(), "0.693");
        assert_eq!(format!("{:.6}", Nats::from_units(Nats::PER_NAT)), "1.000000");
    }

    proptest! {
        /// exp(-weight) is at least p: the weight is at most -ln p. Checked with exact integers by
        /// the enclosure that decides coins.
        #[test]
        fn weight_is_rounded_down(bits in 1u64..=1.0f64.to_bits()) {
            let p = f64::from_bits(bits);
            let w = Nats::weight_of(p);
            prop_assert!(crate::random::exp_upper_bound_for_tests(u64::from(w.units()), u64::from(Nats::PER_NAT)) >= p);
            // and not by more than two units
            let exact = -p.ln() * f64::from(Nats::PER_NAT);
            prop_assert!(exact - f64::from(w.units()) < 1.001);
        }
    }
}
