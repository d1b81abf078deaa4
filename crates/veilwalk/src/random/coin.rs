//! A coin that lands heads with probability `exp(-a/b)`, exactly.
//!
//! Let U be uniform on [0, 1), its bits known one after the other. The coin is heads when
//! `U < exp(-a/b)`. Four tests, from cheap to dear, each only ever answers when it is sure:
//!
//! 1. Sixteen bits of U against an enclosure of `exp(-a/b)` in whole numbers, for one coin or for
//!    sixteen at a time. Nearly all are settled here.
//! 2. With 64 bits of U: it is at least `2^-(z+1)` when z of its leading bits are zero, and
//!    `exp(-x) = 2^(-x·log₂e)`. If the exponent says that `exp(-x)` is smaller, the coin is tails.
//! 3. `exp` as a double with an interval around it that holds the real value (see
//!    [Precision](#precision)). U is outside that interval except in one case of about 2⁴⁷.
//! 4. Whole numbers: an enclosure of `exp(-a/b)` and more bits of U, in turn, until they part.
//!
//! # Precision
//!
//! The argument `a·(1/b)` goes through four roundings (a, b, the inverse, the product), each a
//! relative 2⁻⁵³, so it is off by less than `x·2⁻⁵⁰·(1/2 + tiny)`. `libm::exp` is off by less than
//! one unit in the last place, a relative 2⁻⁵². Together `exp(-x)` is known to a relative
//! `(x + 1)·2⁻⁵⁰`; the interval used is twice as wide, which also covers the roundings of its own
//! two ends.

use num_bigint::BigUint;

use super::Words;
use super::enclosure::exp_enclosure;
use super::quick_test::QuickTest;

/// How wide the float interval is: a relative `(x + 1)` times this.
const MARGIN: f64 = 1.0 / (1u64 << 49) as f64;

/// log₂e less a relative 2⁻⁴⁰, which outweighs the roundings in an argument and its product with
/// this, so that the product is below the real one.
const LOG2_E_BELOW: f64 = std::f64::consts::LOG2_E * (1.0 - 1.0 / (1u64 << 40) as f64);

/// Coins with probability `exp(-a/b)` for one denominator `b` and any `a`.
#[derive(Clone, Copy, Debug)]
pub struct ExpCoin {
    denominator: u64,
    inverse: f64,
    quick_test: QuickTest,
}

impl ExpCoin {
    /// Coins whose exponents are over this denominator.
    ///
    /// # Panics
    ///
    /// If the denominator is zero.
    #[must_use]
    pub fn new(denominator: u64) -> Self {
        assert!(denominator > 0, "a fraction over zero");
        let quick_test = QuickTest::new(denominator);
        Self { denominator, inverse: 1.0 / denominator as f64, quick_test }
    }

    /// The denominator.
    #[must_use]
    pub fn denominator(&self) -> u64 {
        self.denominator
    }

    /// The first test, for many coins at a time.
    #[inline]
    pub(super) fn quick_test(&self) -> QuickTest {
        self.quick_test
    }

    /// Heads with probability `exp(-a/b)`. Certain heads, for `a = 0`, take no randomness.
    #[inline]
    pub fn flip(&self, a: u64, words: &mut impl Words) -> bool {
        a == 0 || self.flip_after(0, a, words)
    }

    /// Heads with probability `2^zeros · exp(-a/b)`, which must be at most one: the rest of a coin
    /// whose uniform number is known to start with that many zeros.
    #[inline]
    pub(crate) fn flip_after(&self, zeros: u32, a: u64, words: &mut impl Words) -> bool {
        let first = words.word();
        self.quick_test
            .decide_one((first >> 48) as u16, zeros, a)
            .unwrap_or_else(|| self.flip_later(first, zeros, a, words))
    }

    /// Sixteen bits of the 64 that are known were not enough.
    #[cold]
    #[inline(never)]
    pub(super) fn flip_later(
        &self,
        first: u64,
        zeros: u32,
        a: u64,
        words: &mut impl Words,
    ) -> bool {
        self.decide(first, zeros, a, MARGIN).unwrap_or_else(|| self.settle(first, zeros, a, words))
    }

    /// Some `k ≤ most` with `exp(-a/b) ≤ 2^-k`, the largest but for rounding.
    #[inline]
    pub(crate) fn halvings(&self, a: u64, most: u32) -> u32 {
        self.quick_test.whole_halvings(a).unwrap_or_else(|| self.many_halvings(a)).min(most)
    }

    /// The same where there are more than the first test counts.
    #[cold]
    fn many_halvings(&self, a: u64) -> u32 {
        // The cast takes the whole part and holds at the largest number there is.
        (a as f64 * self.inverse * LOG2_E_BELOW) as u32
    }

    /// Tests 2 and 3: whether a number that starts with `zeros` zeros and then these 64 bits is
    /// below `exp(-a/b)`.
    #[inline]
    fn decide(&self, first: u64, zeros: u32, a: u64, margin: f64) -> Option<bool> {
        if first == 0 {
            return None;
        }
        let x = a as f64 * self.inverse;
        if x * LOG2_E_BELOW > f64::from(zeros) + f64::from(first.leading_zeros() + 1) {
            return Some(false);
        }
        // Beyond 63 zeros, `x` less their logarithm: that much rounds twice more, by a relative 2⁻⁵³ of
        // at most `x` each, which the margin covers as well.
        let p = match zeros {
            0..=63 => libm::exp(-x) * (1u64 << zeros) as f64,
            _ => libm::exp(f64::from(zeros) * std::f64::consts::LN_2 - x),
        };
        let slack = p * ((x + 1.0) * margin);
        // What follows the zeros is in [u, u + 1) · 2^-63.
        let u = first >> 1;
        let scale = 2f64.powi(63);
        if u < ((p - slack) * scale) as u64 {
            Some(true)
        } else if u >= ((p + slack) * scale).ceil() as u64 {
            Some(false)
        } else {
            None
        }
    }

    /// Test 4: as many further bits, and as tight an enclosure, as it takes.
    #[cold]
    fn settle(&self, first: u64, zeros: u32, a: u64, words: &mut impl Words) -> bool {
        let mut number = BigUint::from(first);
        let mut bits = u64::from(zeros) + 64;
        loop {
            let (low, high) = exp_enclosure(a, self.denominator, bits + 64);
            if (&number + 1u8) << 64u8 <= low {
                return true;
            }
            if &number << 64u8 >= high {
                return false;
            }
            number = (number << 64u8) + words.word();
            bits += 64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Source, Stream};
    use proptest::prelude::*;

    /// Counts words, and can put chosen ones first.
    struct Counted {
        given: Vec<u64>,
        rest: Stream,
        taken: usize,
    }

    impl Words for Counted {
        fn word(&mut self) -> u64 {
            self.taken += 1;
            if self.given.is_empty() { self.rest.word() } else { self.given.remove(0) }
        }
    }

    fn starting_with(given: &[u64]) -> Counted {
        Counted { given: given.to_vec(), rest: Source::seeded(3).words_for_tests(), taken: 0 }
    }

    #[test]
    fn heads_as_often_as_they_should_be() {
        let mut words = Source::seeded(5).words_for_tests();
        for (a, b) in [(1, 1000), (1, 3), (1, 1), (5, 2), (9, 1)] {
            let coin = ExpCoin::new(b);
            let n = 1_000_000;
            let heads = (0..n).filter(|_| coin.flip(a, &mut words)).count() as f64;
            let p = (-(a as f64) / b as f64).exp();
            let deviation = (f64::from(n) * p * (1.0 - p)).sqrt();
            assert!((heads - f64::from(n) * p).abs() < 5.0 * deviation, "exp(-{a}/{b}): {heads}");
        }
    }

    /// With the interval widened by this factor the float test can hardly ever answer.
    const USELESS: f64 = MARGIN * (1u64 << 52) as f64;

    #[test]
    fn the_slow_path_agrees_with_the_fast_one() {
        let mut words = Source::seeded(11).words_for_tests();
        let mut forced = 0;
        for round in 0..200_000u64 {
            let coin = ExpCoin::new(1 + words.word() % 5000);
            let a = 1 + words.word() % (coin.denominator * 20);
            // Words near the threshold as well as anywhere.
            let p = (-(a as f64) * coin.inverse).exp();
            let first = match round % 2 {
                0 => words.word(),
                _ => ((p * 2f64.powi(64)) as u64).saturating_add(words.word() >> 20).max(1),
            };
            let fast = coin.decide(first, 0, a, MARGIN).expect("decided but for one case in 2^47");
            if coin.decide(first, 0, a, USELESS).is_none() {
                forced += 1;
            }
            let mut rest = starting_with(&[]);
            assert_eq!(coin.settle(first, 0, a, &mut rest), fast, "a {a}, b {}", coin.denominator);
            assert_eq!(rest.taken, 0, "64 bits were enough");
        }
        assert!(forced > 10_000, "the widened interval sends coins down the slow path: {forced}");
    }

    #[test]
    fn on_the_edge_more_bits_decide() {
        // The first 64 bits of 1/e itself: only the next word can tell.
        let edge = 6_786_177_901_268_885_274u64;
        let coin = ExpCoin::new(1);
        assert_eq!(coin.decide(edge, 0, 1, MARGIN), None);
        let mut below = starting_with(&[edge, 0]);
        assert!(coin.flip(1, &mut below));
        assert_eq!(below.taken, 2);
        let mut above = starting_with(&[edge, u64::MAX]);
        assert!(!coin.flip(1, &mut above));
        assert_eq!(above.taken, 2);
    }

    #[test]
    fn probabilities_below_any_double_are_still_right() {
        // exp(-1000) is about 2^-1442.7: 22 zero words and then a bit in the right place.
        let coin = ExpCoin::new(1);
        let mut words = starting_with(&[vec![0; 22], vec![1]].concat());
        assert!(coin.flip(1000, &mut words), "2^-1472 is below");
        let mut words = starting_with(&[vec![0; 22], vec![1 << 63]].concat());
        assert!(!coin.flip(1000, &mut words), "2^-1409 is above");
        let mut words = starting_with(&[vec![0; 22], vec![1 << 29]].concat());
        assert!(coin.flip(1000, &mut words), "2^-1443 is below");
        let mut words = starting_with(&[vec![0; 22], vec![1 << 30]].concat());
        assert!(!coin.flip(1000, &mut words), "2^-1442 is above");
        // An exponent no enclosure can hold is tails at the first bit that is set.
        assert!(!coin.flip(u64::MAX, &mut starting_with(&[0, 0, 1])));
    }

    /// A coin taken up after some zeros is the whole coin, given those zeros.
    #[test]
    fn known_zeros_are_the_same_as_drawn_ones() {
        let mut words = Source::seeded(12).words_for_tests();
        for _ in 0..20_000 {
            let coin = ExpCoin::new(1 + words.word() % 5000);
            let a = 1 + words.word() % (coin.denominator * 30);
            let zeros = coin.halvings(a, 40);
            assert!(
                f64::from(zeros) <= a as f64 / coin.denominator as f64 * std::f64::consts::LOG2_E
            );
            let (one, two) = (words.word(), words.word());
            let split = coin.flip_after(zeros, a, &mut starting_with(&[one, two]));
            let bits = (u128::from(one) << 64 | u128::from(two)) >> zeros;
            let whole = coin.flip(
                a,
                &mut starting_with(&[(bits >> 64) as u64, bits as u64, two << (64 - zeros.max(1))]),
            );
            assert_eq!(split, whole);
            assert_eq!(split, coin.settle(one, zeros, a, &mut starting_with(&[two])));
        }
    }

    #[test]
    fn certain_heads_take_no_words() {
        let mut words = starting_with(&[]);
        assert!(ExpCoin::new(7).flip(0, &mut words));
        assert_eq!(words.taken, 0);
    }

    #[test]
    fn value_stability() {
        let mut words = Source::seeded(4).words_for_tests();
        let coin = ExpCoin::new(10);
        let flips: String =
            (0..32).map(|i| if coin.flip(i % 23, &mut words) { 'H' } else { 't' }).collect();
        assert_eq!(flips, "HHtHHtHttHHttttHtHtttttHHHttHtHH");
    }

    proptest! {
        /// The float interval holds the real value: what it decides is what whole numbers decide.
        #[test]
        fn the_interval_is_wide_enough(
            a in 1u64..u64::MAX, b in 1u64..u64::MAX, offset in -4096i64..4096
        ) {
            prop_assume!(a / b < 44);
            let coin = ExpCoin::new(b);
            let (low, _) = exp_enclosure(a, b, 64);
            let threshold = u64::try_from(low).unwrap_or(u64::MAX);
            let first = threshold.saturating_add_signed(offset).max(1);
            if let Some(heads) = coin.decide(first, 0, a, MARGIN) {
                prop_assert_eq!(heads, coin.settle(first, 0, a, &mut starting_with(&[])));
            }
        }

        /// Test 2 is right wherever it answers.
        #[test]
        fn leading_zeros_never_refuse_wrongly(a in 1u64..1 << 40, b in 1u64..1 << 34, zeros in 0u32..63) {
            let coin = ExpCoin::new(b);
            let first = 1u64 << (63 - zeros);
            if let Some(heads) = coin.decide(first, 0, a, MARGIN) {
                prop_assert_eq!(heads, coin.settle(first, 0, a, &mut starting_with(&[])));
            }
        }
    }
}
