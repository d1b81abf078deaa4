//! `exp(-a/b)` between two fractions, as tight as asked for, in whole numbers only.

use num_bigint::BigUint;

/// A pair `(low, high)` with `low ≤ exp(-a/b)·2^bits ≤ high`.
///
/// The argument is halved until it is below one half, `exp` of that is summed as a power series
/// with every term rounded down for one bound and up for the other, inverted, and squared back as
/// often as it was halved. Each halving costs one bit of relative precision and gets one guard bit
/// (32 more cover the series), so the two bounds end a few units apart.
pub(crate) fn exp_enclosure(a: u64, b: u64, bits: u64) -> (BigUint, BigUint) {
    assert!(b > 0, "a fraction over zero");
    let length = |n: u64| u64::BITS - n.leading_zeros();
    let halvings = u64::from((length(a) + 2).saturating_sub(length(b)));
    let places = bits + halvings + 32;
    let scaled = BigUint::from(a) << places;
    let divisor = BigUint::from(b) << halvings;
    let low = exp_below(&(&scaled / &divisor), places);
    let high = exp_above(&ceil_div(&scaled, &divisor), places);
    let one_squared = BigUint::from(1u8) << (2 * places);
    let mut inverse_low = &one_squared / high;
    let mut inverse_high = ceil_div(&one_squared, &low);
    for _ in 0..halvings {
        inverse_low = (&inverse_low * &inverse_low) >> places;
        inverse_high = ceil_shift(&(&inverse_high * &inverse_high), places);
    }
    (inverse_low >> (places - bits), ceil_shift(&inverse_high, places - bits))
}

/// At most `exp(x)`, for `x` and the result in units of 2^-places.
fn exp_below(x: &BigUint, places: u64) -> BigUint {
    let mut term = BigUint::from(1u8) << places;
    let mut sum = BigUint::ZERO;
    let mut k = 0u32;
    while term != BigUint::ZERO {
        sum += &term;
        k += 1;
        term = ((term * x) >> places) / k;
    }
    sum
}

/// At least `exp(x)`, for `x ≤ 1/2` and the result in units of 2^-places.
fn exp_above(x: &BigUint, places: u64) -> BigUint {
    let one_unit = BigUint::from(1u8);
    let mut term = BigUint::from(1u8) << places;
    let mut sum = BigUint::ZERO;
    let mut k = 0u32;
    while term > one_unit {
        sum += &term;
        k += 1;
        term = ceil_div(&ceil_shift(&(term * x), places), &BigUint::from(k));
    }
    // This term is at most one unit, and each later one at most half of the one before it.
    sum + 2u8
}

fn ceil_div(n: &BigUint, d: &BigUint) -> BigUint {
    (n + d - 1u8) / d
}

fn ceil_shift(n: &BigUint, bits: u64) -> BigUint {
    (n + (BigUint::from(1u8) << bits) - 1u8) >> bits
}

/// A double at or above `exp(-a/b)`.
#[cfg(test)]
pub(crate) fn exp_upper_bound_for_tests(a: u64, b: u64) -> f64 {
    // Enough places that even the smallest double keeps its digits.
    let (_, high) = exp_enclosure(a, b, 1200);
    let drop = high.bits().saturating_sub(60);
    let top = u64::try_from(ceil_shift(&high, drop)).unwrap();
    // Rounded up to 53 bits, then scaled in two steps that cannot leave the range early.
    let rounded = (top as f64).next_up();
    rounded * 2f64.powi(drop as i32 - 600) * 2f64.powi(-600)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_digits_of_one_over_e() {
        // floor(2^64 / e), from the published expansion of 1/e
        let (low, high) = exp_enclosure(1, 1, 64);
        let expected = BigUint::from(6_786_177_901_268_885_274u64);
        assert!(low <= expected && expected <= high, "{low} {high}");
        assert!(&high - &low <= BigUint::from(2u8));
        let (low, high) = exp_enclosure(0, 5, 64);
        assert!(low <= BigUint::from(1u8) << 64u8 && BigUint::from(1u8) << 64u8 <= high);
    }

    #[test]
    fn far_beyond_the_precision_the_bounds_are_zero_and_one_unit() {
        let (low, high) = exp_enclosure(u64::MAX, 1, 128);
        assert_eq!((low, high), (BigUint::ZERO, BigUint::from(1u8)));
    }

    proptest! {
        /// Around the double that `exp` gives, and nested: more bits never leave the wider bounds.
        #[test]
        fn tight_nested_and_right(a in 0u64..1 << 40, b in 1u64..1 << 40) {
            prop_assume!(a / b < 40);
            let (low, high) = exp_enclosure(a, b, 128);
            prop_assert!(&high - &low <= BigUint::from(4u8));
            let (finer_low, finer_high) = exp_enclosure(a, b, 192);
            prop_assert!(&low << 64u8 <= finer_low && finer_high <= &high << 64u8);
            let double = (-(a as f64) / (b as f64)).exp() * 2f64.powi(60);
            let ours = u64::try_from(&low >> 68u8).unwrap() as f64;
            prop_assert!((double - ours).abs() <= 2.0 + double * 1e-13, "{double} {ours}");
        }
    }
}
