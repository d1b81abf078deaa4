//! Drift: whether the released walk is drawn back to the real one.
//!
//! The drift of a pair is the expected change of the distance in one step,
//! `E[V(x', y) − V(x, z)]`. The *attractive set* is where it is negative, and `B` is the largest
//! distance outside that set: beyond `B`, everything is drawn back. Kernels are known, so all of it
//! is computed.
//!
//! # The Lemma
//!
//! Benvenuti and Hale give a sufficient condition for negative drift. Let `m` and `D` be the
//! smallest and the largest distance from a successor of `z` to `x'`, γ the gap between the
//! smallest and the next one, and
//!
//! ```text
//! π = 1 / (1 + (n − 1) exp(−η γ))         for n successors.
//! ```
//!
//! **Published**: `m > (1 − π)/π · D + δ/π` for every successor `x'` of `x`, where δ is the entropy
//! of the row of `x`. The argument takes `m`, a distance that remains, for one that was gained, and
//! the condition can hold where the drift is positive.
//!
//! **Corrected**: `Σ_{x'} P(x, x') (π m + (1 − π) D) < d(z, x)`, with γ the gap to the next
//! *different* distance.
//!
//! *Proof.* Given `x'`, a nearest successor is released with probability at least π, which leaves
//! `m`; anything else leaves at most `D ≥ m`. So `E[V(x', y) | x'] ≤ π m + (1 − π) D`; average over
//! `x'`. ∎
//!
//! That π is a lower bound holds for the directed distance without chain weight, where the nearest
//! successors are the cheapest. For the exponential rule, with `k` nearest ones, their probability
//! is at least `k / (k + (n − k) exp(−η γ)) ≥ π`. For permute-and-flip it is at least as large as
//! for the exponential rule (McKenna and Sheldon 2020): its probability of `y` divided by `p_y` is
//! `∫₀¹ Π_j (1 − p_j u) / (1 − p_y u) du`, which grows with `p_y`, so that next to the exponential
//! rule it moves probability from costlier to cheaper candidates. For other distances, or with a
//! chain weight, the nearest successor need not be the cheapest, and neither version says anything.

use rayon::prelude::*;
#[cfg(feature = "serde")]
use serde::Serialize;

use super::joint::JointChain;
use super::row_entropies;
use crate::chain::StateId;
use crate::mechanism::{ChainWeight, Distance, Mechanism};
use crate::nats::Nats;
use crate::watch::{Stage, Stopped, Watch, report};

/// The exact drift of every pair, and what the two versions of the Lemma say of it.
#[derive(Clone)]
pub struct Drift {
    states: usize,
    /// One row for each real state.
    drift: Vec<f64>,
    attractive: Vec<bool>,
    lemma: Option<Lemma>,
    b_epsilon: Nats,
}

#[derive(Clone)]
struct Lemma {
    published: Vec<bool>,
    corrected: Vec<bool>,
}

/// Drift in a few numbers. Shares are of all |S|² pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct DriftReport {
    /// How many pairs there are.
    pub joint_states: usize,
    /// The share of pairs with negative drift.
    pub attractive: f64,
    /// The share of pairs for which the Lemma as published claims it. `None` for mechanisms that
    /// it does not speak of.
    pub published: Option<f64>,
    /// The share of pairs for which the corrected Lemma proves it. `None` likewise.
    pub corrected: Option<f64>,
    /// The share of pairs for which the published Lemma claims it wrongly.
    pub published_wrongly: Option<f64>,
    /// The largest distance of a pair without negative drift.
    pub b_epsilon_nats: f64,
}

impl Drift {
    /// Computes the drift of every pair.
    ///
    /// # Precision
    ///
    /// A drift counts as negative when it is below zero by more than 10⁻¹² of the largest
    /// distance: what is smaller could be rounding. The corrected Lemma has to hold by twice as
    /// much.
    ///
    /// # Errors
    ///
    /// If the watcher asks to stop.
    ///
    /// # Complexity
    ///
    /// One sweep, and as much again for the Lemma.
    pub fn new(joint: &JointChain<'_>, watch: Watch<'_>) -> Result<Self, Stopped> {
        const STAGES: usize = 2;
        let model = joint.mechanism().model();
        let (n, directed) = (model.chain().len(), model.directed());
        report(watch, Stage::Drift, 0, STAGES)?;
        let nats = |x: usize, z: usize| directed.to(StateId::new(x))[z].as_f64();
        let mut drift = joint.expectation(nats);
        let tolerance = 1e-12 * model.diameter().distance.as_f64().max(1.0);
        drift.par_chunks_mut(n).enumerate().for_each(|(x, row)| {
            row.iter_mut().enumerate().for_each(|(z, e)| *e -= nats(x, z));
        });
        let attractive: Vec<bool> = drift.par_iter().map(|&d| d < -tolerance).collect();
        let outside = attractive.par_chunks(n).enumerate().filter_map(|(x, row)| {
            let row = row.iter().zip(directed.to(StateId::new(x)));
            row.filter(|(attractive, _)| !**attractive).map(|(_, &d)| d).max()
        });
        let b_epsilon = outside.max().unwrap_or(Nats::ZERO);
        report(watch, Stage::Drift, 1, STAGES)?;
        let lemma = lemma_speaks_of(joint.mechanism()).then(|| Lemma::new(joint, tolerance));
        report(watch, Stage::Drift, STAGES, STAGES)?;
        Ok(Self { states: n, drift, attractive, lemma, b_epsilon })
    }

    fn place(&self, real: StateId, released: StateId) -> usize {
        real.index() * self.states + released.index()
    }

    /// The exact drift of a pair, in nats.
    #[must_use]
    pub fn at(&self, real: StateId, released: StateId) -> f64 {
        self.drift[self.place(real, released)]
    }

    /// Whether the drift of a pair is negative.
    #[must_use]
    pub fn is_attractive(&self, real: StateId, released: StateId) -> bool {
        self.attractive[self.place(real, released)]
    }

    /// Whether the Lemma as published claims negative drift for a pair. `None` for mechanisms that
    /// it does not speak of.
    #[must_use]
    pub fn published_lemma(&self, real: StateId, released: StateId) -> Option<bool> {
        self.lemma.as_ref().map(|lemma| lemma.published[self.place(real, released)])
    }

    /// Whether the corrected Lemma proves negative drift for a pair. `None` likewise.
    #[must_use]
    pub fn corrected_lemma(&self, real: StateId, released: StateId) -> Option<bool> {
        self.lemma.as_ref().map(|lemma| lemma.corrected[self.place(real, released)])
    }

    /// `B`: the largest distance of a pair without negative drift.
    #[must_use]
    pub fn b_epsilon(&self) -> Nats {
        self.b_epsilon
    }

    /// The smallest size of the drift in the attractive set; `None` if the set is empty.
    pub(super) fn least_attraction(&self) -> Option<f64> {
        let attracted = self.drift.par_iter().zip(&self.attractive).filter(|(_, a)| **a);
        attracted.map(|(d, _)| -d).min_by(f64::total_cmp)
    }

    pub(super) fn attractive(&self) -> &[bool] {
        &self.attractive
    }

    /// The shares.
    #[must_use]
    pub fn report(&self) -> DriftReport {
        let total = self.attractive.len();
        let share = |marks: &[bool]| marks.iter().filter(|m| **m).count() as f64 / total as f64;
        let wrongly = |marks: &[bool]| {
            let pairs = marks.iter().zip(&self.attractive);
            pairs.filter(|(claimed, holds)| **claimed && !**holds).count() as f64 / total as f64
        };
        let lemma = self.lemma.as_ref();
        DriftReport {
            joint_states: total,
            attractive: share(&self.attractive),
            published: lemma.map(|l| share(&l.published)),
            corrected: lemma.map(|l| share(&l.corrected)),
            published_wrongly: lemma.map(|l| wrongly(&l.published)),
            b_epsilon_nats: self.b_epsilon.as_f64(),
        }
    }
}

/// Whether the nearest candidates are the cheapest.
fn lemma_speaks_of(mechanism: &Mechanism) -> bool {
    let design = mechanism.design();
    design.distance == Distance::Directed && design.chain_weight == ChainWeight::ZERO
}

/// What both versions need of the successors of `z`, for one new real state.
struct Candidates {
    smallest: f64,
    largest: f64,
    /// π with the gap to the second candidate, which is zero if two are nearest.
    published: f64,
    /// π with the gap to the next different distance.
    corrected: f64,
}

impl Candidates {
    fn new(distances: impl Iterator<Item = Nats>, eta: f64) -> Self {
        let (mut count, mut nearest) = (0u32, 0u32);
        let (mut smallest, mut next, mut largest) = (Nats::MAX, None::<Nats>, Nats::ZERO);
        for d in distances {
            if count == 0 || d < smallest {
                next = (count > 0).then_some(smallest);
                (smallest, nearest) = (d, 0);
            } else if d > smallest && next.is_none_or(|other| d < other) {
                next = Some(d);
            }
            nearest += u32::from(d == smallest);
            largest = largest.max(d);
            count += 1;
        }
        let others = f64::from(count - 1);
        let pi = |gap: f64| 1.0 / (1.0 + others * (-eta * gap).exp());
        let corrected = next.map_or(1.0, |next| pi(next.as_f64() - smallest.as_f64()));
        Self {
            smallest: smallest.as_f64(),
            largest: largest.as_f64(),
            published: if nearest > 1 { pi(0.0) } else { corrected },
            corrected,
        }
    }
}

impl Lemma {
    fn new(joint: &JointChain<'_>, tolerance: f64) -> Self {
        let mechanism = joint.mechanism();
        let model = mechanism.model();
        let (chain, directed) = (model.chain(), model.directed());
        let n = chain.len();
        let etas: Vec<f64> = chain.states().map(|z| mechanism.scale(z).eta().as_f64()).collect();
        // For every new real state and last released one: π m − (1 − π) D, and π m + (1 − π) D.
        let mut gained = vec![0.0; n * n];
        let mut left = vec![0.0; n * n];
        let rows = gained.par_chunks_mut(n).zip(left.par_chunks_mut(n)).enumerate();
        rows.for_each(|(x, (gained, left))| {
            let row = directed.to(StateId::new(x));
            for z in chain.states() {
                let distances = chain.successors(z).iter().map(|y| row[y.index()]);
                let c = Candidates::new(distances, etas[z.index()]);
                gained[z.index()] = c.published * c.smallest - (1.0 - c.published) * c.largest;
                left[z.index()] = c.corrected * c.smallest + (1.0 - c.corrected) * c.largest;
            }
        });
        let entropies = row_entropies(chain);
        let published = (0..n).into_par_iter().flat_map_iter(|x| {
            let mut least = vec![f64::INFINITY; n];
            for next in chain.successors(StateId::new(x)) {
                let row = &gained[next.index() * n..][..n];
                least.iter_mut().zip(row).for_each(|(least, &g)| *least = least.min(g));
            }
            let delta = entropies[x];
            least.into_iter().map(move |least| least > delta)
        });
        let published = published.collect();
        drop(gained);
        let mut expected = vec![0.0; n * n];
        joint.average_over_real_moves(&left, &mut expected);
        let corrected = expected.par_chunks(n).enumerate().flat_map_iter(|(x, row)| {
            let distances = directed.to(StateId::new(x)).iter();
            row.iter().zip(distances).map(move |(e, d)| *e < d.as_f64() - 2.0 * tolerance)
        });
        Self { published, corrected: corrected.collect() }
    }
}

impl std::fmt::Debug for Drift {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Drift").field("report", &self.report()).finish_non_exhaustive()
    }
}
