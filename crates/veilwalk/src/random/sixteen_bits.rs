//! What the first sixteen bits of a coin's uniform number say about `exp(-a/b)`.
//!
//! `exp(-a/b) = 2^-h` with `h = (a/b)·log₂e`. One multiplication gives the whole part of `128·h`, and
//! a table says between which two numbers of sixteen bits `exp(-a/b)` lies then. They are about one
//! and a half per cent apart, so that fewer than one coin in sixty needs more bits, and unlikely ones
//! hardly ever.
//!
//! # Precision
//!
//! The factor is `2⁶⁴·128·log₂e/b` rounded down by less than one and a bit, so the product, cut to
//! its upper 64 bits, is at most `128·h`, and above `128·h − 2 − a/2⁶⁴·2⁻⁵⁰`; the table allows for
//! that much and more. It ends where `exp(-a/b) < 2⁻¹⁷`: beyond, only sixteen zeros leave any doubt.

/// `log₂e·2¹²⁷`, rounded down.
const LOG2_E: u128 = 245_461_841_629_398_282_873_184_673_143_046_618_760;

/// Entries of the table to a halving.
const PARTS: usize = 1 << PARTS_BITS;
const PARTS_BITS: u32 = 7;

/// `2^(-1/128)·2⁶⁴`, rounded down.
const STEP: u64 = 18_347_121_020_861_646_923;

/// The last entry, which stands for everything beyond as well.
const LAST: usize = 17 * PARTS;

/// A number that starts with less than `heads_below` is below `exp(-a/b)`, one that starts with more
/// than `tails_above` is not.
#[derive(Clone, Copy)]
struct Bounds {
    heads_below: u16,
    tails_above: u16,
}

static TABLE: [Bounds; LAST + 1] = table();

const fn table() -> [Bounds; LAST + 1] {
    let mut table = [Bounds { heads_below: 0, tails_above: 0 }; LAST + 1];
    // Powers of the step from below and from above, in units of 2⁻⁶⁴.
    let (mut below, mut above) = (1u128 << 64, 1u128 << 64);
    let mut i = 0;
    while i < table.len() + 2 {
        if i < table.len() {
            // Rounded up to whole units of 2⁻¹⁶, less one.
            table[i].tails_above = (((above + ((1 << 48) - 1)) >> 48) - 1) as u16;
        }
        if i >= 2 {
            table[i - 2].heads_below = (below >> 48) as u16;
        }
        below = (below * STEP as u128) >> 64;
        above = ((above * (STEP as u128 + 1)) >> 64) + 1;
        i += 1;
    }
    table
}

/// The table for one denominator.
#[derive(Clone, Copy, Debug)]
pub(super) struct SixteenBits {
    /// `2⁶⁴·128·log₂e/b`, rounded down; zero for denominators too small or too large for this.
    factor: u64,
}

impl SixteenBits {
    /// For exponents over this denominator, which is not zero.
    pub(super) const fn new(denominator: u64) -> Self {
        let factor = (LOG2_E / denominator as u128) >> (127 - 64 - PARTS_BITS);
        let fits = factor <= u64::MAX as u128 && denominator <= 1 << 60;
        Self { factor: if fits { factor as u64 } else { 0 } }
    }

    /// Whether a number that starts with these bits is below `exp(-a/b)`, if they are enough to say.
    #[inline]
    pub(super) fn decide(self, beginning: u16, a: u64) -> Option<bool> {
        if self.factor == 0 {
            return None;
        }
        let place = ((u128::from(a) * u128::from(self.factor)) >> 64) as usize;
        let Bounds { heads_below, tails_above } = TABLE[place.min(LAST)];
        // Both are looked at, so that only the doubtful case is a branch.
        let (heads, tails) = (beginning < heads_below, beginning > tails_above);
        if heads | tails { Some(heads) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::enclosure::exp_enclosure;
    use num_bigint::BigUint;
    use proptest::prelude::*;

    #[test]
    fn the_step_is_the_root_of_one_half() {
        let half = BigUint::from(1u8) << (PARTS * 64 - 1);
        assert!(BigUint::from(STEP).pow(PARTS as u32) <= half);
        assert!(BigUint::from(STEP + 1).pow(PARTS as u32) > half);
    }

    /// Holds what sixteen bits decide against an enclosure in whole numbers, at the very thresholds.
    fn check(a: u64, b: u64) -> Result<(), TestCaseError> {
        let (low, high) = exp_enclosure(a, b, 120);
        let bits = SixteenBits::new(b);
        let expected = (-(a as f64) / b as f64).exp() * 65536.0;
        let mut undecided = 0;
        let around = (expected * 0.97) as i64 - 3..=(expected * 1.03) as i64 + 3;
        for beginning in around.filter_map(|number| u16::try_from(number).ok()) {
            match bits.decide(beginning, a) {
                // The whole range of numbers that start like this is on one side.
                Some(true) => prop_assert!(BigUint::from(beginning + 1) << 104u8 <= low),
                Some(false) => prop_assert!(BigUint::from(beginning) << 104u8 >= high),
                None => undecided += 1,
            }
        }
        for far in [0, (expected * 0.9) as u16] {
            prop_assert_ne!(bits.decide(far, a), Some(false), "{} {}", a, b);
        }
        if bits.factor != 0 {
            prop_assert!(f64::from(undecided) <= expected * 0.017 + 2.0, "{a} {b} {undecided}");
        }
        Ok(())
    }

    #[test]
    fn at_the_ends_of_the_range() {
        for b in [1, 184, 185, 186, 1 << 20, (1 << 60) - 1, 1 << 60, (1 << 60) + 1, u64::MAX] {
            for tenths in (0..200).chain([1000, 100_000]) {
                let a = u128::from(b) * tenths / 10;
                check(u64::try_from(a).unwrap_or(u64::MAX), b).unwrap();
            }
        }
    }

    #[test]
    fn certain_heads_need_no_more_bits_but_for_the_last_few() {
        let bits = SixteenBits::new(1000);
        assert!((0..64_000).all(|beginning| bits.decide(beginning, 0) == Some(true)));
        assert_eq!(bits.decide(u16::MAX, 0), None);
    }

    proptest! {
        #[test]
        fn thresholds_hold(nats in 0.0f64..14.0, b in 1u64.., fewer in 0u32..60) {
            let b = (b >> fewer).max(1);
            check((nats * b as f64) as u64, b)?;
        }

        #[test]
        fn thresholds_hold_anywhere(a in any::<u64>(), b in 1u64.., less in 0u32..64, fewer in 0u32..64) {
            check(a >> less, (b >> fewer).max(1))?;
        }
    }
}
