//! The noise of `plane`: a whole-number vector, drawn exactly.
//!
//! ```text
//! P(z) ∝ exp(−η·⌈|z|⌉),        z = (north, east), whole numbers of millimetres.
//! ```
//!
//! It is drawn by rejection. Both coordinates of a proposal are discrete Laplace with the rate `ηc`, `c = 45/64`,
//! so its probability is proportional to `exp(−ηc(|north| + |east|))`. It is kept with the probability
//!
//! ```text
//! exp(−η·(⌈|z|⌉ − c(|north| + |east|))),
//! ```
//!
//! which is at most one, since `c < 1/√2` and `|north| + |east| ≤ √2·|z|`. The product of the two is what it should
//! be. All exponents are whole numbers over one denominator, and all coins exact. A proposal is kept with a
//! probability of about `c²·π/2 = 0.78`, and a draw takes about as long wherever the scale is.
//!
//! Noise beyond 2⁶³ mm in a coordinate is cut off there. It is cut off at the edge of the lattice anyway, a long way
//! before.

use crate::mechanism::CostScale;
use crate::outcome::length;
use crate::random::{DiscreteLaplace, ExpCoin, Words};
use crate::rational::Rational;

/// `c`, above and below the line: a little less than `1/√2`.
const ENVELOPE: (u64, u64) = (45, 64);

/// The noise at one scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noise {
    /// What one millimetre costs, over the denominator of the scale.
    per_step: u64,
    proposal: DiscreteLaplace,
    /// Its denominator is that of the scale, times 64.
    coin: ExpCoin,
}

impl Noise {
    /// Noise at this scale, which is above zero and over a power of two.
    pub(super) fn new(scale: CostScale) -> Self {
        let [per_step, ..] = scale.parts();
        // Factors are below 2³¹, and a denominator of a scale without a chain weight at most 2⁵².
        let below = scale.denominator() * ENVELOPE.1;
        let rate = Rational::new(per_step * ENVELOPE.0, below).expect("it is above zero");
        let proposal = DiscreteLaplace::new(rate).expect("a scale is above zero");
        Self { per_step, proposal, coin: ExpCoin::new(below) }
    }

    /// Draws how far to go north and east.
    pub(super) fn draw(&self, words: &mut impl Words) -> (i64, i64) {
        loop {
            let (north, east) = (self.proposal.draw(words), self.proposal.draw(words));
            if self.keep(north.unsigned_abs().into(), east.unsigned_abs().into(), words) {
                return (north, east);
            }
        }
    }

    fn keep(&self, north: u128, east: u128, words: &mut impl Words) -> bool {
        let (above, below) = (u128::from(ENVELOPE.0), u128::from(ENVELOPE.1));
        // Below 2⁷¹, and times a factor below 2³¹.
        let excess = below * u128::from(length(north, east)) - above * (north + east);
        let mut exponent = excess * u128::from(self.per_step);
        // Heads with the product of the probabilities of its parts.
        while exponent > u128::from(u64::MAX) {
            if !self.coin.flip(u64::MAX, words) {
                return false;
            }
            exponent -= u128::from(u64::MAX);
        }
        self.coin.flip(exponent as u64, words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Source;
    use std::collections::HashMap;

    /// The scale that costs so much for each millimetre.
    fn scale(per_step: &str) -> CostScale {
        let per_step: Rational = per_step.parse().unwrap();
        let per_unit = Rational::new(per_step.numerator() << 20, per_step.denominator()).unwrap();
        CostScale::dyadic(per_unit).unwrap()
    }

    /// What one millimetre costs.
    fn rate(scale: CostScale) -> f64 {
        scale.parts()[0] as f64 / scale.denominator() as f64
    }

    /// The law of every vector that is not too rare, and of the shells around the origin.
    #[test]
    fn slow_ten_million_draws_have_the_exact_law() {
        const DRAWS: u32 = 10_000_000;
        for (seed, per_step) in [(1, "1/20"), (2, "1/2"), (3, "2"), (4, "7/5")] {
            let scale = scale(per_step);
            let (noise, eta) = (Noise::new(scale), rate(scale));
            let mut words = Source::seeded(seed).words_for_tests();
            let mut seen: HashMap<(i64, i64), u32> = HashMap::new();
            for _ in 0..DRAWS {
                *seen.entry(noise.draw(&mut words)).or_default() += 1;
            }
            // Beyond this all vectors together are to be expected less than once in a hundred runs.
            let far = (40.0 / eta) as i64 + 3;
            let weight = |n: i64, e: i64| {
                let length = length(n.unsigned_abs().into(), e.unsigned_abs().into());
                (-eta * length as f64).exp()
            };
            let all = || (-far..=far).flat_map(move |n| (-far..=far).map(move |e| (n, e)));
            let total: f64 = all().map(|(n, e)| weight(n, e)).sum();
            let mut counted = 0;
            let (mut chi_squared, mut cells) = (0.0f64, 0.0f64);
            let mut shells: Vec<(f64, f64)> = vec![(0.0, 0.0); 2 * far as usize + 2];
            for (n, e) in all() {
                let expected = f64::from(DRAWS) * weight(n, e) / total;
                let count = seen.get(&(n, e)).copied().unwrap_or(0);
                counted += count;
                let off = (f64::from(count) - expected).abs();
                assert!(
                    off < 6.5 * expected.sqrt() + 5.0,
                    "{per_step}: {n}, {e} came {count} times, and {expected} were to be expected"
                );
                if expected > 20.0 {
                    chi_squared += off * off / expected;
                    cells += 1.0;
                }
                let shell =
                    &mut shells[length(n.unsigned_abs().into(), e.unsigned_abs().into()) as usize];
                (shell.0, shell.1) = (shell.0 + f64::from(count), shell.1 + expected);
            }
            assert_eq!(counted, DRAWS, "{per_step}: some went too far");
            let slack = 5.0 * (2.0 * cells).sqrt() + 5.0;
            assert!((chi_squared - cells).abs() < slack, "{per_step}: {chi_squared} over {cells}");
            // Rare shells, down to those that hardly ever come up.
            for (radius, (count, expected)) in shells.into_iter().enumerate() {
                let off = (count - expected).abs();
                assert!(
                    off < 6.0 * expected.sqrt() + 5.0,
                    "{per_step}: shell {radius}: {count} {expected}"
                );
            }
        }
    }

    /// At the scales of releases: a hundred metres are a hundred thousand steps. The tails are where a mistake would
    /// break the promise first.
    #[test]
    fn slow_large_noise_has_the_right_size() {
        let scale = scale("1/100000");
        let (noise, eta) = (Noise::new(scale), rate(scale));
        let mut words = Source::seeded(5).words_for_tests();
        const DRAWS: u32 = 2_000_000;
        let drawn: Vec<(i64, i64)> = (0..DRAWS).map(|_| noise.draw(&mut words)).collect();
        for nats in [0.01f64, 0.1, 1.0, 3.0, 6.0, 9.0, 12.0] {
            // Of a continuous law: off by some 10⁻⁵ here.
            let radius = nats / eta;
            let beyond = |&&(n, e): &&(i64, i64)| (n as f64).hypot(e as f64) > radius;
            let expected = f64::from(DRAWS) * (1.0 + nats) * (-nats).exp();
            let count = drawn.iter().filter(beyond).count() as f64;
            let p = expected / f64::from(DRAWS);
            let off = 5.0 * (expected * (1.0 - p)).sqrt() + 2.0;
            assert!((count - expected).abs() < off, "beyond {nats} nats: {count}, {expected}");
        }
        // Every direction as often: eight sectors.
        let mut sectors = [0u32; 8];
        for &(n, e) in &drawn {
            let eighth = (n as f64).atan2(e as f64) / std::f64::consts::FRAC_PI_4;
            sectors[(eighth.floor() as i64).rem_euclid(8) as usize] += 1;
        }
        let expected = f64::from(DRAWS) / 8.0;
        let even = sectors.iter().all(|&n| (f64::from(n) - expected).abs() < 6.0 * expected.sqrt());
        assert!(even, "{sectors:?}");
    }

    #[test]
    fn scales_of_every_size() {
        let mut words = Source::seeded(7).words_for_tests();
        let steep = Noise::new(scale("2000"));
        assert!((0..1000).all(|_| steep.draw(&mut words) == (0, 0)));
        let flat = scale("1/20000000");
        let (noise, eta) = (Noise::new(flat), rate(flat));
        let mean = (0..4000)
            .map(|_| noise.draw(&mut words))
            .map(|(n, e)| (n as f64).hypot(e as f64) * eta)
            .sum::<f64>()
            / 4000.0;
        assert!((mean - 2.0).abs() < 0.15, "the mean length is two over the rate: {mean}");
    }

    /// An exponent of more than 64 bits is a product of coins.
    #[test]
    fn lengths_beyond_all_measure_are_thrown_away() {
        let mut words = Source::seeded(8).words_for_tests();
        let noise = Noise::new(scale("2000"));
        assert!(!noise.keep(1 << 62, 1 << 62, &mut words));
        assert!(noise.keep(0, 0, &mut words));
    }

    #[test]
    fn value_stability() {
        let mut words = Source::seeded(6).words_for_tests();
        let noise = Noise::new(scale("1/100"));
        let drawn: Vec<(i64, i64)> = (0..8).map(|_| noise.draw(&mut words)).collect();
        let expected = [
            (-571, 141),
            (44, 61),
            (-185, 32),
            (-114, 166),
            (86, -84),
            (-11, -117),
            (-84, 17),
            (63, 88),
        ];
        assert_eq!(drawn, expected);
    }
}
