//! Exact parameters: `0.1` means one tenth.
//!
//! A privacy parameter read into a float is already a different number. Here ε, the radius and the
//! chain weight are fractions, parsed from the decimal digits that the user wrote.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use num_bigint::BigUint;
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A non-negative fraction in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "(u64, u64)", into = "(u64, u64)"))]
pub struct Rational {
    numerator: u64,
    denominator: u64,
}

/// Why a text is not an exact number.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RationalError {
    /// Not a decimal number or a fraction.
    #[error("{0:?} is not a number; write a decimal such as 0.5 or a fraction such as 1/3")]
    NotANumber(String),
    /// Below zero.
    #[error("{0:?} is negative; only numbers from zero up make sense here")]
    Negative(String),
    /// A fraction over zero.
    #[error("{0:?} divides by zero")]
    ZeroDenominator(String),
    /// More digits than fit.
    #[error(
        "{0:?} cannot be kept exactly; use at most 18 digits before and after the point together"
    )]
    TooLong(String),
}

/// What sums and products that do not fit are rounded up to: multiples of 10⁻¹².
const GRID: u128 = 1_000_000_000_000;

impl Rational {
    /// Zero.
    pub const ZERO: Self = Self { numerator: 0, denominator: 1 };
    /// One.
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };
    /// One half.
    pub const HALF: Self = Self { numerator: 1, denominator: 2 };

    /// `numerator / denominator` in lowest terms; `None` if the denominator is zero.
    #[must_use]
    pub const fn new(numerator: u64, denominator: u64) -> Option<Self> {
        if denominator == 0 {
            return None;
        }
        let divisor = gcd(numerator as u128, denominator as u128) as u64;
        Some(Self { numerator: numerator / divisor, denominator: denominator / divisor })
    }

    /// A whole number.
    #[must_use]
    pub const fn whole(value: u64) -> Self {
        Self { numerator: value, denominator: 1 }
    }

    /// The part above the line.
    #[must_use]
    pub const fn numerator(self) -> u64 {
        self.numerator
    }

    /// The part below the line, at least one.
    #[must_use]
    pub const fn denominator(self) -> u64 {
        self.denominator
    }

    /// Whether this is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.numerator == 0
    }

    /// The nearest double, for display and analysis.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// The sum, exact where it fits, else rounded up to a multiple of 10⁻¹²; `None` if that does not
    /// fit either, which it does up to 10⁶.
    ///
    /// For adding up what was spent, where more than the truth does no harm.
    #[must_use]
    pub fn add_rounding_up(self, other: Self) -> Option<Self> {
        // Products of two 64-bit numbers fit 128 bits. Their sum may not.
        let (a, b) = (u128::from(self.numerator), u128::from(self.denominator));
        let (c, d) = (u128::from(other.numerator), u128::from(other.denominator));
        if let Some(above) = (a * d).checked_add(c * b) {
            let below = b * d;
            let divisor = gcd(above, below);
            if let (Ok(above), Ok(below)) =
                (u64::try_from(above / divisor), u64::try_from(below / divisor))
            {
                return Self::new(above, below);
            }
        }
        // Below 2¹⁰⁴ each.
        let units = |n: u128, d: u128| (n * GRID).div_ceil(d);
        let sum = u64::try_from(units(a, b) + units(c, d)).ok()?;
        Self::new(sum, GRID as u64)
    }

    /// The product, exact where it fits, else rounded up to a multiple of 10⁻¹²; `None` beyond 10⁶.
    ///
    /// For what was spent, as [`Rational::add_rounding_up`].
    #[must_use]
    pub fn multiply_rounding_up(self, other: Self) -> Option<Self> {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let above = product(self.numerator, other.numerator);
        let below = product(self.denominator, other.denominator);
        let divisor = gcd(above, below);
        let (above, below) = (above / divisor, below / divisor);
        if let (Ok(above), Ok(below)) = (u64::try_from(above), u64::try_from(below)) {
            return Self::new(above, below);
        }
        let whole = above / below;
        if whole >= 1_000_000 {
            return None;
        }
        // Dropping low bits of a proper fraction's two sides, upward above and downward below the
        // line, keeps the quotient from shrinking.
        let (mut rest, mut below) = (above % below, below);
        while below.leading_zeros() < 42 {
            rest = (rest >> 1) + 1;
            below >>= 1;
        }
        let units = whole * GRID + (rest * GRID).div_ceil(below);
        Self::new(u64::try_from(units).ok()?, GRID as u64)
    }

    /// One over this; `None` for zero.
    #[must_use]
    pub const fn inverse(self) -> Option<Self> {
        Self::new(self.denominator, self.numerator)
    }

    /// A fraction at least as large as this double, and above it by less than 2⁻³²; `None` if it is
    /// negative, not a number, or above 10⁶.
    #[must_use]
    pub fn at_least(value: f64) -> Option<Self> {
        const UNITS: u64 = 1 << 32;
        if !(0.0..=1e6).contains(&value) {
            return None;
        }
        // Multiplying by a power of two is exact, and what comes out is below 2⁵².
        Self::new((value * UNITS as f64).ceil() as u64, UNITS)
    }

    /// A fraction at most as large as this double, and below it by less than 2⁻³²; `None` if it is
    /// negative, not a number, or above 10⁶.
    #[must_use]
    pub(crate) fn at_most(value: f64) -> Option<Self> {
        const UNITS: u64 = 1 << 32;
        if !(0.0..=1e6).contains(&value) {
            return None;
        }
        Self::new((value * UNITS as f64).floor() as u64, UNITS)
    }

    /// The largest fraction at most `numerator / denominator` whose parts are below 2³².
    ///
    /// Exact where the reduced parts fit. Otherwise rounded down: to a multiple of 2⁻³¹, or
    /// coarser for values above two, so that 31 leading bits are kept. Rounding down a scale gives
    /// up a little accuracy and no privacy. Values of 2³² and above become 2³² − 1.
    ///
    /// # Panics
    ///
    /// If the denominator is zero.
    #[must_use]
    pub fn floor_to_32_bits(numerator: u128, denominator: u128) -> Self {
        Self::floor_of_products([numerator], [denominator])
    }

    /// The same for a product over a product, however many digits the two have.
    ///
    /// # Panics
    ///
    /// If a factor below the line is zero.
    pub(crate) fn floor_of_products<const N: usize, const D: usize>(
        mut above: [u128; N],
        mut below: [u128; D],
    ) -> Self {
        assert!(below.iter().all(|&factor| factor > 0), "a fraction over zero");
        // Once no factor above the line has a divisor in common with one below it, neither have the
        // two products.
        for a in &mut above {
            for b in &mut below {
                let divisor = gcd(*a, *b);
                (*a, *b) = (*a / divisor, *b / divisor);
            }
        }
        let product = |factors: &[u128]| factors.iter().map(|&f| BigUint::from(f)).product();
        let (above, below): (BigUint, BigUint) = (product(&above), product(&below));
        if let (Ok(numerator), Ok(denominator)) = (u32::try_from(&above), u32::try_from(&below)) {
            return Self { numerator: numerator.into(), denominator: denominator.into() };
        }
        // The largest power of two below the line that keeps the part above it below 2³².
        let scaled = |shift: u32| u32::try_from((&above << shift) / &below).ok();
        let rounded =
            (0..32u32).rev().find_map(|shift| Self::new(scaled(shift)?.into(), 1 << shift));
        rounded.unwrap_or(Self::whole(u32::MAX.into()))
    }
}

/// The greatest common divisor; one for two zeros, so that it can always be divided by.
pub(crate) const fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    if a == 0 { 1 } else { a }
}

impl PartialOrd for Rational {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rational {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = u128::from(self.numerator) * u128::from(other.denominator);
        let right = u128::from(other.numerator) * u128::from(self.denominator);
        left.cmp(&right)
    }
}

impl From<Rational> for (u64, u64) {
    fn from(value: Rational) -> Self {
        (value.numerator, value.denominator)
    }
}

impl TryFrom<(u64, u64)> for Rational {
    type Error = RationalError;

    fn try_from((numerator, denominator): (u64, u64)) -> Result<Self, Self::Error> {
        Self::new(numerator, denominator)
            .ok_or_else(|| RationalError::ZeroDenominator(format!("{numerator}/{denominator}")))
    }
}

impl FromStr for Rational {
    type Err = RationalError;

    /// Reads `2`, `0.25`, `.5`, `1e-3` or `1/3`, exactly.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let not_a_number = || RationalError::NotANumber(text.to_owned());
        let too_long = || RationalError::TooLong(text.to_owned());
        if let Some(rest) = trimmed.strip_prefix('-') {
            if rest.trim_start().starts_with('-') {
                return Err(not_a_number());
            }
            return match rest.parse::<Self>() {
                Ok(_) | Err(RationalError::TooLong(_)) => {
                    Err(RationalError::Negative(text.to_owned()))
                }
                Err(_) => Err(not_a_number()),
            };
        }
        if let Some((above, below)) = trimmed.split_once('/') {
            let above: u64 = above.trim().parse().map_err(|_| not_a_number())?;
            let below: u64 = below.trim().parse().map_err(|_| not_a_number())?;
            return Self::new(above, below)
                .ok_or_else(|| RationalError::ZeroDenominator(text.to_owned()));
        }
        let (mantissa, exponent) = match trimmed.split_once(['e', 'E']) {
            Some((m, e)) => (m, e.parse::<i32>().map_err(|_| not_a_number())?),
            None => (trimmed, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() && fraction.is_empty()
            || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit())
        {
            return Err(not_a_number());
        }
        let fraction = fraction.trim_end_matches('0');
        let digits = format!("{whole}{fraction}");
        let digits = digits.trim_start_matches('0');
        // A whole number may take all 64 bits, so that every fraction can be read as it is shown.
        if digits.len() > 18 && !fraction.is_empty() {
            return Err(too_long());
        }
        let mut above: u64 =
            if digits.is_empty() { 0 } else { digits.parse().map_err(|_| too_long())? };
        let mut below: u64 = 1;
        if above == 0 {
            return Ok(Self::ZERO);
        }
        let places = i64::from(exponent) - fraction.len() as i64;
        let power = u32::try_from(places.unsigned_abs())
            .ok()
            .and_then(|p| 10u64.checked_pow(p))
            .ok_or_else(too_long)?;
        if places < 0 {
            below = power;
        } else {
            above = above.checked_mul(power).ok_or_else(too_long)?;
        }
        Self::new(above, below).ok_or_else(too_long)
    }
}

impl fmt::Display for Rational {
    /// A decimal where that is exact and short, a fraction otherwise.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.denominator == 1 {
            return write!(f, "{}", self.numerator);
        }
        let mut power = 1u64;
        for places in 1..=9usize {
            power *= 10;
            if power.is_multiple_of(self.denominator) {
                let factor = power / self.denominator;
                // No more digits than can be read back.
                let scaled = self.numerator.checked_mul(factor).filter(|&s| s < 10u64.pow(18));
                if let Some(scaled) = scaled {
                    return write!(f, "{}.{:0places$}", scaled / power, scaled % power);
                }
            }
        }
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> (u64, u64) {
        text.parse::<Rational>().unwrap().into()
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(parsed("0.1"), (1, 10));
        assert_eq!(parsed("2.50"), (5, 2));
        assert_eq!(parsed(".5"), (1, 2));
        assert_eq!(parsed("3"), (3, 1));
        assert_eq!(parsed("1e-3"), (1, 1000));
        assert_eq!(parsed("2.5e1"), (25, 1));
        assert_eq!(parsed("2/6"), (1, 3));
        assert_eq!(parsed("0"), (0, 1));
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        use RationalError as E;
        let fail = |t: &str| t.parse::<Rational>().unwrap_err();
        for text in ["", "abc", "NaN", "inf", "1.2.3", "1e", "--1", "+", "1/x", "0x10", "-x"] {
            assert!(matches!(fail(text), E::NotANumber(_)), "{text}: {:?}", fail(text));
        }
        assert!(matches!(fail("-1"), E::Negative(_)));
        assert!(matches!(fail("1/0"), E::ZeroDenominator(_)));
        assert!(matches!(fail("0.1234567890123456789"), E::TooLong(_)));
        assert!(matches!(fail("1e30"), E::TooLong(_)));
    }

    #[test]
    fn printed_as_decimal_or_fraction() {
        for (text, shown) in [("0.50", "0.5"), ("1/3", "1/3"), ("12", "12"), ("1e-3", "0.001")] {
            assert_eq!(text.parse::<Rational>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn sums_are_exact_or_above() {
        let third: Rational = "1/3".parse().unwrap();
        let sum = third.add_rounding_up(third).and_then(|s| s.add_rounding_up(third));
        assert_eq!(sum, Some(Rational::ONE));
        let odd = |n| Rational::new(1, n).unwrap();
        let (a, b) = (odd(10_000_000_000_000_061), odd(9_999_999_999_999_937));
        let sum = a.add_rounding_up(b).unwrap();
        assert!(sum.as_f64() >= 2e-16 && sum.as_f64() <= 2.1e-12, "{sum}");
        let large = Rational::whole(u64::MAX);
        assert_eq!(large.add_rounding_up(large), None);
    }

    #[test]
    fn large_values_are_capped() {
        assert_eq!(Rational::floor_to_32_bits(1 << 90, 3).numerator(), u64::from(u32::MAX));
        assert_eq!(Rational::floor_to_32_bits(1, 1 << 100), Rational::ZERO);
    }

    proptest! {
        #[test]
        fn products_are_exact_or_a_little_above(
            a in 0u64.., b in 1u64.., c in 0u64.., d in 1u64.., shift in 0u32..60,
        ) {
            let (x, y) = (Rational::new(a >> shift, b).unwrap(), Rational::new(c >> shift, d).unwrap());
            let big = num_bigint::BigUint::from;
            let above = big(x.numerator()) * y.numerator();
            let below = big(x.denominator()) * y.denominator();
            match x.multiply_rounding_up(y) {
                // product <= answer <= product + 2·10⁻¹²
                Some(z) => {
                    let exact = &above * z.denominator();
                    let given = &below * z.numerator();
                    prop_assert!(exact <= given);
                    let slack = &below * z.denominator() * 2u32;
                    prop_assert!((given - exact) * GRID <= slack);
                }
                None => prop_assert!(above >= below * 999_999u32),
            }
        }

        #[test]
        fn doubles_are_rounded_up_a_little(value in 0f64..1e6) {
            let fraction = Rational::at_least(value).unwrap();
            let back = fraction.numerator() as f64 / 2f64.powi(32)
                * (2f64.powi(32) / fraction.denominator() as f64);
            prop_assert!(back >= value && back - value <= 2f64.powi(-32));
            prop_assert_eq!(Rational::at_least(-value - 1.0), None);
        }

        #[test]
        fn rounding_to_32_bits_goes_down_and_not_far(n in 1u128..1 << 60, d in 1u128..1 << 60) {
            let r = Rational::floor_to_32_bits(n, d);
            prop_assert!(r.numerator() < 1 << 32 && r.denominator() < 1 << 32);
            // r <= n/d
            prop_assert!(u128::from(r.numerator()) * d <= n * u128::from(r.denominator()));
            let (value, exact) = (r.as_f64(), n as f64 / d as f64);
            if (1e-9..4e9).contains(&exact) {
                prop_assert!(exact - value <= exact * 2f64.powi(-29) + 2f64.powi(-31));
            }
        }

        #[test]
        fn order_is_that_of_the_numbers(a in 0u64..1000, b in 1u64..1000, c in 0u64..1000, d in 1u64..1000) {
            let (x, y) = (Rational::new(a, b).unwrap(), Rational::new(c, d).unwrap());
            prop_assert_eq!(x.cmp(&y), (a * d).cmp(&(c * b)));
        }
    }
}
