//! The probability that the released walk is far from the real one.
//!
//! # The corrected bound
//!
//! **Claim** (Hajek 1982, theorem 2.3). Let α > 0 and a level `a` be such that
//!
//! ```text
//! E[exp(α (V' − V))] ≤ ζ     from every pair with V > a,
//! E[exp(α (V' − a))] ≤ D     from every pair with V ≤ a.
//! ```
//!
//! Then `P(V_t > v) ≤ ζᵗ E[exp(α (V_0 − v))] + (1 + ζ + … + ζᵗ⁻¹) D exp(α (a − v))`.
//!
//! **Proof.** In one step `E[exp(α V_{t+1})] ≤ ζ E[exp(α V_t)] + D exp(α a)`, by the first condition
//! above the level and the second below it. Repeat from step 0 on, and apply Markov's inequality to
//! `exp(α V_t)`. ∎
//!
//! Kernels are known, so for a given α and `a` the smallest ζ and `D` are maxima over all pairs. A
//! grid of both is tried, and whichever pair of constants is best for a given step and distance is
//! used: each is a proof, so the smallest is one as well. The maxima are raised by 10⁻⁹, which is
//! more than rounding can have taken off.
//!
//! # The published bound
//!
//! `C_t exp(−α (v − B))` with `α = 2γ/D` and `ζ = 1 − γ²/D`, for γ the smallest drift in the
//! attractive set and `D` the largest step there. These constants do not follow from Hajek's
//! lemma: α has to be one over a distance, and a factor is missing in both. On every chain tried
//! the bound is above one.

use rayon::prelude::*;
#[cfg(feature = "serde")]
use serde::Serialize;

use crate::analysis::drift::Drift;
use crate::analysis::joint::{JointChain, JointLaw};
use crate::chain::StateId;
use crate::model::Model;
use crate::watch::{Stage, Stopped, Watch, report};

/// Bounds on `P(V_t > v)` for one start.
#[derive(Clone, Debug)]
pub struct ErrorBound {
    published: Option<PublishedConstants>,
    proofs: Vec<Proof>,
}

/// The constants of the published bound.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct PublishedConstants {
    /// `B`: the largest distance without negative drift. The bound speaks of distances above it.
    pub b_epsilon_nats: f64,
    /// γ: the smallest size of the drift in the attractive set.
    pub least_drift_nats: f64,
    /// `D`: the most that the distance can grow in a step within the attractive set.
    pub largest_step_nats: f64,
    /// α = 2γ/D.
    pub alpha: f64,
    /// ζ = 1 − γ²/D.
    pub zeta: f64,
    /// `E[exp(α V_0)]`.
    pub start_moment: f64,
}

/// A bound for one step and distance, with the constants that gave it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct BoundAt {
    /// The bound, at most one.
    pub probability: f64,
    /// α; zero where no constants give less than one.
    pub alpha: f64,
    /// The level `a`.
    pub level_nats: f64,
    /// ζ.
    pub zeta: f64,
    /// `D`.
    pub overshoot: f64,
}

/// Both bounds for one distance, to print beside the exact figures.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct ErrorBoundFigures {
    /// The distance in nats.
    pub nats: f64,
    /// The published bound for the last step, as printed; see [`ErrorBound::NOTE`].
    pub published: Option<f64>,
    /// The corrected bound, averaged over steps 1 to the last.
    pub corrected: f64,
    /// The corrected bound for the last step, with its constants.
    pub corrected_at_last: BoundAt,
}

/// One pair of constants that satisfies the conditions.
#[derive(Clone, Copy, Debug)]
struct Proof {
    alpha: f64,
    level: f64,
    zeta: f64,
    /// ln(D exp(α a)).
    log_below: f64,
    /// ln E[exp(α V_0)].
    log_start: f64,
}

/// What rounding could have taken off a maximum, and more.
const SLACK: f64 = 1.0 + 1e-9;
/// α times the largest distance stays below this, so that no exponential leaves the range of
/// doubles.
const LARGEST_EXPONENT: f64 = 600.0;
const ALPHAS: usize = 40;
const LEVELS: usize = 256;

impl ErrorBound {
    /// What to say beside the published bound.
    pub const NOTE: &'static str = "as printed, and not valid: its constants do not follow from \
        the theorem they are taken from; it speaks only of distances above b_epsilon_nats";

    /// Both bounds for several distances, over so many steps.
    #[must_use]
    pub fn figures(&self, steps: usize, levels: &[f64]) -> Vec<ErrorBoundFigures> {
        let figures = levels.iter().map(|&nats| ErrorBoundFigures {
            nats,
            published: self.published(steps, nats),
            corrected: self.corrected_per_step(steps, nats),
            corrected_at_last: self.corrected(steps, nats),
        });
        figures.collect()
    }

    /// Computes the constants for walks that start with this law.
    ///
    /// # Errors
    ///
    /// If the watcher asks to stop.
    ///
    /// # Complexity
    ///
    /// One sweep for each of forty values of α.
    pub fn new(
        joint: &JointChain<'_>,
        drift: &Drift,
        start: &JointLaw,
        watch: Watch<'_>,
    ) -> Result<Self, Stopped> {
        let model = joint.mechanism().model();
        let published = PublishedConstants::new(model, drift, start);
        let diameter = model.diameter().distance.as_f64();
        let mut proofs = Vec::new();
        if diameter > 0.0 {
            let levels = levels(model);
            // Evenly spread in proportion, from hardly any weight on large distances to the most.
            let (least, most) = (0.05 / diameter, LARGEST_EXPONENT / diameter);
            let ratio = (most / least).powf(1.0 / (ALPHAS - 1) as f64);
            for k in 0..ALPHAS {
                report(watch, Stage::Bounds, k, ALPHAS)?;
                let alpha = least * ratio.powi(k as i32);
                proofs.extend(proofs_for(joint, start, alpha, diameter, &levels));
            }
        }
        report(watch, Stage::Bounds, ALPHAS, ALPHAS)?;
        Ok(Self { published, proofs })
    }

    /// The published bound for a step and a distance: as printed, also where it is above one.
    /// `None` for distances up to `B`, and where no pair has negative drift.
    #[must_use]
    pub fn published(&self, step: usize, nats: f64) -> Option<f64> {
        let c = self.published?;
        if nats <= c.b_epsilon_nats {
            return None;
        }
        let power = c.zeta.powi(i32::try_from(step).unwrap_or(i32::MAX));
        let moment = power * (-c.alpha * c.b_epsilon_nats).exp() * c.start_moment;
        let rest = (1.0 - power) / (1.0 - c.zeta) * (c.alpha * c.largest_step_nats).exp();
        Some((moment + rest) * (-c.alpha * (nats - c.b_epsilon_nats)).exp())
    }

    /// The constants of the published bound; `None` if no pair has negative drift, or no step in
    /// the attractive set can take the released walk further away.
    #[must_use]
    pub fn published_constants(&self) -> Option<PublishedConstants> {
        self.published
    }

    /// The corrected bound on the probability of a distance above `nats` at a step.
    #[must_use]
    pub fn corrected(&self, step: usize, nats: f64) -> BoundAt {
        let trivial =
            BoundAt { probability: 1.0, alpha: 0.0, level_nats: 0.0, zeta: 1.0, overshoot: 1.0 };
        let bounds = self.proofs.iter().map(|proof| BoundAt {
            probability: proof.bound(step, nats),
            alpha: proof.alpha,
            level_nats: proof.level,
            zeta: proof.zeta,
            overshoot: (proof.log_below - proof.alpha * proof.level).exp(),
        });
        bounds.fold(trivial, |best, b| if b.probability < best.probability { b } else { best })
    }

    /// The corrected bound averaged over steps 1 to `steps`, to set beside the exact figure.
    #[must_use]
    pub fn corrected_per_step(&self, steps: usize, nats: f64) -> f64 {
        let sum: f64 = (1..=steps).map(|t| self.corrected(t, nats).probability).sum();
        sum / steps.max(1) as f64
    }
}

impl PublishedConstants {
    fn new(model: &Model, drift: &Drift, start: &JointLaw) -> Option<Self> {
        let least = drift.least_attraction()?;
        let largest = largest_step(model, drift)?;
        if largest <= 0.0 {
            return None;
        }
        let alpha = 2.0 * least / largest;
        let moment = start.expectation(|x, z, p| {
            p * (alpha * model.directed().to(StateId::new(x))[z].as_f64()).exp()
        });
        Some(Self {
            b_epsilon_nats: drift.b_epsilon().as_f64(),
            least_drift_nats: least,
            largest_step_nats: largest,
            alpha,
            zeta: 1.0 - least * least / largest,
            start_moment: moment,
        })
    }

    /// The limit of `C_t` for large t, as printed.
    pub(super) fn limit(&self) -> f64 {
        (self.alpha * self.largest_step_nats).exp() / (1.0 - self.zeta)
    }
}

/// The most that the distance can grow in one step from a pair with negative drift.
fn largest_step(model: &Model, drift: &Drift) -> Option<f64> {
    let (chain, directed) = (model.chain(), model.directed());
    let n = chain.len();
    // For every new real state, the farthest successor of each released state.
    let mut farthest = vec![crate::nats::Nats::ZERO; n * n];
    farthest.par_chunks_mut(n).enumerate().for_each(|(x, out)| {
        let row = directed.to(StateId::new(x));
        for (z, slot) in chain.states().zip(out) {
            let distances = chain.successors(z).iter().map(|y| row[y.index()]);
            *slot = distances.max().expect("every state has a successor");
        }
    });
    let steps = drift.attractive().par_chunks(n).enumerate().filter_map(|(x, attractive)| {
        let mut worst = vec![crate::nats::Nats::ZERO; n];
        for next in chain.successors(StateId::new(x)) {
            let row = &farthest[next.index() * n..][..n];
            worst.iter_mut().zip(row).for_each(|(worst, &d)| *worst = d.max(*worst));
        }
        let now = directed.to(StateId::new(x));
        let pairs = attractive.iter().zip(worst.iter().zip(now)).filter(|(a, _)| **a);
        pairs.map(|(_, (worst, now))| worst.as_f64() - now.as_f64()).max_by(f64::total_cmp)
    });
    steps.max_by(f64::total_cmp)
}

/// Levels to try, ascending: every distance there is, or an even grid where there are too many.
fn levels(model: &Model) -> Vec<f64> {
    let chain = model.chain();
    let mut seen = std::collections::BTreeSet::<crate::nats::Nats>::new();
    for x in chain.states() {
        seen.extend(model.directed().to(x));
        if seen.len() > LEVELS {
            let step = model.diameter().distance.as_f64() / (LEVELS - 1) as f64;
            return (0..LEVELS).map(|k| k as f64 * step).collect();
        }
    }
    seen.into_iter().map(|d| d.as_f64()).collect()
}

/// The constants for one α and every level, leaving out those that another makes superfluous.
fn proofs_for(
    joint: &JointChain<'_>,
    start: &JointLaw,
    alpha: f64,
    diameter: f64,
    levels: &[f64],
) -> Vec<Proof> {
    let directed = joint.mechanism().model().directed();
    let nats = |x: usize, z: usize| directed.to(StateId::new(x))[z].as_f64();
    let n = joint.states();
    // All exponentials are relative to that of the largest distance.
    let moment = joint.expectation(|x, z| (alpha * (nats(x, z) - diameter)).exp());
    let log_start = start.expectation(|x, z, p| p * (alpha * (nats(x, z) - diameter)).exp()).ln();
    // For the pairs between two levels, the largest quotient and the largest moment.
    let empty = || vec![(0.0f64, 0.0f64); levels.len() + 1];
    let bins = moment
        .par_chunks(n)
        .enumerate()
        .fold(empty, |mut bins, (x, row)| {
            for (z, &moment) in row.iter().enumerate() {
                let v = nats(x, z);
                let bin = &mut bins[levels.partition_point(|&level| level < v)];
                bin.0 = bin.0.max(moment * (alpha * (diameter - v)).exp());
                bin.1 = bin.1.max(moment);
            }
            bins
        })
        .reduce(empty, |mut a, b| {
            let both = a.iter_mut().zip(b);
            both.for_each(|(a, b)| *a = (a.0.max(b.0), a.1.max(b.1)));
            a
        });
    // The quotient above each level, then the moment up to it.
    let mut zetas = vec![0.0f64; levels.len()];
    let mut above = 0.0f64;
    for k in (0..levels.len()).rev() {
        above = above.max(bins[k + 1].0);
        zetas[k] = above * SLACK;
    }
    let (mut below, mut best) = (0.0f64, 1.0);
    let mut proofs = Vec::new();
    for (k, &level) in levels.iter().enumerate() {
        below = below.max(bins[k].1);
        // A higher level costs more below it, so it has to gain something above.
        if zetas[k] < best {
            best = zetas[k];
            let log_below = (below * SLACK).ln() + alpha * diameter;
            let log_start = log_start + alpha * diameter;
            proofs.push(Proof { alpha, level, zeta: best, log_below, log_start });
        }
    }
    proofs
}

impl Proof {
    fn bound(&self, step: usize, nats: f64) -> f64 {
        let power = self.zeta.powi(i32::try_from(step).unwrap_or(i32::MAX));
        let start = power * (self.log_start - self.alpha * nats).exp();
        let geometric = (1.0 - power) / (1.0 - self.zeta);
        (start + geometric * (self.log_below - self.alpha * nats).exp()) * SLACK
    }
}
