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

use super::least;
use crate::random::{ExpCoin, Words, uniform_below};

/// Weights for drawing are whole multiples of 2 to the minus this. With fewer than 2²⁴ candidates
/// they add up to less than 2⁶⁴.
const MOST_HALVINGS: u32 = 40;

/// Samples the rule: the place of the candidate that was picked. `halvings` is working space.
#[inline]
pub(super) fn select(
    costs: &[u64],
    coin: &ExpCoin,
    halvings: &mut Vec<u32>,
    words: &mut impl Words,
) -> usize {
    let least = least(costs);
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

/// The same for costs above the cheapest that need more than 64 bits, one of which is zero.
///
/// What does not fit one coin is split over several: `exp(−(a₁ + a₂ + …)/b)` is the probability that
/// coins for `a₁`, `a₂`, … all land heads. The first of them is already as good as sure to be tails.
pub(super) fn select_wide(
    excesses: &[u128],
    coin: &ExpCoin,
    halvings: &mut Vec<u32>,
    words: &mut impl Words,
) -> usize {
    let part = |excess: u128| u64::try_from(excess).unwrap_or(u64::MAX);
    halvings.clear();
    halvings.extend(excesses.iter().map(|&excess| coin.halvings(part(excess), MOST_HALVINGS)));
    let total = total_weight(halvings);
    loop {
        let place = draw(halvings, total, words);
        let first = part(excesses[place]);
        let mut rest = excesses[place] - u128::from(first);
        let mut kept = first == 0 || coin.flip_after(halvings[place], first, words);
        while kept && rest > 0 {
            let next = part(rest);
            rest -= u128::from(next);
            kept = coin.flip(next, words);
        }
        if kept {
            return place;
        }
    }
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

    #[test]
    fn wide_costs_are_drawn_like_narrow_ones() {
        let coin = ExpCoin::new(1000);
        let (mut one, mut two) =
            (Source::seeded(1).words_for_tests(), Source::seeded(1).words_for_tests());
        let costs = [700, 0, 2500, 90_000, 10];
        let wide = costs.map(u128::from);
        let mut space = Vec::new();
        for _ in 0..10_000 {
            let narrow = select(&costs, &coin, &mut space, &mut one);
            assert_eq!(select_wide(&wide, &coin, &mut space, &mut two), narrow);
        }
    }

    /// Over 2^63, a cost of 2^64 + 2^62 is two and a half: two coins, each of which can refuse.
    #[test]
    fn what_does_not_fit_one_coin_takes_several() {
        let coin = ExpCoin::new(1 << 63);
        let costs = [0, (1u128 << 64) + (1 << 62)];
        let mut words = Source::seeded(2).words_for_tests();
        let n = 1_000_000u32;
        let mut space = Vec::new();
        let second = (0..n).map(|_| select_wide(&costs, &coin, &mut space, &mut words) as u32);
        let seen = f64::from(second.sum::<u32>());
        let p = (-2.5f64).exp() / (1.0 + (-2.5f64).exp());
        let deviation = (f64::from(n) * p * (1.0 - p)).sqrt();
        assert!((seen - f64::from(n) * p).abs() < 5.0 * deviation, "{seen}");
        // The second is drawn, its first coin lands heads and its second tails: all again.
        let mut given = Given(vec![u64::MAX, 1, u64::MAX, (1 << 62) + 12345]);
        assert_eq!(select_wide(&costs, &coin, &mut space, &mut given), 0);
        assert!(given.0.is_empty(), "every word was needed");
    }
}
