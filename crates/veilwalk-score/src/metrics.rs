//! The formulas. `p` are the real shares, `q` those of a candidate.

use std::collections::HashSet;

use crate::shares::Shares;

/// The Jensen–Shannon divergence in nats: `½ Σ p ln(p/m) + ½ Σ q ln(q/m)` with `m = (p + q)/2`. Zero for equal
/// distributions, `ln 2 = 0.693` for distributions that have nothing in common.
#[must_use]
pub fn jensen_shannon(real: &Shares, other: &Shares) -> f64 {
    let term = |p: f64, m: f64| if p > 0.0 { p * (p / m).ln() } else { 0.0 };
    let sum = real.pairs(other).map(|(p, q)| {
        let m = (p + q) / 2.0;
        (term(p, m) + term(q, m)) / 2.0
    });
    sum.sum::<f64>().max(0.0)
}

/// The total variation distance: `½ Σ |p − q|`, the largest error of the share of any set.
#[must_use]
pub fn total_variation(real: &Shares, other: &Shares) -> f64 {
    real.pairs(other).map(|(p, q)| (p - q).abs()).sum::<f64>() / 2.0
}

/// Kendall's τ-b of two rankings of the same things: `(C − D)/√((n₀ − n₁)(n₀ − n₂))`, with the pairs that are
/// ordered alike and unlike, all pairs, and the pairs that are tied in the one and in the other. One for the
/// same order, minus one for the opposite. `None` if one of them is tied throughout.
#[must_use]
pub fn kendall_tau(real: &[f64], other: &[f64]) -> Option<f64> {
    let mut order: Vec<usize> = (0..real.len()).collect();
    order.sort_by(|&i, &j| real[i].total_cmp(&real[j]).then(other[i].total_cmp(&other[j])));
    let pairs = |n: u64| n * n.saturating_sub(1) / 2;
    let ties = |same: &dyn Fn(usize, usize) -> bool, order: &[usize]| -> u64 {
        order.chunk_by(|&i, &j| same(i, j)).map(|run| pairs(run.len() as u64)).sum()
    };
    let all = pairs(real.len() as u64);
    let tied_real = ties(&|i, j| real[i] == real[j], &order);
    let tied_both = ties(&|i, j| real[i] == real[j] && other[i] == other[j], &order);
    // Knight 1966: sorted by the one, the exchanges that sort the other are the pairs ordered unlike.
    let mut values: Vec<f64> = order.iter().map(|&i| other[i]).collect();
    let unlike = exchanges(&mut values);
    let tied_other = values.chunk_by(|a, b| a == b).map(|run| pairs(run.len() as u64)).sum::<u64>();
    let alike = (all + tied_both) as f64 - (tied_real + tied_other + unlike) as f64;
    let scale = ((all - tied_real) as f64 * (all - tied_other) as f64).sqrt();
    (scale > 0.0).then(|| (alike - unlike as f64) / scale)
}

/// Sorts, and counts the pairs that stood the wrong way round.
fn exchanges(values: &mut [f64]) -> u64 {
    if values.len() < 2 {
        return 0;
    }
    let (left, right) = values.split_at_mut(values.len() / 2);
    let mut count = exchanges(left) + exchanges(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() {
        if left[i] <= right[j] {
            merged.push(left[i]);
            i += 1;
        } else {
            count += (left.len() - i) as u64;
            merged.push(right[j]);
            j += 1;
        }
    }
    merged.extend_from_slice(&left[i..]);
    merged.extend_from_slice(&right[j..]);
    values.copy_from_slice(&merged);
    count
}

/// The normalized discounted cumulative gain of the `count` most visited places: `Σ p(yᵢ)/log₂(i + 1)` over the
/// candidate's order y, divided by the same sum over the real order. One if the order is right.
#[must_use]
pub fn ndcg(real: &[f64], other: &[f64], count: usize) -> Option<f64> {
    let gain = |order: Vec<usize>| -> f64 {
        let gains = order.iter().take(count).enumerate();
        gains.map(|(rank, &place)| real[place] / (rank as f64 + 2.0).log2()).sum()
    };
    let ideal = gain(ranked(real));
    (ideal > 0.0).then(|| gain(ranked(other)) / ideal)
}

/// The places, the largest value first; of equal ones, the earlier place first.
fn ranked(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[j].total_cmp(&values[i]).then(i.cmp(&j)));
    order
}

/// How well one set is found by another: `2PR/(P + R)`, with the share P of what was found that is right and
/// the share R of what is right that was found. `None` if both are empty.
#[must_use]
pub fn f1(real: &[u128], other: &[u128]) -> Option<f64> {
    let right: HashSet<&u128> = real.iter().collect();
    let found = other.iter().filter(|key| right.contains(key)).count() as f64;
    let both = (real.len() + other.len()) as f64;
    (both > 0.0).then(|| 2.0 * found / both)
}

/// The mean relative error of counts: `|p − q|/max(p, bound)`, where the bound keeps counts that are all but
/// nothing from deciding. `None` without a query.
#[must_use]
pub fn query_error(real: &[f64], other: &[f64], bound: f64) -> Option<f64> {
    let errors = real.iter().zip(other).map(|(&p, &q)| (p - q).abs() / p.max(bound));
    (!real.is_empty()).then(|| errors.sum::<f64>() / real.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shares(counts: &[f64]) -> Shares {
        Shares::of_list(counts)
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found}, {expected}");
    }

    #[test]
    fn divergences_by_hand() {
        let (p, q) = (shares(&[1.0, 1.0, 0.0]), shares(&[0.0, 1.0, 1.0]));
        // m = (1/4, 1/2, 1/4): each side is ½ ln 2.
        close(jensen_shannon(&p, &q), 0.5 * 2f64.ln());
        close(total_variation(&p, &q), 0.5);
        close(jensen_shannon(&p, &p), 0.0);
        let apart = (shares(&[1.0, 0.0]), shares(&[0.0, 1.0]));
        close(jensen_shannon(&apart.0, &apart.1), 2f64.ln());
        close(total_variation(&apart.0, &apart.1), 1.0);
        // scipy.spatial.distance.jensenshannon([.2, .3, .5], [.5, .25, .25])**2
        let (p, q) = (shares(&[0.2, 0.3, 0.5]), shares(&[0.5, 0.25, 0.25]));
        assert!((jensen_shannon(&p, &q) - 0.055_582_470_863_469_34).abs() < 1e-12);
    }

    #[test]
    fn rankings_by_hand() {
        let tau = |p: &[f64], q: &[f64]| kendall_tau(p, q);
        assert_eq!(tau(&[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0]), Some(1.0));
        assert_eq!(tau(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), Some(-1.0));
        // Two pairs alike, one unlike.
        close(tau(&[1.0, 2.0, 3.0], &[1.0, 3.0, 2.0]).unwrap(), 1.0 / 3.0);
        // scipy.stats.kendalltau([1, 1, 2, 3], [1, 2, 2, 3]): four alike, one tied on each side.
        close(tau(&[1.0, 1.0, 2.0, 3.0], &[1.0, 2.0, 2.0, 3.0]).unwrap(), 0.8);
        assert_eq!(tau(&[1.0, 1.0], &[1.0, 2.0]), None);
        let real = [0.5, 0.3, 0.2, 0.0];
        assert_eq!(ndcg(&real, &[4.0, 3.0, 2.0, 1.0], 3), Some(1.0));
        // The order 1, 0: 0.3 + 0.5/log₂3 over 0.5 + 0.3/log₂3.
        let log = 3f64.log2();
        close(
            ndcg(&real, &[3.0, 4.0, 1.0, 0.0], 2).unwrap(),
            (0.3 + 0.5 / log) / (0.5 + 0.3 / log),
        );
        assert_eq!(ndcg(&[0.0, 0.0], &[1.0, 0.0], 2), None);
    }

    #[test]
    fn sets_and_queries_by_hand() {
        assert_eq!(f1(&[1, 2, 3, 4], &[3, 4, 5, 6]), Some(0.5));
        assert_eq!(f1(&[1, 2, 3], &[3]), Some(0.5), "P is 1 and R is 1/3");
        assert_eq!(f1(&[], &[]), None);
        // |0.5 − 0.4|/0.5 and |0.001 − 0.002|/0.01
        close(query_error(&[0.5, 0.001], &[0.4, 0.002], 0.01).unwrap(), 0.15);
    }

    proptest! {
        /// All pairs, one by one.
        #[test]
        fn kendall_agrees_with_all_pairs(
            pairs in proptest::collection::vec((0u8..6, 0u8..6), 2..40)
        ) {
            let (p, q): (Vec<f64>, Vec<f64>) =
                pairs.iter().map(|&(a, b)| (f64::from(a), f64::from(b))).unzip();
            let (mut sum, mut untied) = (0.0, (0.0, 0.0));
            for i in 0..p.len() {
                for j in 0..i {
                    let sign = |x: f64| if x == 0.0 { 0.0 } else { x.signum() };
                    let (a, b) = (sign(p[i] - p[j]), sign(q[i] - q[j]));
                    sum += a * b;
                    untied.0 += a * a;
                    untied.1 += b * b;
                }
            }
            let scale = f64::sqrt(untied.0 * untied.1);
            match kendall_tau(&p, &q) {
                Some(tau) => prop_assert!((tau - sum / scale).abs() < 1e-12),
                None => prop_assert!(scale == 0.0),
            }
        }
    }
}
