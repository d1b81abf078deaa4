//! The entropy of the released walk, in expectation and around it.
//!
//! # What is wrong with the published bounds
//!
//! *Expectation.* Hoeffding's inequality is applied to the distance itself, though it bounds the
//! deviation from a mean; the integral that follows gives √2/D_max where √(2/D_max) is printed; the
//! decay of expectations is taken to be the second eigenvalue to the power t with factor one, which
//! holds for no chain in general; and it is built on the published error bound.
//!
//! *Typicality.* The released walk by itself is not a Markov chain: the pair is, so the mixing time
//! has to be the pair's. The walk has n − 1 inner states and not n − 2. And `−ln P` of a walk adds up
//! weights and not distances, so the range of a term is that of the weights.
//!
//! # The corrected typicality bound
//!
//! Let `H` be the weights of the released walk's n transitions, divided by n, and `W` the largest
//! weight less the smallest. Replacing one inner pair of the walk changes `H` by at most `2W/n`,
//! replacing the first or the last by at most `W/n` (for what is not a transition, `H` may be given
//! any weight in the range). By Paulin's inequality for Markov chains (2015, corollary 2.10), with
//! the pair's mixing time t,
//!
//! ```text
//! P(H − E[H] ≥ ν) ≤ exp(−2ν² n² / (9 (4n − 2) W² t)),
//! ```
//!
//! and the same downwards. `E[H]` is known exactly.

use rayon::prelude::*;
#[cfg(feature = "serde")]
use serde::Serialize;

use super::error::ErrorBound;
use crate::analysis::Utility;
use crate::analysis::figures::entropy_rate;
use crate::analysis::joint::JointLaw;
use crate::analysis::long_run::{MixingKind, MixingTime, SecondEigenvalue};
use crate::chain::StateId;
use crate::model::Model;

/// The expected entropy of the released walk.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct EntropyBound {
    /// The published bound, for walks of that many transitions divided by one less, as printed. `None`
    /// where it is not defined; infinite where a distance is zero one way only. It is not valid.
    pub published: Option<f64>,
    /// The exact expectation per transition, which needs no bound.
    pub corrected: f64,
    /// The largest quotient of the two distances between two states, infinite if one is zero.
    pub asymmetry: f64,
    /// The published bound on how far the expected entropy is above n/(n−1) times the rate.
    #[cfg_attr(feature = "serde", serde(skip))]
    published_excess: Option<f64>,
}

impl EntropyBound {
    /// What to say beside the published bound.
    pub const NOTE: &'static str = "as printed, and not valid: it bounds a distance by an \
        inequality for deviations, and is built on the published error bound";

    /// Evaluates the published bound, and sets it beside the exact expectation in `exact`, the
    /// figures of the joint chain from the same start.
    #[must_use]
    pub fn new(
        model: &Model,
        error: &ErrorBound,
        second: &SecondEigenvalue,
        start: &JointLaw,
        exact: &Utility,
    ) -> Self {
        let asymmetry = asymmetry(model);
        let n = exact.steps as f64;
        let published_excess =
            published_excess(model, error, second, start, exact.steps, asymmetry);
        let published = published_excess
            .zip(entropy_rate(model.chain()))
            .map(|(excess, rate)| n / (n - 1.0) * rate + excess);
        let corrected = exact.entropy_nats.released;
        Self { published, corrected, asymmetry, published_excess }
    }
}

/// The published bound on how far the expected entropy is above n/(n−1) times the rate.
fn published_excess(
    model: &Model,
    error: &ErrorBound,
    second: &SecondEigenvalue,
    start: &JointLaw,
    steps: usize,
    asymmetry: f64,
) -> Option<f64> {
    let c = error.published_constants()?;
    let (n, psi) = (steps as f64, second.modulus);
    if steps < 2 || psi <= 0.0 || psi >= 1.0 {
        return None;
    }
    let diameter = model.diameter().distance.as_f64();
    let root = (2.0 / diameter).sqrt();
    let near = std::f64::consts::PI.sqrt() / (2.0 * root) * libm::erf(c.b_epsilon_nats * root);
    let far = c.limit() * c.largest_step_nats / (2.0 * c.least_drift_nats);
    let settled = n / (n - 1.0) * (1.0 / psi + asymmetry) * (near + far);
    let first = start.mean_distance(model);
    Some(settled + (1.0 + psi * asymmetry) * first / ((n - 1.0) * (1.0 - psi)))
}

/// The largest `d(u, v) / d(v, u)` over different states; infinite where a distance is zero.
fn asymmetry(model: &Model) -> f64 {
    let (chain, directed) = (model.chain(), model.directed());
    let rows = (0..chain.len()).into_par_iter().map(|v| {
        let v = StateId::new(v);
        let others = chain.states().filter(|&u| u != v);
        let quotients = others.map(|u| {
            let back = directed.between(v, u).as_f64();
            if back == 0.0 { f64::INFINITY } else { directed.between(u, v).as_f64() / back }
        });
        quotients.fold(0.0, f64::max)
    });
    rows.reduce(|| 0.0, f64::max)
}

/// Bounds on the probability that the released walk is not η-typical: that its entropy per
/// transition is further than η from the chain's rate.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct TypicalityBound {
    steps: usize,
    rate: f64,
    /// The exact expected entropy per transition.
    expected: f64,
    published_excess: Option<f64>,
    diameter: f64,
    weight_range: f64,
    chain_mixing: MixingTime,
    joint_mixing: MixingTime,
}

/// Both bounds for one η, to print.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct TypicalityFigures {
    /// η, in nats per transition.
    pub eta: f64,
    /// See [`TypicalityBound::published`] and [`TypicalityBound::NOTE`].
    pub published: Option<f64>,
    /// See [`TypicalityBound::corrected`].
    pub corrected: Option<f64>,
}

impl TypicalityBound {
    /// What to say beside the published bound.
    pub const NOTE: &'static str = "as printed, and not valid: the mixing time has to be that of \
        the pair, the range that of the weights, and one inner state is not counted";

    /// Both bounds for one η.
    #[must_use]
    pub fn figures(&self, eta: f64) -> TypicalityFigures {
        TypicalityFigures { eta, published: self.published(eta), corrected: self.corrected(eta) }
    }

    /// The bounds for the walks of `exact`, which `entropy` is about too; `None` if the chain has no known
    /// entropy rate.
    #[must_use]
    pub fn new(
        model: &Model,
        entropy: &EntropyBound,
        exact: &Utility,
        chain_mixing: MixingTime,
        joint_mixing: MixingTime,
    ) -> Option<Self> {
        let weights = crate::analysis::edge_weights(model.chain());
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let smallest = weights.iter().copied().fold(f64::INFINITY, f64::min);
        Some(Self {
            steps: exact.steps,
            rate: exact.entropy_nats.rate?,
            expected: exact.entropy_nats.released,
            published_excess: entropy.published_excess,
            diameter: model.diameter().distance.as_f64(),
            weight_range: largest - smallest,
            chain_mixing,
            joint_mixing,
        })
    }

    /// The published bound on the probability of an entropy more than η above n/(n−1) times the
    /// rate, as printed. `None` where it is not defined or the real chain's mixing time is not
    /// known. It is not valid.
    #[must_use]
    pub fn published(&self, eta: f64) -> Option<f64> {
        let nu = eta - self.published_excess?;
        if self.chain_mixing.kind != MixingKind::Exact || self.steps < 2 {
            return None;
        }
        if nu <= 0.0 {
            return Some(1.0);
        }
        let n = self.steps as f64;
        let spread = (4.0 * n - 6.0) * self.diameter * self.diameter / ((n - 1.0) * (n - 1.0));
        Some((-2.0 * nu * nu / (9.0 * spread * self.chain_mixing.steps as f64)).exp())
    }

    /// The corrected bound on the probability that the entropy is further than η from the rate.
    /// `None` where the pair's mixing time is not known.
    #[must_use]
    pub fn corrected(&self, eta: f64) -> Option<f64> {
        if self.joint_mixing.kind != MixingKind::Exact || self.steps == 0 {
            return None;
        }
        let n = self.steps as f64;
        let spread = (4.0 * n - 2.0) * self.weight_range * self.weight_range / (n * n);
        // A pair that is mixed at once still has steps of one.
        let mixing = self.joint_mixing.steps.max(1) as f64;
        let tail = |nu: f64| {
            if nu <= 0.0 { 1.0 } else { (-2.0 * nu * nu / (9.0 * spread * mixing)).exp() }
        };
        let above = self.expected - self.rate;
        Some((tail(eta - above) + tail(eta + above)).min(1.0))
    }
}
