//! Weights whose totals change slowly, for graphs of more states than the linear program is for.
//!
//! On a graph without directions `ln A` changes by at most `λ − η` for each unit of distance if it does so along every
//! edge. So there is one number to make small, the steepest slope of `ln A` along an edge, and it depends on the weights
//! smoothly but for the largest of many. That largest is smoothed (slopes count by `exp(β·slope)`, with a β that
//! grows), and followed downhill in the logarithms of the weights, which keeps all weights positive. Every round takes two
//! products with the matrix of all `exp(−η·m)`. It ends as soon as no slope is above `λ − η`; the largest η is taken for
//! which that is reached, and the audit says whether it is right.
//!
//! # Complexity
//!
//! Some hundreds of rounds of |S|² multiplications: on two thousand places a few seconds.
//!
//! # Literature
//!
//! Kingma and Ba (2015) for the length of steps; Nesterov (2005) for smoothing a largest of many.

use rayon::prelude::*;

use super::classes::Classes;
use super::{Found, Weights, times};
use crate::rational::Rational;
use crate::watch::{Stage, Stopped, Watch, report_share};

/// Scales are multiples of λ over this.
const PARTS: u32 = 64;
/// So many rounds for each scale. More gain little.
const ROUNDS: usize = 160;
/// How sharply the steepest slopes stand out, at first and in the end, for slopes in shares of λ.
const SHARPNESS: (f64, f64) = (30.0, 200.0);
/// The longest step of a logarithm in a round.
const STEP: f64 = 0.05;
/// By what share slopes are to be below what is allowed, for what roundings break.
const MARGIN: f64 = 1e-6;

/// Two classes with an edge between them, and how far apart they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) one: usize,
    pub(super) other: usize,
    pub(super) distance: f64,
}

/// The weights for the largest scale that is found to keep the promise; `None` if even weights do so at a larger one.
///
/// # Errors
///
/// If the watcher asks to stop.
pub(super) fn best(
    classes: &Classes<'_>,
    edges: &[Edge],
    lambda: Rational,
    keeps: &dyn Fn(&Weights) -> bool,
    watch: Watch<'_>,
) -> Result<Option<Weights>, Stopped> {
    // Half of λ keeps it whatever the weights are, and λ itself was for the linear system.
    let (mut low, mut high, mut best) = (PARTS / 2, PARTS, None);
    let mut logs = vec![0.0; classes.len()];
    let trials = f64::from((PARTS / 2).ilog2());
    while high - low > 1 {
        let done = trials - f64::from((high - low).ilog2());
        report_share(watch, Stage::Weights, done / (trials + 1.0))?;
        let parts = (low + high) / 2;
        let eta = times(lambda, parts.into(), PARTS.into());
        let mut descent = Descent::new(classes, edges, eta.as_f64(), lambda.as_f64(), &logs);
        let found = descent.weights().map(|weights| {
            let weights = classes.spread(&weights);
            Weights { weights, eta, found: Found::Fitted }
        });
        match found.filter(keeps) {
            Some(weights) => {
                // What was good for a smaller scale is a start for a larger one.
                logs = descent.logs;
                (low, best) = (parts, Some(weights));
            }
            None => high = parts,
        }
    }
    // A kernel that is a little steeper with even weights is the better one.
    let even: Vec<f64> = classes.sizes().iter().copied().map(f64::from).collect();
    let next = times(lambda, (low + 1).into(), PARTS.into()).as_f64();
    let beaten = best.is_some() && classes.loss(&even, next) <= lambda.as_f64();
    Ok(best.filter(|_| !beaten))
}

/// Weights on their way downhill, for one scale.
struct Descent<'a> {
    edges: &'a [Edge],
    /// `exp(−η·m)`, row by row. Distances are the same both ways, so rows are columns.
    factors: Vec<f64>,
    lambda: f64,
    /// What a slope may be, as a share of λ.
    allowed: f64,
    /// The logarithms of the weights.
    logs: Vec<f64>,
}

impl<'a> Descent<'a> {
    fn new(classes: &Classes<'_>, edges: &'a [Edge], eta: f64, lambda: f64, logs: &[f64]) -> Self {
        let n = classes.len();
        let mut factors = vec![0.0; n * n];
        factors.par_chunks_mut(n).enumerate().for_each(|(x, row)| {
            row.iter_mut().zip(classes.factors(x, eta)).for_each(|(slot, factor)| *slot = factor);
        });
        let allowed = (1.0 - eta / lambda) * (1.0 - MARGIN);
        Self { edges, factors, lambda, allowed, logs: logs.to_vec() }
    }

    /// The product of the matrix with a vector. Each sum has a fixed order.
    fn product(&self, vector: &[f64]) -> Vec<f64> {
        let dot = |row: &[f64]| row.iter().zip(vector).fold(0.0, |sum, (a, b)| sum + a * b);
        self.factors.par_chunks(vector.len()).map(dot).collect()
    }

    /// Goes downhill until no slope is too steep; `None` if it ends before that.
    fn weights(&mut self) -> Option<Vec<f64>> {
        let n = self.logs.len();
        let (mut mean, mut square) = (vec![0.0; n], vec![0.0; n]);
        let (mut mean_left, mut square_left) = (1.0, 1.0);
        for round in 0..ROUNDS {
            let largest = self.logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = self.logs.iter().map(|log| libm::exp(log - largest)).collect();
            let totals = self.product(&weights);
            if !totals.iter().all(|total| *total > 0.0 && total.is_finite()) {
                return None;
            }
            let heights: Vec<f64> = totals.iter().map(|total| libm::log(*total)).collect();
            let slope = |edge: &Edge| {
                (heights[edge.one] - heights[edge.other]) / (edge.distance * self.lambda)
            };
            let slopes: Vec<f64> = self.edges.iter().map(slope).collect();
            let steepest = slopes.iter().fold(0.0, |most, slope| f64::max(most, slope.abs()));
            if steepest <= self.allowed {
                return Some(weights);
            }
            let share = (round + 1) as f64 / ROUNDS as f64;
            let sharpness = SHARPNESS.0 + (SHARPNESS.1 - SHARPNESS.0) * share;
            let pull = self.pull(&slopes, steepest, sharpness, &totals);
            let mut gradient = self.product(&pull);
            gradient.iter_mut().zip(&weights).for_each(|(slot, weight)| *slot *= weight);
            let most = gradient.iter().fold(0.0, |most, part| f64::max(most, part.abs()));
            if most == 0.0 || !most.is_finite() {
                return None;
            }
            (mean_left, square_left) = (mean_left * 0.9, square_left * 0.999);
            for (i, part) in gradient.iter().enumerate() {
                let part = part / most;
                mean[i] = 0.9 * mean[i] + 0.1 * part;
                square[i] = 0.999 * square[i] + 0.001 * part * part;
                let length = (square[i] / (1.0 - square_left)).sqrt() + 1e-3;
                self.logs[i] -= STEP * (mean[i] / (1.0 - mean_left)) / length;
            }
        }
        None
    }

    /// How the smoothed steepest slope changes with each total.
    fn pull(&self, slopes: &[f64], steepest: f64, sharpness: f64, totals: &[f64]) -> Vec<f64> {
        let shares: Vec<f64> =
            slopes.iter().map(|slope| libm::exp(sharpness * (slope.abs() - steepest))).collect();
        let all = shares.iter().fold(0.0, |sum, share| sum + share);
        let mut pull = vec![0.0; totals.len()];
        for ((edge, slope), share) in self.edges.iter().zip(slopes).zip(&shares) {
            let part = share / all * slope.signum() / edge.distance;
            pull[edge.one] += part;
            pull[edge.other] -= part;
        }
        pull.iter_mut().zip(totals).for_each(|(slot, total)| *slot /= total);
        pull
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::streets;
    use super::*;
    use crate::watch::unwatched;

    /// All pairs: more than enough for any graph.
    fn all_pairs(classes: &Classes<'_>) -> Vec<Edge> {
        let n = classes.len();
        let pairs = (0..n).flat_map(|one| (0..one).map(move |other| (one, other)));
        let edge = |(one, other): (usize, usize)| {
            let distance = classes.to(one).nth(other).unwrap();
            Edge { one, other, distance }
        };
        pairs.map(edge).collect()
    }

    #[test]
    fn weights_are_found_that_keep_the_promise_and_are_the_same_again() {
        let (mut some, mut none) = (0, 0);
        for seed in 0..6 {
            let distances = streets(14 + seed as usize, seed);
            let classes = Classes::of(&distances);
            // Each weight is that of a state, which here is a class of its own.
            assert_eq!(classes.len(), distances.states());
            let edges = all_pairs(&classes);
            for lambda in [0.5, 2.0, 8.0] {
                let rate = Rational::at_most(lambda).unwrap();
                let loss = |weights: &Weights| classes.loss(&weights.weights, weights.eta.as_f64());
                let keeps = |weights: &Weights| loss(weights) <= lambda;
                let found = best(&classes, &edges, rate, &keeps, &unwatched).unwrap();
                match &found {
                    Some(weights) => {
                        some += 1;
                        assert!(keeps(weights) && weights.eta.as_f64() > 0.5 * lambda);
                        let positive = |weight: &f64| *weight >= 0.0 && weight.is_finite();
                        assert!(weights.weights.iter().all(positive));
                        // Even weights are no better at the same scale.
                        let even = vec![1.0; classes.len()];
                        let next = weights.eta.as_f64() + lambda / f64::from(PARTS);
                        assert!(classes.loss(&even, next) > lambda);
                    }
                    None => none += 1,
                }
                assert_eq!(best(&classes, &edges, rate, &keeps, &unwatched).unwrap(), found);
                assert_eq!(best(&classes, &edges, rate, &|_| false, &unwatched).unwrap(), None);
            }
        }
        assert!(some > 6, "{some} found, {none} not");
    }
}
