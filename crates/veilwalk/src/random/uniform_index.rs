//! Uniform indices without bias.

use super::Words;

/// A uniformly random number below `bound`, exactly.
///
/// Multiplies a word by the bound and keeps the upper half, drawing again in the few cases that
/// would favour some results (Lemire 2019). A bound of one takes no word.
///
/// # Panics
///
/// If `bound` is zero.
#[inline]
pub fn uniform_below(words: &mut impl Words, bound: u64) -> u64 {
    if bound == 1 { 0 } else { uniform_below_starting(words.word(), words, bound) }
}

/// The same with the first word drawn already.
#[inline]
pub(crate) fn uniform_below_starting(first: u64, words: &mut impl Words, bound: u64) -> u64 {
    assert!(bound > 0, "there is no number below zero");
    let mut product = u128::from(first) * u128::from(bound);
    if (product as u64) < bound {
        let threshold = bound.wrapping_neg() % bound;
        while (product as u64) < threshold {
            product = u128::from(words.word()) * u128::from(bound);
        }
    }
    (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Given, Source};

    #[test]
    fn the_biased_words_are_drawn_again() {
        // 2^64 = 1 (mod 3): the one product with a low half of 0 would make zero too common.
        assert_eq!(uniform_below(&mut Given(vec![0, 1 << 63]), 3), 1);
        assert_eq!(uniform_below(&mut Given(vec![1]), 3), 0);
        assert_eq!(uniform_below(&mut Given(vec![u64::MAX]), 3), 2);
        assert_eq!(uniform_below(&mut Given(vec![]), 1), 0);
    }

    #[test]
    fn every_index_comes_up_as_often() {
        let mut words = Source::seeded(1).words_for_tests();
        let mut counts = [0u32; 7];
        for _ in 0..700_000 {
            counts[uniform_below(&mut words, 7) as usize] += 1;
        }
        // six standard deviations
        assert!(counts.iter().all(|&c| (f64::from(c) - 1e5).abs() < 6.0 * 293.0), "{counts:?}");
    }

    #[test]
    fn value_stability() {
        let mut words = Source::seeded(2).words_for_tests();
        let drawn: Vec<u64> = (0..12).map(|_| uniform_below(&mut words, 1000)).collect();
        assert_eq!(drawn, [464, 475, 879, 273, 843, 449, 431, 417, 206, 52, 182, 668]);
    }
}
