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
    let least = *costs.iter().min().expect("every state has a successor");
    halvings.clear();
    halvings.extend(costs.iter().map(|&cost| coin.halvings(cost - least, MOST_HALVINGS)));
    let weight = |k: u32| 1u64 << (MOST_HALVINGS - k);
    let total = halvings.iter().map(|&k| weight(k)).sum();
    loop {
        let mut rest = uniform_below(words, total);
        let place = halvings.iter().position(|&k| {
            let here = rest < weight(k);
            rest = rest.saturating_sub(weight(k));
            here
        });
        let place = place.expect("what was drawn is below the total");
        let excess = costs[place] - least;
        if excess == 0 || coin.flip_after(halvings[place], excess, words) {
            return place;
        }
    }
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
