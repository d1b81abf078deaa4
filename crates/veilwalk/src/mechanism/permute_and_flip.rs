//! The permute-and-flip rule: visit the candidates in a uniformly random order, and take candidate
//! `y` with probability `exp(c_min − c(y))`. The cheapest is taken for certain when its turn comes.
//!
//! # Privacy
//!
//! **Claim.** If the costs `c` and `c'` of two real states differ by at most δ on every candidate,
//! then the probabilities of every outcome differ by a factor of at most `exp(2δ)` (McKenna and
//! Sheldon 2020, theorem 1).
//!
//! **Proof.** Let `q_j = exp(−c_j)` and let `q` be the largest of them, so that `j` is accepted
//! with probability `q_j / q`. Give every candidate a uniform arrival time on [0, 1]: they arrive in
//! a uniformly random order, and `y`, arriving at `u`, is the outcome when it is accepted and every
//! other candidate either arrives later or is refused. Hence, with `v = u / q`,
//!
//! ```text
//! K(y) = (q_y / q) ∫₀¹ Π_{j≠y} (1 − q_j u / q) du = q_y ∫₀^{1/q} Π_{j≠y} (1 − q_j v) dv.
//! ```
//!
//! 1. Adding a constant to all costs changes nothing.
//! 2. Raising the cost of some `j ≠ y` lowers `q_j`, which raises the integrand and can only widen
//!    the range: `K(y)` does not fall.
//! 3. Raising the cost of `y` by `s` lowers `q_y` by the factor `exp(−s)` and can only widen the
//!    range, the integrand being non-negative on it: `K(y)` falls by a factor of at most `exp(−s)`.
//!
//! Add δ to all of `c'`, which by 1 changes nothing. Now every cost is between 0 and 2δ above its
//! counterpart in `c`, so by 2 and 3 `K'(y) ≥ exp(−2δ)·K(y)`. Exchanging the two real states gives
//! the other direction. ∎
//!
//! # How it is sampled
//!
//! Exactly as it says: the order is drawn candidate by candidate, each uniformly among those that were
//! not drawn before, the coin of each is exact, and costs are whole numbers. Of the first sixteen or
//! thirty-two draws one is nearly always accepted. If none is, the rest of the order need not be drawn:
//! the first that would be accepted in a uniformly random order is a uniformly random one among all
//! that would be. So every coin that is left is flipped, and one of the accepted is drawn. With no more
//! than sixteen candidates all coins are flipped at once, for the same reason.
//!
//! Four coins share one word of randomness, sixteen bits each. The few coins that sixteen bits do not
//! settle draw more.

use std::sync::OnceLock;

/// The logarithms of the outcome probabilities, given how much each candidate costs above the
/// cheapest, in nats.
///
/// # Precision
///
/// The integrand is a polynomial of degree `n − 1`, which Gauss–Legendre quadrature with `⌈n/2⌉`
/// nodes integrates exactly; all its values are positive, so rounding stays relative.
///
/// # Complexity
///
/// O(n²) for n candidates.
pub(super) fn log_kernel(excess: &[f64], out: &mut [f64]) {
    let nodes = legendre_nodes(excess.len().div_ceil(2));
    let accept: Vec<f64> = excess.iter().map(|e| (-e).exp()).collect();
    let mut integral = vec![0.0; excess.len()];
    for &(u, weight) in nodes {
        let product: f64 = accept.iter().map(|p| 1.0 - p * u).product();
        let term = weight * product;
        for (sum, p) in integral.iter_mut().zip(&accept) {
            *sum += term / (1.0 - p * u);
        }
    }
    for ((slot, e), sum) in out.iter_mut().zip(excess).zip(&integral) {
        *slot = sum.ln() - e;
    }
}

/// The outcome probabilities, given the acceptance probabilities `exp(c_min − c)`.
///
/// # Precision
///
/// With k nodes the quadrature of a smooth `f` on [0, 1] is off by `(k!)⁴ f⁽²ᵏ⁾(ξ) / ((2k+1) (2k)!³)`
/// for some ξ. Here the derivatives of `f = Π (1 − p_j u)` are at most `s²ᵏ` in size with
/// `s = Σ p_j`, so that many candidates that are hardly ever accepted need few nodes. As many are
/// taken as push this bound below 10⁻¹⁸, and never more than `⌈n/2⌉`, which are exact.
///
/// # Complexity
///
/// O(n·min(n, s + 30)) for n candidates.
pub(super) fn kernel(accept: &[f64], out: &mut [f64]) {
    let enough = nodes_for(accept.iter().sum());
    let nodes = legendre_nodes(accept.len().div_ceil(2).min(enough));
    out.fill(0.0);
    for &(u, weight) in nodes {
        // Four products at once, since one alone waits for each multiplication.
        let mut parts = [1.0; 4];
        let groups = accept.chunks_exact(4);
        let mut product: f64 = groups.remainder().iter().map(|p| 1.0 - p * u).product();
        for group in groups {
            parts.iter_mut().zip(group).for_each(|(part, p)| *part *= 1.0 - p * u);
        }
        product *= (parts[0] * parts[1]) * (parts[2] * parts[3]);
        let term = weight * product;
        for (sum, p) in out.iter_mut().zip(accept) {
            *sum += term / (1.0 - p * u);
        }
    }
    for (sum, p) in out.iter_mut().zip(accept) {
        *sum *= p;
    }
}

/// The probability of one outcome over its acceptance probability, as precise as [`kernel`] is.
///
/// # Complexity
///
/// O(n·min(n, s + 30)) for n candidates.
pub(super) fn integral(accept: &[f64], place: usize) -> f64 {
    let enough = nodes_for(accept.iter().sum());
    let nodes = legendre_nodes(accept.len().div_ceil(2).min(enough));
    let (before, after) = (&accept[..place], &accept[place + 1..]);
    let others = |u: f64| before.iter().chain(after).map(|p| 1.0 - p * u).product::<f64>();
    nodes.iter().map(|&(u, weight)| weight * others(u)).sum()
}

/// How many nodes make the error bound in [`kernel`] negligible for acceptance probabilities that
/// sum to `s`. Since `(2k)!/(k!)² ≥ 4ᵏ/(2√k)`, the bound is at most `2 (s/4)²ᵏ / (2k)!`.
fn nodes_for(s: f64) -> usize {
    let quarter = s / 4.0;
    let (mut bound, mut nodes) = (2.0, 0usize);
    while bound > 1e-18 {
        nodes += 1;
        let k = nodes as f64;
        bound *= quarter / (2.0 * k - 1.0) * (quarter / (2.0 * k));
    }
    nodes
}

/// Nodes and weights of Gauss–Legendre quadrature on [0, 1], made once for each number of nodes.
///
/// Newton's method on the three-term recurrence of the Legendre polynomials. (By hand because the
/// kept crates for this bring a linear-algebra library with them, for these twenty lines.)
fn legendre_nodes(count: usize) -> &'static [(f64, f64)] {
    const KEPT: usize = 512;
    static TABLES: [OnceLock<Vec<(f64, f64)>>; KEPT] = [const { OnceLock::new() }; KEPT];
    match TABLES.get(count) {
        Some(table) => table.get_or_init(|| compute_legendre_nodes(count)),
        // Beyond a thousand candidates a table is rare enough to be made and leaked once a size.
        None => {
            static LARGE: OnceLock<std::sync::Mutex<LargeTables>> = OnceLock::new();
            let mut large =
                LARGE.get_or_init(Default::default).lock().expect("no panic while held");
            large.entry(count).or_insert_with(|| compute_legendre_nodes(count).leak())
        }
    }
}

type LargeTables = std::collections::HashMap<usize, &'static [(f64, f64)]>;

fn compute_legendre_nodes(count: usize) -> Vec<(f64, f64)> {
    let n = count as f64;
    (0..count)
        .map(|i| {
            let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n + 0.5)).cos();
            let mut slope = 0.0;
            for _ in 0..100 {
                let (mut current, mut previous) = (1.0, 0.0);
                for k in 0..count {
                    let k = k as f64;
                    let next = ((2.0 * k + 1.0) * x * current - k * previous) / (k + 1.0);
                    (previous, current) = (current, next);
                }
                slope = n * (x * current - previous) / (x * x - 1.0);
                let step = current / slope;
                x -= step;
                if step.abs() < 1e-16 {
                    break;
                }
            }
            ((1.0 + x) / 2.0, 1.0 / ((1.0 - x * x) * slope * slope))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The rule as it is told: every order, one coin after the other.
    fn by_enumeration(accept: &[f64]) -> Vec<f64> {
        fn visit(accept: &[f64], left: &mut Vec<usize>, reach: f64, out: &mut [f64]) {
            let n = left.len() as f64;
            for i in 0..left.len() {
                let candidate = left.remove(i);
                out[candidate] += reach / n * accept[candidate];
                visit(accept, left, reach / n * (1.0 - accept[candidate]), out);
                left.insert(i, candidate);
            }
        }
        let mut out = vec![0.0; accept.len()];
        visit(accept, &mut (0..accept.len()).collect(), 1.0, &mut out);
        out
    }

    fn kernel(excess: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; excess.len()];
        log_kernel(excess, &mut out);
        out.iter().map(|l| l.exp()).collect()
    }

    #[test]
    fn the_published_example() {
        let expected = [0.532_619_07, 0.322_767_22, 0.110_256_56, 0.028_176_41, 0.006_180_73];
        for (ours, known) in kernel(&[0.0, 0.3, 1.2, 2.5, 4.0]).iter().zip(expected) {
            assert!((ours - known).abs() < 5e-9, "{ours} {known}");
        }
    }

    #[test]
    fn fewer_nodes_give_the_same_kernel() {
        for (n, spread) in [(1, 1.0), (2, 0.0), (7, 3.0), (60, 0.0), (380, 0.01), (380, 1.0)] {
            let excess: Vec<f64> = (0..n).map(|i| f64::from(i * i % 101) * spread).collect();
            let accept: Vec<f64> = excess.iter().map(|e| (-e).exp()).collect();
            let mut fast = vec![0.0; excess.len()];
            super::kernel(&accept, &mut fast);
            for (a, b) in fast.iter().zip(kernel(&excess)) {
                assert!((a - b).abs() <= 1e-12 * b, "{n}, {spread}: {a} {b}");
            }
        }
    }

    #[test]
    fn many_candidates_still_sum_to_one() {
        for n in [1, 2, 3, 40, 380, 1500] {
            let excess: Vec<f64> = (0..n).map(|i| f64::from(i % 17) * 0.7).collect();
            let sum: f64 = kernel(&excess).iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{n}: {sum}");
        }
    }

    proptest! {
        #[test]
        fn quadrature_equals_enumeration(raw in proptest::collection::vec(0.0f64..12.0, 1..7)) {
            let least = raw.iter().copied().fold(f64::INFINITY, f64::min);
            let excess: Vec<f64> = raw.iter().map(|c| c - least).collect();
            let accept: Vec<f64> = excess.iter().map(|e| (-e).exp()).collect();
            for (a, b) in kernel(&excess).iter().zip(by_enumeration(&accept)) {
                prop_assert!((a - b).abs() <= 1e-13 + b * 1e-11, "{} {}", a, b);
            }
        }
    }
}
