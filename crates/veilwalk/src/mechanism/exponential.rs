//! The exponential rule: pick candidate `y` with probability proportional to `exp(−c(y))`.
//!
//! # Privacy
//!
//! **Claim.** If the costs of two real states differ by at most δ on every candidate, the
//! probabilities of every outcome differ by a factor of at most `exp(2δ)`.
//!
//! **Proof.** `K(y) = exp(−c(y)) / Z` with `Z = Σ_j exp(−c(j))`. The numerator changes by a factor
//! of at most `exp(δ)`, and so does every term of `Z`, hence `Z`. ∎
//!
//! **Claim, hamming distance without chain weight.** With `c(y) = η` for `y ≠ x` and `0` for
//! `y = x`, the factor is at most `exp(η)` for any two real states.
//!
//! **Proof.** Let `n` be the number of candidates. If `x` is one of them, `K(x) = 1/Z₁` and
//! `K(y) = e^{−η}/Z₁` for the others, with `Z₁ = 1 + (n−1)e^{−η}`; if it is not, `K(y) = 1/n`. Two
//! real states among the candidates have the same `Z₁`, so the factor is `e^{η}` or less. Between
//! one among them and one that is not, the ratios are `n/Z₁` and `n·e^{−η}/Z₁`, and
//! `n·e^{−η} ≤ Z₁ ≤ n` puts both within `[e^{−η}, e^{η}]`. ∎
//!
//! So the scale is `ε/b` there, and the kernel is that of Chen et al. with
//! `τ = 1 / (1 + (n−1)·exp(−ε/b))`.
//!
//! # How it is sampled
//!
//! By rejection, without any normaliser. Let `k_y` be a whole number with
//! `exp(c_min − c(y)) ≤ 2^{−k_y}`. A candidate is drawn in proportion to `2^{−k_y}`, which whole
//! numbers do exactly, and kept with probability `2^{k_y}·exp(c_min − c(y))`, by an exact coin; else
//! everything starts again. What is kept is distributed in proportion to the product,
//! `exp(−c(y))`. Any `k_y` with the property will do; the largest makes the coin come up heads at
//! least every second time, so that two tries are enough on average however many candidates there
//! are.
//!
//! In a [block](super::block) candidates have a weight besides their cost, and are picked in
//! proportion to `weight·exp(−cost)`. A weight is `m·2^e` with `m` in (½, 1], a whole number over 2⁵³.
//! Its power of two joins the halvings, and `m` is one more coin that has to land heads: 53 random bits
//! are compared with it. Four tries are enough on average.

use super::block::Weight;
use crate::random::{ExpCoin, Words, uniform_below};

/// Weights for drawing are whole multiples of 2 to the minus this. A chain has fewer than 2²⁴
/// candidates after any state ([`Chain::MOST_SUCCESSORS`](crate::Chain::MOST_SUCCESSORS)), so they
/// add up to less than 2⁶⁴.
const MOST_HALVINGS: u32 = 40;

/// Samples the rule: the place of the candidate that was picked. `least` is the smallest cost, and
/// `halvings` is working space.
#[inline]
pub(super) fn select(
    costs: &[u64],
    least: u64,
    coin: &ExpCoin,
    halvings: &mut Vec<u32>,
    words: &mut impl Words,
) -> usize {
    halvings.clear();
    halvings.extend(costs.iter().map(|&cost| coin.halvings(cost - least, MOST_HALVINGS)));
    let total = total_weight(halvings);
    loop {
        let place = draw(halvings, total, words);
        let excess = costs[place] - least;
        if excess == 0 || coin.flip_after(halvings[place], excess, words) {
            return place;
        }
    }
}

/// A candidate in a block: what it costs above the cheapest, and the weight of what follows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weighed {
    pub(super) cost: u64,
    pub(super) weight: Weight,
}

impl Weighed {
    /// A power of two that `weight·exp(−cost)` is at most; not much above it.
    #[inline]
    fn power(&self, coin: &ExpCoin) -> i64 {
        self.weight.exponent() - i64::from(coin.halvings(self.cost, u32::MAX))
    }

    /// Heads with probability `weight·exp(−cost)` over that power.
    #[inline]
    fn flip(&self, coin: &ExpCoin, words: &mut impl Words) -> bool {
        let mantissa = self.weight.mantissa();
        (mantissa == 1.0 || ((words.word() >> 11) as f64) < mantissa * (1u64 << 53) as f64)
            && (self.cost == 0
                || coin.flip_after(coin.halvings(self.cost, u32::MAX), self.cost, words))
    }
}

/// The same for candidates with a weight: in proportion to `weight·exp(−cost)`.
#[inline]
pub(super) fn select_weighed(
    candidates: &[Weighed],
    coin: &ExpCoin,
    halvings: &mut Vec<u32>,
    words: &mut impl Words,
) -> usize {
    let powers = candidates.iter().map(|candidate| candidate.power(coin));
    let largest = powers.clone().max().expect("every state has a successor");
    halvings.clear();
    let most = i64::from(MOST_HALVINGS);
    halvings.extend(powers.map(|power| (largest - power).min(most) as u32));
    let total = total_weight(halvings);
    loop {
        let place = draw(halvings, total, words);
        let candidate = &candidates[place];
        // The halvings that were more than a draw can count.
        let more = largest - candidate.power(coin) - i64::from(halvings[place]);
        if all_zero(more, words) && candidate.flip(coin, words) {
            return place;
        }
    }
}

/// Whether this many random bits are all zero.
fn all_zero(mut bits: i64, words: &mut impl Words) -> bool {
    while bits > 0 {
        let taken = bits.min(64);
        if words.word() >> (64 - taken) != 0 {
            return false;
        }
        bits -= taken;
    }
    true
}

#[inline]
fn weight(halvings: u32) -> u64 {
    1 << (MOST_HALVINGS - halvings)
}

#[inline]
fn total_weight(halvings: &[u32]) -> u64 {
    halvings.iter().map(|&k| weight(k)).sum()
}

/// A place in proportion to 2 to the minus its halvings.
#[inline]
fn draw(halvings: &[u32], total: u64, words: &mut impl Words) -> usize {
    let mut rest = uniform_below(words, total);
    let place = halvings.iter().position(|&k| {
        let here = rest < weight(k);
        rest = rest.saturating_sub(weight(k));
        here
    });
    place.expect("what was drawn is below the total")
}

/// The logarithms of the outcome probabilities, given how much each candidate costs above the
/// cheapest, in nats.
pub(super) fn log_kernel(excess: &[f64], out: &mut [f64]) {
    let log_total = excess.iter().map(|e| (-e).exp()).sum::<f64>().ln();
    for (slot, e) in out.iter_mut().zip(excess) {
        *slot = -e - log_total;
    }
}

/// The outcome probabilities, given the acceptance probabilities `exp(c_min − c)`.
pub(super) fn kernel(accept: &[f64], out: &mut [f64]) {
    let total: f64 = accept.iter().sum();
    for (slot, p) in out.iter_mut().zip(accept) {
        *slot = p / total;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Given, Source};

    /// Weights of one change nothing, not even which words are taken.
    #[test]
    fn candidates_of_weight_one_are_drawn_as_without() {
        let coin = ExpCoin::new(1000);
        let (mut one, mut two) =
            (Source::seeded(1).words_for_tests(), Source::seeded(1).words_for_tests());
        let costs = [700, 0, 2500, 20_000, 10];
        let weighed = costs.map(|cost| Weighed { cost, weight: Weight::ONE });
        let mut space = Vec::new();
        for _ in 0..10_000 {
            let plain = select(&costs, 0, &coin, &mut space, &mut one);
            assert_eq!(select_weighed(&weighed, &coin, &mut space, &mut two), plain);
        }
    }

    /// What is picked is in proportion to the product, where weight and cost pull the same way and
    /// where they do not, by hundreds of nats.
    #[test]
    fn weights_count_as_much_as_costs() {
        let denominator = 1000u64;
        let coin = ExpCoin::new(denominator);
        let weight = |nats: f64| {
            let bits = nats * std::f64::consts::LOG2_E;
            let whole = bits.floor();
            Weight::new((bits - whole).exp2(), whole as i64)
        };
        // Costs in nats, and logarithms of weights.
        let cases: [&[(f64, f64)]; 4] = [
            &[(0.0, 0.0), (1.0, 0.7), (3.0, 3.3)],
            &[(0.0, -600.0), (599.5, 0.0), (601.0, 1.0), (2.0, -600.0)],
            &[(0.0, 0.0), (0.3, 0.2), (20.0, -14.0), (9.0, 6.0)],
            &[(0.0, -40.0), (36.0, -1.0), (2.0, -36.3)],
        ];
        let mut words = Source::seeded(7).words_for_tests();
        let mut space = Vec::new();
        for case in cases {
            let candidates: Vec<Weighed> = case
                .iter()
                .map(|&(cost, log)| {
                    let cost = (cost * denominator as f64).round() as u64;
                    Weighed { cost, weight: weight(log) }
                })
                .collect();
            let logs: Vec<f64> = case.iter().map(|(cost, log)| log - cost).collect();
            let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = logs.iter().map(|log| (log - most).exp()).sum();
            let n = 400_000u32;
            let mut seen = vec![0u32; case.len()];
            for _ in 0..n {
                seen[select_weighed(&candidates, &coin, &mut space, &mut words)] += 1;
            }
            for (&seen, log) in seen.iter().zip(logs) {
                let p = (log - most).exp() / total;
                let deviation = (f64::from(n) * p * (1.0 - p)).sqrt();
                let apart = (f64::from(seen) - f64::from(n) * p).abs();
                assert!(apart < 5.0 * deviation + 1.0, "{case:?}: {seen} of {n} at {p}");
            }
        }
    }

    /// A candidate that is far below all others still has its chance: 45 zero bits, five of which the
    /// draw does not count, and a mantissa of three quarters.
    #[test]
    fn every_bit_of_an_unlikely_candidate_is_asked_for() {
        let coin = ExpCoin::new(1);
        let candidates = [
            Weighed { cost: 0, weight: Weight::ONE },
            Weighed { cost: 0, weight: Weight::new(1.5, -46) },
        ];
        let mut space = Vec::new();
        let mut pick = |given: &[u64]| {
            let mut words = Given(given.to_vec());
            let place = select_weighed(&candidates, &coin, &mut space, &mut words);
            assert!(words.0.is_empty(), "every word was needed");
            place
        };
        let (first, second) = (1 << 60, u64::MAX);
        let quarter = 1u64 << 62;
        assert_eq!(pick(&[first]), 0);
        assert_eq!(pick(&[second, 0, 3 * quarter - 1]), 1);
        assert_eq!(pick(&[second, 0, 3 * quarter, first]), 0);
        assert_eq!(pick(&[second, 1 << 59, first]), 0);
        assert_eq!(pick(&[second, (1 << 59) - 1, 0]), 1);
    }
}
