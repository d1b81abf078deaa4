//! Whole-number noise: the discrete Laplace distribution, exactly.
//!
//! `k` has the probability `(1 − q)/(1 + q) · q^|k|` with `q = exp(−a/b)`. It is made of exact coins alone, as
//! Canonne, Kamath and Steinke do it (2020, algorithm 2):
//!
//! 1. U is uniform among `0, …, b − 1`, and kept with probability `exp(−U/b)`, else drawn again. V counts the
//!    heads of a coin of `1/e` before its first tails. So `X = U + b·V` is `x` with a probability
//!    proportional to `exp(−x/b)`, over all whole numbers from zero up.
//! 2. `⌊X/a⌋` is `k` when X is one of `k·a, …, k·a + a − 1`, which has a probability proportional to
//!    `exp(−k·a/b)`.
//! 3. A fair sign. Minus zero is thrown away, and all of it done again, so that zero counts once.

use super::{ExpCoin, Words, uniform_below};
use crate::rational::Rational;

/// Noise whose odds fall by `exp(−rate)` with every unit.
#[derive(Clone, Copy, Debug)]
pub struct DiscreteLaplace {
    above: u64,
    below: u64,
    part: ExpCoin,
    whole: ExpCoin,
}

impl DiscreteLaplace {
    /// Noise with this rate, which is one over the scale; `None` for a rate of zero, which would be
    /// noise without a bound.
    #[must_use]
    pub fn new(rate: Rational) -> Option<Self> {
        let (above, below) = (rate.numerator(), rate.denominator());
        let (part, whole) = (ExpCoin::new(below), ExpCoin::new(1));
        (above > 0).then_some(Self { above, below, part, whole })
    }

    /// Draws a number. What does not fit into 64 bits is the last number that does.
    pub fn draw(&self, words: &mut impl Words) -> i64 {
        loop {
            let size = self.size(words);
            let negative = words.word() >> 63 == 1;
            if negative && size == 0 {
                continue;
            }
            let size = i64::try_from(size).unwrap_or(i64::MAX);
            return if negative { -size } else { size };
        }
    }

    /// A number from zero up, `k` with a probability proportional to `exp(−k·a/b)`.
    fn size(&self, words: &mut impl Words) -> u128 {
        let part = loop {
            let part = uniform_below(words, self.below);
            if self.part.flip(part, words) {
                break part;
            }
        };
        let mut whole = 0u64;
        while self.whole.flip(1, words) {
            whole += 1;
        }
        (u128::from(whole) * u128::from(self.below) + u128::from(part)) / u128::from(self.above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Source;

    fn noise(rate: &str) -> DiscreteLaplace {
        DiscreteLaplace::new(rate.parse().unwrap()).unwrap()
    }

    /// The exact law, rare outcomes one by one as long as they are to be expected at all, and the tails
    /// beyond as one.
    #[test]
    fn ten_million_draws_have_the_exact_law() {
        const DRAWS: u32 = 10_000_000;
        for (seed, rate) in [(1, "9/200"), (2, "1/2"), (3, "3"), (4, "7/3")] {
            let q = (-rate.parse::<Rational>().unwrap().as_f64()).exp();
            let probability = |k: i64| (1.0 - q) / (1.0 + q) * q.powi(k.unsigned_abs() as i32);
            // Beyond this, fewer than a hundredth of a draw is to be expected on each side.
            let far =
                (0..).find(|&k| f64::from(DRAWS) * probability(k) / (1.0 - q) < 0.01).unwrap();
            let mut counts = vec![0u32; 2 * far as usize + 1];
            let mut beyond = 0;
            let (noise, mut words) = (noise(rate), Source::seeded(seed).words_for_tests());
            for _ in 0..DRAWS {
                match usize::try_from(noise.draw(&mut words) + far) {
                    Ok(place) if place < counts.len() => counts[place] += 1,
                    _ => beyond += 1,
                }
            }
            assert!(beyond <= 1, "{rate}: {beyond} draws that one in fifty runs would have");
            let mut chi_squared = (0.0, 0.0);
            for (place, &count) in counts.iter().enumerate() {
                let k = place as i64 - far;
                let expected = f64::from(DRAWS) * probability(k);
                let off = (f64::from(count) - expected).abs();
                // Six standard deviations, and for the rarest a few draws more.
                assert!(
                    off < 6.0 * expected.sqrt() + 4.0,
                    "{rate}: {k} came {count} times, {expected}"
                );
                if expected > 20.0 {
                    chi_squared.0 += off * off / expected;
                    chi_squared.1 += 1.0;
                }
            }
            let (sum, cells): (f64, f64) = chi_squared;
            assert!(
                (sum - cells).abs() < 5.0 * (2.0 * cells).sqrt() + 5.0,
                "{rate}: {sum} over {cells}"
            );
        }
    }

    /// The signs and the tails, where a mistake would break the promise first.
    #[test]
    fn tails_are_as_heavy_as_they_should_be() {
        let (noise, mut words) = (noise("1/4"), Source::seeded(9).words_for_tests());
        let draws: Vec<i64> = (0..2_000_000).map(|_| noise.draw(&mut words)).collect();
        let q = (-0.25f64).exp();
        for from in [1i64, 10, 25, 40] {
            let expected = draws.len() as f64 * q.powi(from as i32) / (1.0 + q);
            let above = draws.iter().filter(|&&k| k >= from).count() as f64;
            let below = draws.iter().filter(|&&k| k <= -from).count() as f64;
            for found in [above, below] {
                assert!(
                    (found - expected).abs() < 6.0 * expected.sqrt(),
                    "{from}: {found}, {expected}"
                );
            }
        }
    }

    #[test]
    fn rates_of_every_size() {
        assert!(DiscreteLaplace::new(Rational::ZERO).is_none());
        let mut words = Source::seeded(5).words_for_tests();
        let steep = DiscreteLaplace::new(Rational::whole(u32::MAX.into())).unwrap();
        assert!((0..1000).all(|_| steep.draw(&mut words) == 0));
        let flat = DiscreteLaplace::new(Rational::new(1, u32::MAX.into()).unwrap()).unwrap();
        let sizes = (0..1000).map(|_| flat.draw(&mut words).unsigned_abs() as f64);
        let mean = sizes.sum::<f64>() / 1000.0 / f64::from(u32::MAX);
        assert!((mean - 1.0).abs() < 0.2, "the mean size is one over the rate: {mean}");
    }

    #[test]
    fn value_stability() {
        let mut words = Source::seeded(6).words_for_tests();
        let drawn: Vec<i64> = (0..16).map(|_| noise("2/21").draw(&mut words)).collect();
        assert_eq!(drawn, [0, -11, 10, -3, 13, -26, 2, -11, 12, 17, -7, 21, -10, -10, -5, -1]);
    }
}
