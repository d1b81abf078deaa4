//! Believed candidates: an observation drawn among the states that the public belief holds possible.
//!
//! Before a real state is observed, anybody can say which states are likely: the belief moved on by the
//! chain (`predicted`). The candidates are the states with at least a share κ of the largest predicted
//! mass. The belief is made of earlier observations alone, so the candidates are public. Where few states
//! can be next (one-way streets, long stays) little noise is left.
//!
//! The cost is that of [`cell`](super::cell), with public sets in place of the chain's: the answer for `x`
//! is the candidate nearest to it, and a candidate costs what the distance of `x` to its cell does,
//!
//! ```text
//! D(y, x) = min { m(x, x') : x' predicted, answer(x') = y },
//! ```
//!
//! with `m` what the adjacency counts.
//!
//! # Privacy
//!
//! Given what was observed before, the candidates and their cells are fixed sets. **The cost is
//! 1-Lipschitz in x**: it is the distance to a fixed set (or, for a candidate that is nobody's answer, to
//! the candidate itself), and `m` satisfies the triangle inequality, exactly, on integers. So the
//! exponential rule at `η = λ/2` loses at most `λ·m(x, x')`, whatever the set is ([`exponential`]), with
//! `λ = ε/ρ`. **Replaced states:** exactly one candidate costs nothing and all others `η`. That is
//! randomised response around the answer, `η = ε/b`, and nothing is lost to the normaliser. The losses of
//! observations add up over the walk: each depends on the past through public sets alone.
//!
//! Beliefs are floats. They decide the sets, which are public, and never the law of an observation given
//! its set: costs are whole numbers and coins exact. With more than 1,024 predicted states the
//! cells are left out, and a candidate costs its own distance `m(y, x)`, by the same proof.

use std::sync::Arc;

use super::exponential;
use super::response::Allowance;
use super::step::Scale;
use super::{CostScale, Distance, LeastShare};
use crate::chain::StateId;
use crate::distance::Metric;
use crate::model::Model;
use crate::nats::Nats;
use crate::random::Words;
use crate::rational::Rational;
use crate::rounding::above;

/// With more predicted states than this, cells would take longer than they are worth.
const MOST_IN_CELLS: usize = 1024;

/// Predicted states, ascending, with their masses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Predicted<'a> {
    pub(crate) states: &'a [StateId],
    pub(crate) masses: &'a [f64],
}

/// Draws observations among believed candidates.
#[derive(Clone)]
pub(crate) struct Believed {
    least_share: LeastShare,
    scale: Scale,
    directed: Arc<dyn Metric>,
    /// None where replaced states are counted.
    symmetric: Option<Arc<dyn Metric>>,
    cells: Cells,
}

/// Whether candidates stand for cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cells {
    Made,
    LeftOut,
}

/// Working space.
#[derive(Clone, Debug, Default)]
pub(crate) struct BelievedSpace {
    candidates: Vec<StateId>,
    masses: Vec<f64>,
    /// For each predicted state, the place of its answer.
    answers: Vec<u32>,
    distances: Vec<Nats>,
    costs: Vec<u64>,
    halvings: Vec<u32>,
}

impl Believed {
    /// `None` if the scale is too small to be counted.
    pub(super) fn new(
        model: &Model,
        distance: Distance,
        allowance: Allowance,
        least_share: LeastShare,
    ) -> Option<Self> {
        let rate = allowance.rate();
        let (eta, symmetric) = match allowance {
            Allowance::PerState(rate) => (rate, None),
            Allowance::PerNat(_) => {
                let half = Rational::floor_of_products(
                    [rate.numerator().into()],
                    [rate.denominator().into(), 2],
                );
                (half, Some(model.symmetric_metric()))
            }
        };
        let scale = Scale::new(CostScale::dyadic(eta)?);
        let cells = if distance.nearest().is_some() { Cells::Made } else { Cells::LeftOut };
        let directed = model.directed_metric();
        Some(Self { least_share, scale, directed, symmetric, cells })
    }

    pub(super) fn scale(&self) -> CostScale {
        self.scale.cost
    }

    /// What is proven of the loss of replacing `x` by `other`, whatever is believed.
    pub(super) fn loss_at_most(&self, model: &Model, x: StateId, other: StateId) -> f64 {
        let eta = above(self.scale.cost.eta());
        match self.symmetric {
            None => self.scale.cost.eta().as_f64().next_up(),
            Some(_) => match model.symmetric_between(x, other) {
                Nats::ZERO => 0.0,
                distance => (2.0 * eta * distance.as_f64()).next_up(),
            },
        }
    }

    /// Draws the observation of a real state.
    pub(crate) fn draw(
        &self,
        predicted: Predicted<'_>,
        real: StateId,
        words: &mut impl Words,
        space: &mut BelievedSpace,
    ) -> StateId {
        self.prepare(predicted, space);
        self.fill_costs(predicted, real, space);
        let BelievedSpace { candidates, costs, halvings, .. } = space;
        let least = costs.iter().copied().min().unwrap_or(0);
        candidates[exponential::select(costs, least, &self.scale.coin, halvings, words)]
    }

    /// The candidates, with the costs of each for a real state.
    pub(super) fn candidates_and_costs(
        &self,
        predicted: Predicted<'_>,
        real: StateId,
    ) -> (Vec<StateId>, Vec<u64>) {
        let mut space = BelievedSpace::default();
        self.prepare(predicted, &mut space);
        self.fill_costs(predicted, real, &mut space);
        (space.candidates, space.costs)
    }

    /// The logarithm of the likelihood of an observation for the real states that are given, but for a
    /// constant.
    pub(crate) fn fill_log_likelihoods(
        &self,
        predicted: Predicted<'_>,
        observed: StateId,
        reals: &[StateId],
        space: &mut BelievedSpace,
        out: &mut Vec<f64>,
    ) {
        self.prepare(predicted, space);
        let place = space.candidates.binary_search(&observed);
        let per_unit = 1.0 / self.scale.cost.denominator() as f64;
        out.clear();
        if self.symmetric.is_none() {
            // One candidate costs nothing and all others the same, so the normaliser cancels.
            let replaced = self.scale.cost.cost(Nats::from_units(Nats::PER_NAT), Nats::ZERO);
            let replaced = -(replaced as f64) * per_unit;
            out.extend(reals.iter().map(|&x| match place {
                Ok(place) if self.answer(x, space) == place => 0.0,
                Ok(_) => replaced,
                Err(_) => f64::NEG_INFINITY,
            }));
            return;
        }
        for &x in reals {
            self.fill_costs(predicted, x, space);
            let costs = &space.costs;
            let least = costs.iter().copied().min().unwrap_or(0);
            let excess = |cost: u64| (cost - least) as f64 * per_unit;
            out.push(match place {
                Ok(place) => {
                    let total: f64 = costs.iter().map(|&cost| libm::exp(-excess(cost))).sum();
                    -excess(costs[place]) - libm::log(total)
                }
                Err(_) => f64::NEG_INFINITY,
            });
        }
    }

    /// Finds the candidates, and the answer for each predicted state.
    fn prepare(&self, predicted: Predicted<'_>, space: &mut BelievedSpace) {
        let largest = predicted.masses.iter().copied().fold(0.0, f64::max);
        let least = largest * self.least_share.value().as_f64();
        let BelievedSpace { candidates, masses, .. } = &mut *space;
        candidates.clear();
        masses.clear();
        for (&state, &mass) in predicted.states.iter().zip(predicted.masses) {
            if mass >= least {
                candidates.push(state);
                masses.push(mass);
            }
        }
        space.answers.clear();
        if self.makes_cells(predicted) {
            for &x in predicted.states {
                let answer = self.answer(x, space);
                space.answers.push(answer as u32);
            }
        }
    }

    fn makes_cells(&self, predicted: Predicted<'_>) -> bool {
        self.symmetric.is_some()
            && self.cells == Cells::Made
            && predicted.states.len() <= MOST_IN_CELLS
    }

    /// The place of the candidate nearest to `x`: itself if it is one, else the nearest, of equals the one
    /// with the largest mass, then the first.
    fn answer(&self, x: StateId, space: &mut BelievedSpace) -> usize {
        let BelievedSpace { candidates, masses, distances, .. } = space;
        if let Ok(place) = candidates.binary_search(&x) {
            return place;
        }
        distances.resize(candidates.len(), Nats::ZERO);
        self.directed.fill(x, candidates, x, distances);
        let mut best = 0;
        for place in 1..candidates.len() {
            let nearer = distances[place] < distances[best];
            if nearer || distances[place] == distances[best] && masses[place] > masses[best] {
                best = place;
            }
        }
        best
    }

    fn fill_costs(&self, predicted: Predicted<'_>, real: StateId, space: &mut BelievedSpace) {
        let one = Nats::from_units(Nats::PER_NAT);
        let Some(symmetric) = &self.symmetric else {
            let answer = self.answer(real, space);
            let replaced = self.scale.cost.cost(one, Nats::ZERO);
            space.costs.clear();
            space.costs.resize(space.candidates.len(), replaced);
            space.costs[answer] = 0;
            return;
        };
        let BelievedSpace { candidates, answers, distances, costs, .. } = space;
        costs.clear();
        distances.resize(candidates.len(), Nats::ZERO);
        symmetric.fill(real, candidates, real, distances);
        if answers.is_empty() {
            costs.extend(distances.iter().map(|&d| self.scale.cost.cost(d, Nats::ZERO)));
            return;
        }
        // A candidate is always in its own cell, so none is empty.
        let mut nearest = distances.clone();
        distances.resize(predicted.states.len(), Nats::ZERO);
        symmetric.fill(real, predicted.states, real, distances);
        for (&answer, &distance) in answers.iter().zip(distances.iter()) {
            let slot = &mut nearest[answer as usize];
            *slot = (*slot).min(distance);
        }
        costs.extend(nearest.iter().map(|&d| self.scale.cost.cost(d, Nats::ZERO)));
    }
}

impl std::fmt::Debug for Believed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Believed")
            .field("least_share", &self.least_share)
            .field("eta", &self.scale.cost.eta())
            .finish_non_exhaustive()
    }
}
