//! Bounds on sampled counts that hold for every probability, however small.
//!
//! For `n` draws of an outcome of probability `p`, the chance of a share at least as far from `p`
//! on the same side as `k/n` is at most `exp(−n·KL(k/n ‖ p))` (Chernoff), where KL is the relative
//! entropy of two coins. No normal approximation, so rare outcomes need no pooling and are never
//! dropped.

/// The relative entropy of a coin with share `q` against one with probability `p`.
pub(super) fn relative_entropy(q: f64, p: f64) -> f64 {
    let heads = if q == 0.0 { 0.0 } else { q * (q.ln() - p.ln()) };
    let tails = if q == 1.0 { 0.0 } else { (1.0 - q) * ((-q).ln_1p() - (-p).ln_1p()) };
    (heads + tails).max(0.0)
}

/// The exponent of the chance of such a count: the chance is at most `exp` of minus this.
///
/// A share within the error of a computed kernel of `p` is no deviation at all.
pub(super) fn exponent(seen: u64, draws: u64, p: f64) -> f64 {
    const KERNEL_ERROR: f64 = 1e-9;
    let share = seen as f64 / draws as f64;
    if (share - p).abs() <= p * KERNEL_ERROR {
        return 0.0;
    }
    draws as f64 * relative_entropy(share, p.min(1.0))
}

/// The smallest probability under which a count is not too unlikely: at least `exp(−exponent)`.
pub(super) fn lower_bound(seen: u64, draws: u64, exponent: f64) -> f64 {
    let share = seen as f64 / draws as f64;
    if seen == 0 {
        return 0.0;
    }
    // On a logarithmic scale, so that tiny probabilities are found as well. The end that is kept
    // is outside the interval of probabilities that agree with the count.
    let (mut low, mut high) = (share.ln() - exponent / seen as f64 - 1.0, share.ln());
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        let agrees = draws as f64 * relative_entropy(share, middle.exp()) <= exponent;
        *(if agrees { &mut high } else { &mut low }) = middle;
    }
    low.exp()
}

/// The largest probability under which a count is not too unlikely.
pub(super) fn upper_bound(seen: u64, draws: u64, exponent: f64) -> f64 {
    // The other side of the coin has its smallest probability there.
    let (share, draws) = (seen as f64 / draws as f64, draws as f64);
    let (mut low, mut high) = (share, 1.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        let agrees = draws * relative_entropy(share, middle) <= exponent;
        *(if agrees { &mut low } else { &mut high }) = middle;
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_enclose_the_share_and_close_in() {
        for (seen, draws) in [(0, 1000), (1, 1000), (500, 1000), (1000, 1000), (3, 10_000_000)] {
            let share = seen as f64 / draws as f64;
            let (low, high) = (lower_bound(seen, draws, 20.0), upper_bound(seen, draws, 20.0));
            assert!(low <= share && share <= high, "{low} {share} {high}");
            let (low_more, high_more) = (
                lower_bound(seen * 100, draws * 100, 20.0),
                upper_bound(seen * 100, draws * 100, 20.0),
            );
            assert!(low_more >= low && high_more <= high);
        }
        // None in n: (1 - p)^n = exp(-20).
        let exact = 1.0 - (-20.0f64 / 1000.0).exp();
        assert!((upper_bound(0, 1000, 20.0) - exact).abs() < 1e-12);
        assert_eq!(exponent(0, 1000, 0.5), 1000.0 * 2f64.ln());
        assert_eq!(exponent(5, 5, 1.0), 0.0);
    }
}
