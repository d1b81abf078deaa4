//! Weights of any size: a double with an exponent of its own.
//!
//! What a block can still do adds up to numbers such as `exp(−10⁶)`, far below the smallest double.
//! A weight has a mantissa in (½, 1] and a power of two beside it, so that none is ever zero, sums
//! need no logarithm, and a sampler can use it exactly: a mantissa is a whole number over 2⁵³.

/// `mantissa · 2^exponent`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Weight {
    mantissa: f64,
    exponent: i64,
}

impl Weight {
    pub(crate) const ONE: Self = Self { mantissa: 1.0, exponent: 0 };

    /// `number · 2^exponent`, exactly.
    ///
    /// # Panics
    ///
    /// If the number is not positive, so small that digits are lost, or not finite.
    #[inline]
    pub(crate) fn new(number: f64, exponent: i64) -> Self {
        assert!(number >= f64::MIN_POSITIVE && number.is_finite(), "{number} has no exponent");
        const FRACTION: u64 = (1 << 52) - 1;
        let bits = number.to_bits();
        let power = (bits >> 52) as i64 - 1022;
        // In [½, 1), and ½ itself is one times a half.
        match bits & FRACTION {
            0 => Self { mantissa: 1.0, exponent: exponent + power - 1 },
            fraction => Self {
                mantissa: f64::from_bits(fraction | (1022 << 52)),
                exponent: exponent + power,
            },
        }
    }

    /// In (½, 1]: a whole number of units of 2⁻⁵³.
    #[inline]
    pub(crate) fn mantissa(self) -> f64 {
        self.mantissa
    }

    #[inline]
    pub(crate) fn exponent(self) -> i64 {
        self.exponent
    }

    /// Its logarithm above `2^exponent`, for analysis.
    pub(crate) fn ln_above(self, exponent: i64) -> f64 {
        self.mantissa.ln() + (self.exponent - exponent) as f64 * std::f64::consts::LN_2
    }
}

/// A product of mantissas, not brought back into range: a few of them cannot leave that of doubles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Product {
    number: f64,
    exponent: i64,
}

impl Product {
    #[inline]
    pub(super) fn new(number: f64, exponent: i64) -> Self {
        Self { number, exponent }
    }

    #[inline]
    pub(super) fn exponent(self) -> i64 {
        self.exponent
    }

    #[inline]
    pub(super) fn times(self, other: Self) -> Self {
        Self { number: self.number * other.number, exponent: self.exponent + other.exponent }
    }

    /// In units of `2^exponent`, which is at least its own: exact, or below 2⁻⁹⁰⁰ and maybe zero.
    #[inline]
    pub(super) fn over(self, exponent: i64) -> f64 {
        self.number * power_of_two(self.exponent - exponent)
    }
}

impl From<Weight> for Product {
    #[inline]
    fn from(weight: Weight) -> Self {
        Self { number: weight.mantissa, exponent: weight.exponent }
    }
}

/// `2^power`, for powers up to zero; zero below 2⁻¹⁰⁰⁰.
#[inline]
fn power_of_two(power: i64) -> f64 {
    if power < -1000 { 0.0 } else { f64::from_bits(((power + 1023) as u64) << 52) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_apart_exactly() {
        for (number, mantissa, exponent) in
            [(1.0, 1.0, 0), (0.75, 0.75, 0), (2.0, 1.0, 1), (3.0, 0.75, 2), (0.25, 1.0, -2)]
        {
            assert_eq!(Weight::new(number, 5), Weight { mantissa, exponent: exponent + 5 });
        }
        let mut random = 1u64;
        for _ in 0..10_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = (random >> 11) as f64 * 2f64.powi((random % 700) as i32 - 400);
            if number == 0.0 {
                continue;
            }
            let weight = Weight::new(number, 0);
            assert!(weight.mantissa > 0.5 && weight.mantissa <= 1.0);
            assert_eq!(Product::from(weight).over(weight.exponent), weight.mantissa);
            assert_eq!(weight.mantissa * 2f64.powi(weight.exponent as i32), number);
        }
    }

    #[test]
    fn what_is_far_below_vanishes_and_no_sooner() {
        let one = Product::new(1.0, 0);
        assert_eq!(one.over(3), 0.125);
        assert_eq!(one.over(1000), 2f64.powi(-1000));
        assert_eq!(one.over(1001), 0.0);
        assert_eq!(one.over(1 << 40), 0.0);
        let far = Product::new(0.75, -(1 << 50));
        assert_eq!(far.times(far).over(-(1 << 51)), 0.5625);
    }
}
