//! Bounds on sampled counts that hold for every probability, however small.
//!
//! For `n` draws of an outcome of probability `p`, the chance of a share at least as far from `p`
//! on the same side as `k/n` is at most `exp(−n·KL(k/n ‖ p))` (Chernoff), where KL is the relative
//! entropy of two coins. No normal approximation, so rare outcomes need no pooling and are never
//! dropped.

/// A coin: the two chances, each accurate in its own right. (One minus a chance near one is not.)
#[derive(Clone, Copy, Debug)]
pub(super) struct Coin {
    pub(super) heads: f64,
    pub(super) tails: f64,
}

/// How often an outcome came up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    pub(super) seen: u64,
    pub(super) draws: u64,
}

impl Count {
    fn shares(self) -> Coin {
        let share = |count: u64| count as f64 / self.draws as f64;
        Coin { heads: share(self.seen), tails: share(self.draws - self.seen) }
    }

    /// The exponent of the chance of such a count: the chance is at most `exp` of minus this.
    ///
    /// A share within the error of a computed kernel is no deviation at all.
    pub(super) fn exponent(self, coin: Coin) -> f64 {
        const KERNEL_ERROR: f64 = 1e-9;
        let share = self.shares();
        if (share.heads - coin.heads).abs() <= coin.heads.min(coin.tails) * KERNEL_ERROR {
            return 0.0;
        }
        self.draws as f64 * relative_entropy(share, coin)
    }

    /// The smallest chance under which the count is not too unlikely: at least `exp(−exponent)`.
    pub(super) fn lower_bound(self, exponent: f64) -> f64 {
        if self.seen == 0 {
            return 0.0;
        }
        let share = self.shares();
        // On a logarithmic scale, so that tiny chances are found as well. The end that is kept is
        // outside the interval of chances that agree with the count.
        let top = share.heads.ln();
        let (mut low, mut high) = (top - exponent / self.seen as f64 - 1.0, top);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            let coin = Coin { heads: middle.exp(), tails: -middle.exp_m1() };
            let agrees = self.draws as f64 * relative_entropy(share, coin) <= exponent;
            *(if agrees { &mut high } else { &mut low }) = middle;
        }
        low.exp()
    }

    /// The largest chance under which the count is not too unlikely.
    pub(super) fn upper_bound(self, exponent: f64) -> f64 {
        let share = self.shares();
        let (mut low, mut high) = (share.heads, 1.0);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            let coin = Coin { heads: middle, tails: 1.0 - middle };
            let agrees = self.draws as f64 * relative_entropy(share, coin) <= exponent;
            *(if agrees { &mut low } else { &mut high }) = middle;
        }
        high
    }
}

/// The relative entropy of one coin against another.
fn relative_entropy(q: Coin, p: Coin) -> f64 {
    let term = |q: f64, p: f64| if q == 0.0 { 0.0 } else { q * (q.ln() - p.ln()) };
    (term(q.heads, p.heads) + term(q.tails, p.tails)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_enclose_the_share_and_close_in() {
        for (seen, draws) in [(0, 1000), (1, 1000), (500, 1000), (1000, 1000), (3, 10_000_000)] {
            let count = Count { seen, draws };
            let share = seen as f64 / draws as f64;
            let (low, high) = (count.lower_bound(20.0), count.upper_bound(20.0));
            assert!(low <= share && share <= high, "{low} {share} {high}");
            let more = Count { seen: seen * 100, draws: draws * 100 };
            assert!(more.lower_bound(20.0) >= low && more.upper_bound(20.0) <= high);
        }
    }

    #[test]
    fn what_never_came_up() {
        let never = Count { seen: 0, draws: 1000 };
        // (1 - p)^n = exp(-20).
        let exact = 1.0 - (-20.0f64 / 1000.0).exp();
        assert!((never.upper_bound(20.0) - exact).abs() < 1e-12);
        let fair = Coin { heads: 0.5, tails: 0.5 };
        assert!((never.exponent(fair) - 1000.0 * 2f64.ln()).abs() < 1e-9);
        let certain = Coin { heads: 1.0, tails: 0.0 };
        assert_eq!(Count { seen: 5, draws: 5 }.exponent(certain), 0.0);
        assert_eq!(Count { seen: 4, draws: 5 }.exponent(certain), f64::INFINITY);
        // One in a million, where it should be one in 10^13: the two sides agree.
        let (rare, common) = (Coin { heads: 1e-13, tails: 1.0 }, Coin { heads: 1.0, tails: 1e-13 });
        let once = Count { seen: 1, draws: 1_000_000 };
        let all_but_once = Count { seen: 999_999, draws: 1_000_000 };
        assert!((once.exponent(rare) - all_but_once.exponent(common)).abs() < 1e-6);
    }
}
