//! Leaps over many rounds at once.
//!
//! Two rounds in a row show where rounds lead and how much slower they get. The leap goes as far in that
//! direction as a line of such steps would in the end (squared extrapolation, SQUAREM: Varadhan and Roland 2008).
//! It may go too far, so the caller compares, and takes the plain round instead.

use super::expected::Expected;
use crate::inference::Law;

/// A law, what is expected under it, and how good it is.
pub(super) struct Point {
    pub(super) law: Law,
    pub(super) expected: Expected,
    /// The log-likelihood with the logarithm of the prior.
    pub(super) objective: f64,
}

impl Point {
    pub(super) fn new(law: Law, expected: Expected, prior: &Law, strength: f64) -> Self {
        let believed = log_prior(law.initial(), prior.initial())
            + log_prior(law.all_probabilities(), prior.all_probabilities());
        let objective = expected.log_likelihood + strength * believed;
        Self { law, expected, objective }
    }

    /// The law that a plain round leads to.
    pub(super) fn next(&self, prior: &Law, strength: f64) -> Law {
        let with = |counts: &[f64], prior: &[f64]| -> Vec<f64> {
            counts.iter().zip(prior).map(|(n, p)| n + strength * p).collect()
        };
        let initial = with(&self.expected.starts, prior.initial());
        let mut moves = with(&self.expected.moves, prior.all_probabilities());
        // What nobody is expected to have left keeps the law it had.
        for from in 0..initial.len() {
            let row = self.law.row(crate::chain::StateId::new(from));
            if moves[row.clone()].iter().sum::<f64>() <= 0.0 {
                moves[row.clone()].copy_from_slice(&self.law.all_probabilities()[row]);
            }
        }
        self.law.with(initial, moves)
    }
}

/// `Σ p₀ ln p`, over what the prior holds possible.
fn log_prior(law: &[f64], prior: &[f64]) -> f64 {
    let terms = law.iter().zip(prior).filter(|(_, prior)| **prior > 0.0);
    terms.map(|(p, prior)| prior * p.max(f64::MIN_POSITIVE).ln()).sum()
}

/// No probability falls by more than this in a leap.
const SMALLEST_SHARE: f64 = 0.01;

/// The law that rounds seem to lead to, after one from `start` to `once` and another from there to `twice`.
pub(super) fn leap(start: &Law, once: &Law, twice: &Law) -> Law {
    let parameters = |law: &Law| -> Vec<f64> {
        law.initial().iter().chain(law.all_probabilities()).copied().collect()
    };
    let (a, b, c) = (parameters(start), parameters(once), parameters(twice));
    let (mut first, mut bend) = (0.0, 0.0);
    for ((a, b), c) in a.iter().zip(&b).zip(&c) {
        let (r, v) = (b - a, (c - b) - (b - a));
        (first, bend) = (first + r * r, bend + v * v);
    }
    if bend == 0.0 {
        return twice.clone();
    }
    let far = (first / bend).sqrt().max(1.0);
    let leapt: Vec<f64> = a
        .iter()
        .zip(&b)
        .zip(&c)
        .map(|((a, b), c)| {
            let (r, v) = (b - a, (c - b) - (b - a));
            (a + 2.0 * far * r + far * far * v).max(SMALLEST_SHARE * c)
        })
        .collect();
    let (initial, moves) = leapt.split_at(start.initial().len());
    start.with(initial.to_vec(), moves.to_vec())
}
