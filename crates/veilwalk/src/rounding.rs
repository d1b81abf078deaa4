//! How far a computed logarithm of a kernel can be from the real one, and rounding outward.
//!
//! Kernels are computed in doubles, so a loss read off them is only nearly right. Here is by how
//! much, so that what is reported can be an upper bound. Write u = 2⁻⁵³ for the unit of rounding, n
//! for the number of candidates, and `L` for the logarithm of a probability.
//!
//! **Costs.** A cost above the cheapest is a quotient of whole numbers; converting both and
//! dividing are three roundings, so the excess `e` is off by at most `3u·e` (to first order, here
//! and below; the constants leave room for the rest). `exp` is good to two units, so with
//! `p·e ≤ 1/2` for `p = exp(−e)`, the computed `p` is off by at most `2u + 1.5u = 3.5u` in absolute
//! terms.
//!
//! **Exponential rule.** `L = −e − ln Σ exp(−e_j)`. Every term is off by a relative `2u + 3u·e_j`,
//! the sum of n positive terms by `n·u` more, and `Σ e_j p_j / Σ p_j ≤ ln n` (the entropy of the
//! distribution is `ln Σ p_j` plus that mean). So L is off by at most
//! `u·(3e + 2 + 3 ln n + n + 2 ln n + |L|)`.
//!
//! **Permute-and-flip.** `L = −e + ln I` with `I = ∫₀¹ Π_{j≠y} (1 − p_j v) dv`, a sum
//! `Σ_k w_k Π_j g_j(v_k)` over the nodes of a quadrature that is exact for this polynomial.
//!
//! - Let every computed factor be within `a` of the real one. *One factor moves the sum by a
//!   relative 2a at most:* the other factors' product `h` and `g_j` are both non-negative and
//!   decreasing in v, so by Chebyshev's sum inequality `Σ w h g_j ≥ (Σ w h)(Σ w g_j)`, and
//!   `Σ w g_j = 1 − p_j/2 ≥ 1/2`. So adding `a` to `g_j` adds `a·Σ w h ≤ 2a·Σ w h g_j`. The factors
//!   raised by `a` (or lowered, and cut off at zero) still decrease, so they can be moved one after
//!   the other, and n of them change the sum by a relative `2an` at most.
//! - `a` is made of the error of `p` (3.5u), the product and the difference (2u), and the error of
//!   the node, taken as 8u. That is at most 14u, and `28n·u` for the sum.
//! - Weights are taken as good to a relative `8n·u`; product, quotient, weight and summation round
//!   `n + 2 + n/2` times; the logarithm adds `2u·ln n`, since `1/n ≤ I ≤ 1`.
//! - Products that underflow are below `n²·2⁻¹⁰²²`, nothing beside `I ≥ 1/n`.
//!
//! Both rules together: `|L| ≥ e` up to `ln n`, and everything is below
//! `u·(40n + 6|L| + 16 ln n + 8)`, so an allowance of `64u·(n + |L| + 1)` covers it. The two
//! figures taken for nodes and weights are not derived; a test compares whole kernels with ones
//! computed in 1,200-bit integers, where the largest error found is a small part of the allowance.

use crate::rational::Rational;

/// An upper bound on the error of one computed log-probability, for this many candidates and
/// logarithms of at most this size.
#[must_use]
pub fn log_kernel_error(candidates: usize, largest_log: f64) -> f64 {
    (candidates as f64 + largest_log + 1.0) * 2f64.powi(-47)
}

/// At least the real sum of two non-negative numbers.
pub(crate) fn add_up(a: f64, b: f64) -> f64 {
    (a + b).next_up()
}

/// At least the real quotient of two non-negative numbers, of which the second is positive.
pub(crate) fn divide_up(a: f64, b: f64) -> f64 {
    if a == 0.0 { 0.0 } else { (a / b).next_up() }
}

/// At least the real mean of `count` numbers whose computed sum this is, when the sum was made of
/// two levels of at most `terms` additions each.
pub(crate) fn mean_up(sum: f64, count: u64, terms: usize) -> f64 {
    if count == 0 || sum == 0.0 {
        return 0.0;
    }
    let slack = 1.0 + (2.0 * terms as f64 + 4.0) * f64::EPSILON;
    sum / count as f64 * slack
}

/// At least the fraction.
pub(crate) fn above(value: Rational) -> f64 {
    value.as_f64() * (1.0 + 4.0 * f64::EPSILON)
}

/// At most the fraction. (Converting the two parts and dividing are three roundings.)
pub(crate) fn below(value: Rational) -> f64 {
    value.as_f64() * (1.0 - 4.0 * f64::EPSILON)
}

/// A non-negative figure with this many decimals, rounded up.
pub(crate) fn shown_up(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "unbounded".to_owned();
    }
    let scale = 10f64.powi(decimals as i32);
    // What is above a printed figure by less than the last bits of a double is that figure.
    let steps = (value * scale * (1.0 - 4.0 * f64::EPSILON)).ceil();
    format!("{:.decimals$}", steps / scale)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use num_bigint::{BigInt, BigUint};

    use super::*;
    use crate::chain::dense::dense_chain;
    use crate::mechanism::{ChainWeight, Design, Distance, Mechanism, Rule};
    use crate::{Model, StateId};

    const PLACES: u32 = 1200;

    fn one() -> BigInt {
        BigInt::from(1u8) << PLACES
    }

    /// exp(-a/b) in units of 2^-PLACES: the power series of a 64th of the argument, raised again.
    fn exp_minus(a: u64, b: u64) -> BigInt {
        let mut halvings = 6;
        while a >> halvings.min(63) > b {
            halvings += 1;
        }
        let x = (BigInt::from(a) << PLACES) / (BigInt::from(b) << halvings);
        let (mut term, mut sum, mut k) = (one(), BigInt::ZERO, 0u32);
        while term != BigInt::ZERO {
            sum += &term;
            k += 1;
            let product: BigInt = (term * &x) >> PLACES;
            term = -product / k;
        }
        for _ in 0..halvings {
            sum = (&sum * &sum) >> PLACES;
        }
        sum
    }

    /// The natural logarithm of a number in units of 2^-PLACES, from its leading bits.
    fn ln(value: &BigInt) -> f64 {
        let bits = value.bits() as i64;
        let top: BigUint = (value.magnitude() << 64u32) >> (bits as u64);
        let top = u128::try_from(top).unwrap() as f64 / 2f64.powi(64);
        top.ln() + (bits - i64::from(PLACES)) as f64 * std::f64::consts::LN_2
    }

    /// p·Σ (−1)^m e_m / (m + 1) with the elementary symmetric polynomials of the others.
    fn permute_and_flip(accept: &[BigInt], y: usize) -> BigInt {
        let mut polynomial = vec![one()];
        for (j, p) in accept.iter().enumerate().filter(|&(j, _)| j != y) {
            let _ = j;
            polynomial.push(BigInt::ZERO);
            for m in (1..polynomial.len()).rev() {
                let carried = (&polynomial[m - 1] * p) >> PLACES;
                polynomial[m] -= carried;
            }
        }
        let integral: BigInt =
            polynomial.iter().enumerate().map(|(m, c)| c / BigInt::from(m + 1)).sum();
        (integral * &accept[y]) >> PLACES
    }

    fn squares(random: u64) -> f64 {
        let entry = 1.0 + (random >> 50) as f64;
        entry * entry
    }

    #[test]
    fn kernels_are_within_the_allowance_of_exact_ones() {
        for (states, eta) in [(2, "0.3"), (7, "1"), (40, "0.05"), (40, "3"), (260, "0.01")] {
            let model = Arc::new(Model::new(dense_chain(states, squares)).unwrap());
            for rule in [Rule::PermuteAndFlip, Rule::Exponential] {
                let design = Design::of_moves(Distance::Directed, rule, ChainWeight::HALF);
                let mechanism =
                    Mechanism::with_scale(model.clone(), design, eta.parse().unwrap()).unwrap();
                let (z, x) = (StateId::new(0), StateId::new(states / 2));
                let excess = mechanism.excess_costs(z, x);
                let denominator = mechanism.scale(z).denominator();
                let accept: Vec<BigInt> =
                    excess.iter().map(|&e| exp_minus(e, denominator)).collect();
                let total: BigInt = accept.iter().sum();
                let computed = mechanism.log_kernel(z, x);
                let largest = computed.iter().fold(0f64, |m, l| m.max(l.abs()));
                let allowed = log_kernel_error(states, largest);
                for y in (0..states).step_by(1 + states / 9) {
                    let exact = match rule {
                        Rule::PermuteAndFlip => ln(&permute_and_flip(&accept, y)),
                        Rule::Exponential => ln(&accept[y]) - ln(&total),
                    };
                    let error = (computed[y] - exact).abs();
                    assert!(error < allowed / 4.0, "{states} {rule} {y}: {error:e} {allowed:e}");
                }
            }
        }
    }

    #[test]
    fn figures_are_shown_rounded_up() {
        assert_eq!(shown_up(0.8910001, 3), "0.892");
        assert_eq!(shown_up(1.0, 3), "1.000");
        assert_eq!(shown_up(0.0, 1), "0.0");
        assert_eq!(shown_up(f64::INFINITY, 1), "unbounded");
        assert!(below("0.1".parse().unwrap()) < 0.1);
    }
}
