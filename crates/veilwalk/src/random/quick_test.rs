//! The quick test of a coin: the first sixteen bits of its uniform number against `exp(-a/b)`, for
//! sixteen coins at a time.
//!
//! `exp(-a/b) = 2^-h` with `h = (a/b)·log₂e`. One multiplication gives `h` as a fixed-point number; a
//! polynomial gives two to the minus its fraction, and a shift does the rest. The result is
//! `exp(-a/b)` in units of 2⁻¹⁶, off by less than [`MARGIN`], so that all but one coin in three
//! thousand are settled. All of it is whole numbers of 32 bits, without a branch or a table, and the
//! compiler does eight or sixteen of them at a time.
//!
//! # Precision
//!
//! Exponents are shifted right until the denominator has at most 27 bits, which loses less than one
//! unit of `a'`. The factor is `2⁴⁷·log₂e/b'` rounded down, and the product is cut to whole units of
//! 2⁻¹⁵. So the fixed-point `h` is never above the real one, and below it by less than
//!
//! - 1 unit for the cut,
//! - `factor/2³² < 2⁻¹⁰` for the shift, which happens only where `b' ≥ 2²⁶`,
//! - `a'/2³² < 1` for the factor.
//!
//! Three units of 2⁻¹⁵ in `h` are less than `3·ln2·2` units of 2⁻¹⁶ in a probability, five, upwards.
//! The polynomial is off by between −4 and 6 units (a test looks at every fraction), and the last
//! shift cuts less than one. Together: between −5 and 11, and the margin is 12. Beyond `h = 31` both
//! the result and the probability are below a unit.

/// How far the result may be from `exp(-a/b)`, in units of 2⁻¹⁶.
const MARGIN: u32 = 12;

/// `log₂e·2¹²⁷`, rounded down.
const LOG2_E: u128 = 245_461_841_629_398_282_873_184_673_143_046_618_760;

/// Bits behind the point of `h`.
const FRACTION_BITS: u32 = 15;

/// As many coins as are decided at once.
pub(super) const COINS: usize = 16;

/// The way from exponents over one denominator to halvings.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuickTest {
    shift: u32,
    /// `2⁴⁷·log₂e` over the shifted denominator, rounded down; zero for denominators that are too
    /// small or too large for this.
    factor: u32,
}

impl QuickTest {
    /// For exponents over this denominator, which is not zero.
    pub(super) const fn new(denominator: u64) -> Self {
        let bits = u64::BITS - denominator.leading_zeros();
        if bits < 17 || bits > 63 {
            return Self { shift: 0, factor: 0 };
        }
        let shift = bits.saturating_sub(27);
        let factor = (LOG2_E / denominator as u128) >> (127 - 32 - FRACTION_BITS - shift);
        Self { shift, factor: factor as u32 }
    }

    /// How often one has to be halved to get `exp(-a/b)`, in units of 2⁻¹⁵: the real number, or up to
    /// three units below. `None` where it does not fit.
    #[inline]
    fn halvings(self, a: u64) -> Option<u32> {
        let excess = a >> self.shift;
        let fits = self.factor != 0 && excess >> 32 == 0;
        fits.then(|| ((excess * u64::from(self.factor)) >> 32) as u32)
    }

    /// The whole part of that.
    #[inline]
    pub(super) fn whole_halvings(self, a: u64) -> Option<u32> {
        Some(self.halvings(a)? >> FRACTION_BITS)
    }

    /// One coin with the probability `2^zeros · exp(-a/b)`, which is at most one, by the first sixteen
    /// bits of its number; `None` if they do not settle it.
    #[inline]
    pub(super) fn decide_one(self, beginning: u16, zeros: u32, a: u64) -> Option<bool> {
        let halvings = self.halvings(a)?;
        // What was cut off may have brought it below.
        let left = halvings.saturating_sub(zeros.checked_mul(1 << FRACTION_BITS)?);
        let probability = exp2_of_minus(left);
        let beginning = u32::from(beginning) + MARGIN;
        (beginning.wrapping_sub(probability) >= 2 * MARGIN).then_some(beginning < probability)
    }

    /// Coins with the probabilities `exp(-(cost - least)/b)`. Each has a quarter of a word, the first
    /// one the lowest.
    #[inline(always)]
    pub(super) fn decide(self, costs: &[u64; COINS], least: u64, words: &[u64; 4]) -> Lanes {
        if self.factor == 0 {
            return Lanes { heads: [0; COINS], open: [1; COINS] };
        }
        // Nothing below can overflow, as the bounds say; the operations that wrap are those which the
        // compiler does several of at a time.
        let mut halvings = [0u32; COINS];
        for (halvings, cost) in halvings.iter_mut().zip(costs) {
            let excess = cost.wrapping_sub(least) >> self.shift;
            let excess = if excess >> 32 == 0 { excess as u32 } else { u32::MAX };
            *halvings = ((u64::from(excess) * u64::from(self.factor)) >> 32) as u32;
        }
        Lanes::new(&halvings, words)
    }
}

/// What sixteen bits say of each coin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    /// A one for those that land heads for certain.
    pub(super) heads: [u8; COINS],
    /// A one for those that are open.
    pub(super) open: [u8; COINS],
}

impl Lanes {
    /// For coins with these halvings, whose probabilities may be off by [`MARGIN`].
    #[inline(always)]
    fn new(halvings: &[u32; COINS], words: &[u64; 4]) -> Self {
        let beginnings = quarters(words);
        let (mut heads, mut open) = ([0u8; COINS], [0u8; COINS]);
        for i in 0..COINS {
            let probability = exp2_of_minus(halvings[i]);
            // Heads for certain when the beginning and one are not above the result less the margin,
            // tails when the beginning is not below the result and the margin.
            let above = u32::from(beginnings[i]) + MARGIN;
            heads[i] = u8::from(above < probability);
            open[i] = u8::from(above.wrapping_sub(probability) < 2 * MARGIN);
        }
        Self { heads, open }
    }
}

/// Two to the minus this many halvings, in units of 2⁻¹⁶.
#[inline(always)]
fn exp2_of_minus(halvings: u32) -> u32 {
    let fraction = halvings & ((1 << FRACTION_BITS) - 1);
    // A cubic that meets 2^-x at four points of [0, 1]. All factors are below 2¹⁷ and 2¹⁵.
    let times = |inner: u32| fraction.wrapping_mul(inner) >> FRACTION_BITS;
    let inner = 15_126u32.wrapping_sub(times(2_588));
    let inner = 45_305u32.wrapping_sub(times(inner));
    let mantissa = 65_532u32.wrapping_sub(times(inner));
    mantissa >> (halvings >> FRACTION_BITS).min(31)
}

/// The quarters of these words, the lowest of each first.
#[inline(always)]
pub(super) fn quarters(words: &[u64; 4]) -> [u16; COINS] {
    let mut bytes = *words;
    bytes.iter_mut().for_each(|word| *word = word.to_le());
    let mut quarters: [u16; COINS] = bytemuck::cast(bytes);
    quarters.iter_mut().for_each(|quarter| *quarter = u16::from_le(*quarter));
    quarters
}

/// Zeros and ones as bits, the first one the lowest.
#[inline(always)]
pub(super) fn bits(ones: &[u8; COINS]) -> u16 {
    let eight = |ones: &[u8]| {
        let ones = u64::from_le_bytes(ones.try_into().expect("eight bytes"));
        // Each one is moved to its place in the top byte.
        (ones.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u16
    };
    eight(&ones[..8]) | eight(&ones[8..]) << 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::enclosure::exp_enclosure;
    use num_bigint::BigUint;
    use proptest::prelude::*;

    #[test]
    fn the_polynomial_is_near_at_every_fraction() {
        // 2^(-1/2^15) by whole numbers, and its powers from below and from above.
        let root = (-std::f64::consts::LN_2 / 32768.0).exp();
        let step = (root * 2f64.powi(100)) as u128;
        let half = BigUint::from(1u8) << ((100u32 << FRACTION_BITS) - 1);
        let slack = 1u128 << 60;
        assert!(BigUint::from(step - slack).pow(1 << FRACTION_BITS) < half);
        assert!(BigUint::from(step + slack).pow(1 << FRACTION_BITS) > half);
        let times = |power: &BigUint, by: u128| (power * by) >> 100u8;
        let (mut low, mut high) = (BigUint::from(1u8) << 100u8, BigUint::from(1u8) << 100u8);
        for halvings in 0..1 << FRACTION_BITS {
            let result = BigUint::from(exp2_of_minus(halvings));
            // −4 ≤ result − power ≤ 6
            assert!((&result + 4u8) << 84u8 >= high, "{halvings}");
            assert!(&result << 84u8 <= &low + (BigUint::from(6u8) << 84u8), "{halvings}");
            low = times(&low, step - slack);
            high = times(&high, step + slack) + 1u8;
        }
    }

    /// One coin, as if it were the only one.
    fn decide(bits: QuickTest, beginning: u16, a: u64) -> Option<bool> {
        let place = usize::from(beginning) % COINS;
        let least = u64::MAX - a;
        let mut costs = [least; COINS];
        costs[place] = u64::MAX;
        let mut words = [0; 4];
        words[place / 4] = u64::from(beginning) << (16 * (place % 4));
        let Lanes { heads, open } = bits.decide(&costs, least, &words);
        match (heads[place], open[place]) {
            (heads, 0) => Some(heads == 1),
            (0, _) => None,
            _ => panic!("heads for certain, and open"),
        }
    }

    /// Holds what sixteen bits decide against an enclosure in whole numbers, at the very thresholds.
    fn check(a: u64, b: u64) -> Result<(), TestCaseError> {
        let (low, high) = exp_enclosure(a, b, 120);
        let bits = QuickTest::new(b);
        let expected = (-(a as f64) / b as f64).exp() * 65536.0;
        let mut undecided = 0;
        let around = expected as i64 - 40..=expected as i64 + 40;
        for beginning in around.filter_map(|number| u16::try_from(number).ok()) {
            let decided = decide(bits, beginning, a);
            // A single coin says the same, or leaves exponents beyond its range open.
            let single = bits.decide_one(beginning, 0, a);
            prop_assert!(single == decided || single.is_none() && bits.halvings(a).is_none());
            match decided {
                // The whole range of numbers that start like this is on one side.
                Some(true) => prop_assert!((BigUint::from(beginning) + 1u8) << 104u8 <= low),
                Some(false) => prop_assert!(BigUint::from(beginning) << 104u8 >= high),
                None => undecided += 1,
            }
        }
        if bits.factor != 0 {
            prop_assert!(undecided <= 2 * MARGIN, "{a} {b} {undecided}");
            for (far, heads) in [(expected * 0.9 - 20.0, true), (expected * 1.1 + 20.0, false)] {
                if (0.0..65536.0).contains(&far) {
                    prop_assert_eq!(decide(bits, far as u16, a), Some(heads), "{} {}", a, b);
                }
            }
        }
        Ok(())
    }

    #[test]
    fn at_the_ends_of_the_range() {
        for b in [1, 65535, 65536, 65537, 1 << 20, 1 << 26, 1 << 27, (1 << 63) - 1, 1 << 63] {
            for tenths in (0..250).chain([1000, 100_000]) {
                let a = u128::from(b) * tenths / 10;
                check(u64::try_from(a).unwrap_or(u64::MAX), b).unwrap();
            }
            check(u64::MAX, b).unwrap();
        }
    }

    /// Holds single coins after some zeros against an enclosure, at the very thresholds.
    fn check_after_zeros(a: u64, b: u64, fewer: u32) -> Result<(), TestCaseError> {
        let bits = QuickTest::new(b);
        let Some(most) = bits.whole_halvings(a) else { return Ok(()) };
        let zeros = most.saturating_sub(fewer);
        let (low, high) = exp_enclosure(a, b, (120 + zeros).into());
        let one = BigUint::from(1u8) << 120u8;
        prop_assert!(BigUint::from(1u8) << (120 + zeros - most) >= low, "a power of two not below");
        let expected = (2f64.powi(zeros as i32) * (-(a as f64) / b as f64).exp() * 65536.0) as i64;
        for number in expected - 40..=expected + 40 {
            let Ok(beginning) = u16::try_from(number) else { continue };
            match bits.decide_one(beginning, zeros, a) {
                Some(true) => prop_assert!((BigUint::from(beginning) + 1u8) << 104u8 <= low),
                Some(false) => {
                    prop_assert!(BigUint::from(beginning) << 104u8 >= high.clone().min(one.clone()))
                }
                None => {}
            }
        }
        Ok(())
    }

    #[test]
    fn each_coin_has_a_place_of_its_own() {
        let sixteen = QuickTest::new(1 << 20);
        for place in 0..COINS {
            let mut costs = [1 << 40; COINS];
            costs[place] = 7;
            let lanes = sixteen.decide(&costs, 7, &[0x8000_8000_8000_8000; 4]);
            assert_eq!((bits(&lanes.heads), bits(&lanes.open)), (1 << place, 0));
        }
    }

    proptest! {
        #[test]
        fn thresholds_hold(nats in 0.0f64..14.0, b in 1u64.., fewer in 0u32..60) {
            let b = (b >> fewer).max(1);
            check((nats * b as f64) as u64, b)?;
        }

        #[test]
        fn thresholds_hold_after_zeros(
            nats in 0.0f64..60.0, b in 1u64.., less in 0u32..60, fewer in 0u32..3
        ) {
            let b = (b >> less).max(1);
            check_after_zeros((nats * b as f64) as u64, b, fewer)?;
        }

        #[test]
        fn thresholds_hold_anywhere(a in any::<u64>(), b in 1u64.., less in 0u32..64, fewer in 0u32..64) {
            check(a >> less, (b >> fewer).max(1))?;
        }
    }
}
