//! Responses: one state drawn over all states, likelier the nearer it is to the real one.
//!
//! A step of the [family](super) is drawn among the states that the last released one can move to. A
//! response is not: every state with a public weight `μ(y) > 0` can come up, whatever was released
//! before,
//!
//! ```text
//! K(y | x) ∝ μ(y) · exp(−η · m(y, x)),        m: what the adjacency counts,
//! ```
//!
//! with `m` the symmetric distance for a radius, and 0 or 1 for replaced states. It is the exponential
//! rule with the cost `η·m(y, x) + o(y)`, where the offset `o = −ln μ` is public. A private start is a
//! response whose weights are the initial distribution ([`first_state`](super::first_state)). An
//! observation is a response over all states.
//!
//! # Privacy
//!
//! Write `A(x) = Σ_y μ(y)·exp(−η·m(y, x))`, so that `ln K(y|x) = −η·m(y,x) − o(y) − ln A(x)`.
//!
//! **Claim.** The loss of replacing `x` by `x'` is at most `η·m(x, x') + |ln A(x) − ln A(x')|`, and that
//! is at most `2η·m(x, x')`.
//!
//! **Proof.** The offset does not depend on the real state and cancels. By the triangle inequality, which
//! holds exactly on integers, `|m(y,x) − m(y,x')| ≤ m(x,x')`, and so every term of `A` changes by a factor
//! of at most `exp(η·m(x,x'))`, and with it `A`. ∎ Where both states have a weight, the first bound is
//! attained: at `y = x` or at `y = x'`.
//!
//! **So the scale is between half of what is allowed and all of it.** Let `λ` be what one unit of `m` may
//! lose. `η = λ/2` always keeps it. The exact scale is the largest found for which every pair keeps
//! `η·m + |ln A(x) − ln A(x')| ≤ λ·m`; where not both states have a weight and that bound fails, the loss
//! is computed outcome by outcome. If the weights are such that `A` is the same for every real state, that
//! is `η = λ`: nothing is lost to the normaliser (the module `tight`).
//!
//! **On a graph without directions it is enough to look at its edges.** Let `m` be the length of the shortest way along
//! edges, and let no edge lose more than `λ·m` of its two ends. The loss of a pair is the largest difference of two
//! vectors of logarithms, so it keeps the triangle inequality, and the loss of any pair is at most the sum along a
//! shortest way between them: `λ·m` again. (An edge that is longer than the shortest way between its ends is held
//! against that way.) So an audit takes as many pairs as the graph has edges, for a city some thousands.
//!
//! **Replaced states.** With `m` 0 or 1, `A(x) = e^{−η}·Σμ + (1 − e^{−η})·μ(x)`. With equal weights it is
//! the same for all `x`: randomised response, and `η = λ` exactly.
//!
//! **States at distance zero** have equal costs, hence equal kernels: nothing is lost between them.
//!
//! Sampling is exact (the module `classes`, and `nearby` on the largest chains). The scale is a fraction, rounded down. `A` is computed in doubles
//! rounded outward: what it can be off by ([`log_kernel_error`]) is added to every loss before it is
//! compared with what is allowed.

mod calibrate;
mod classes;
mod nearby;
mod row;
#[cfg(test)]
mod tests;
pub(crate) mod tight;

use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::CostScale;
use super::log_total::LogTotal;
use super::step::Scale;
use crate::chain::{Chain, StateId};
use crate::model::Model;
use crate::nats::Nats;
use crate::random::{ExpCoin, Words};
use crate::rational::Rational;
use crate::rounding::{above, add_up, divide_up, log_kernel_error};
use classes::Classes;
use nearby::Rung;
pub(crate) use row::LogRow;

/// What one unit of the adjacency may lose, and what a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allowance {
    /// So much for each nat of symmetric distance.
    PerNat(Rational),
    /// So much for each replaced state.
    PerState(Rational),
}

impl Allowance {
    pub(crate) fn rate(self) -> Rational {
        let (Self::PerNat(rate) | Self::PerState(rate)) = self;
        rate
    }

    fn unit(self) -> Counted {
        match self {
            Self::PerNat(_) => Counted::Nats,
            Self::PerState(_) => Counted::States,
        }
    }
}

/// What `m` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Nats,
    States,
}

/// Costs that are not of a candidate.
const NO_CANDIDATE: u64 = u64::MAX;

/// A response with its weights and its scale.
pub(crate) struct Response {
    model: Arc<Model>,
    counted: Counted,
    scale: Scale,
    /// `o(y)` over the scale's denominator, the least of them zero; [`NO_CANDIDATE`] without a weight.
    offsets: Box<[u64]>,
    /// The states that have a weight.
    candidates: Box<[StateId]>,
    /// For nats, one for each real state that was asked for; for replaced states, a single one.
    classes: Box<[OnceLock<Classes>]>,
    /// Reaches to search within, where distances are searched for.
    rungs: Box<[Rung]>,
    /// `−ln A(x)` for every real state, where there is a table.
    factors: OnceLock<Box<[f64]>>,
    /// What the difference of two of them can be off by.
    error: OnceLock<f64>,
}

impl Response {
    /// The response with these weights at this scale, rounded down to what costs can count. `None` if
    /// that is zero, or no state has a weight.
    pub(crate) fn at_scale(
        model: &Arc<Model>,
        allowance: Allowance,
        weights: &[f64],
        eta: Rational,
    ) -> Option<Self> {
        let scale = Scale::new(CostScale::dyadic(eta)?);
        let offsets = offsets(weights, scale.cost.denominator())?;
        let candidates: Box<[StateId]> =
            model.chain().states().filter(|y| offsets[y.index()] != NO_CANDIDATE).collect();
        let counted = allowance.unit();
        let kinds = match (counted, model.searches()) {
            (Counted::States, _) => 1,
            (Counted::Nats, None) => model.chain().len(),
            (Counted::Nats, Some(_)) => 0,
        };
        let classes = (0..kinds).map(|_| OnceLock::new()).collect();
        let rungs = match (counted, model.searches()) {
            (Counted::Nats, Some(_)) => nearby::ladder(scale.cost.eta().as_f64()),
            _ => Box::default(),
        };
        let (model, factors, error) = (model.clone(), OnceLock::new(), OnceLock::new());
        Some(Self { model, counted, scale, offsets, candidates, classes, rungs, factors, error })
    }

    /// The scale in force.
    pub(crate) fn scale(&self) -> CostScale {
        self.scale.cost
    }

    /// Its coin.
    pub(super) fn coin(&self) -> ExpCoin {
        self.scale.coin
    }

    /// The states that can come up, in order.
    pub(crate) fn candidates(&self) -> &[StateId] {
        &self.candidates
    }

    /// What the weights add to the cost of each candidate, over the scale's denominator.
    pub(super) fn offset(&self, candidate: StateId) -> u64 {
        self.offsets[candidate.index()]
    }

    /// What names weights and scale.
    pub(super) fn hash_into(&self, hasher: &mut blake3::Hasher) {
        hasher.update(&[self.counted as u8]);
        for part in self.scale.cost.parts() {
            hasher.update(&part.to_le_bytes());
        }
        self.offsets.iter().for_each(|offset| {
            hasher.update(&offset.to_le_bytes());
        });
    }

    /// Draws the response to a real state.
    pub(crate) fn draw(&self, real: StateId, words: &mut impl Words) -> StateId {
        match self.counted {
            Counted::States => self.draw_unless_replaced(real, words),
            Counted::Nats => {
                // A chain that could have a table is drawn on as with one, so that both release the same.
                if let Some(searches) = self.model.searches()
                    && self.model.require_tables().is_err()
                {
                    return self.draw_nearby(searches, real, words);
                }
                let searched;
                let classes = match self.classes.get(real.index()) {
                    Some(slot) => slot.get_or_init(|| self.classes_around(real)),
                    None => {
                        searched = self.classes_around(real);
                        &searched
                    }
                };
                classes.draw(&self.scale.coin, words, |y| {
                    self.cost_at(y, self.model.symmetric_between(y, real))
                })
            }
        }
    }

    /// What the candidates cost, in order.
    pub(crate) fn fill_costs(&self, real: StateId, out: &mut Vec<u64>) {
        let mut distances = vec![Nats::ZERO; self.candidates.len()];
        self.fill_distances(real, &mut distances);
        out.clear();
        out.extend(self.candidates.iter().zip(distances).map(|(&y, d)| self.cost_at(y, d)));
    }

    /// `ln K(y | real)` of every candidate, in order.
    pub(crate) fn log_kernel(&self, real: StateId) -> Vec<f64> {
        let mut costs = Vec::new();
        self.fill_costs(real, &mut costs);
        let mut out = vec![0.0; costs.len()];
        super::log_kernel_of(super::Rule::Exponential, &costs, self.scale.cost, &mut out);
        out
    }

    /// `ln K(observed | x)` but for a constant, for the real states `x` that are given, ascending: what an
    /// observation says about them. The same on every machine.
    pub(crate) fn fill_log_likelihoods(
        &self,
        observed: StateId,
        reals: &[StateId],
        out: &mut Vec<f64>,
    ) {
        let per_unit = 1.0 / self.scale.cost.denominator() as f64;
        let cost = |d| self.scale.cost.cost(d, Nats::ZERO) as f64 * per_unit;
        let factors = self.factors();
        match self.counted {
            Counted::States => {
                out.clear();
                let replaced = cost(Nats::from_units(Nats::PER_NAT));
                out.extend(
                    reals
                        .iter()
                        .map(|&x| factors[x.index()] - if x == observed { 0.0 } else { replaced }),
                );
            }
            Counted::Nats => self.row(observed, factors).fill(reals, out),
        }
    }

    /// The same for all real states, to be computed where they are weighed. None for replaced states, where
    /// all likelihoods but one are nearly the same.
    pub(crate) fn log_row(&self, observed: StateId) -> Option<LogRow<'_>> {
        (self.counted == Counted::Nats).then(|| self.row(observed, self.factors()))
    }

    fn row<'a>(&'a self, observed: StateId, factors: &'a [f64]) -> LogRow<'a> {
        LogRow::new(self.scale.cost, factors, self.model.symmetric().to(observed))
    }

    /// The same, also where distances are searched for: then each real state takes a search.
    pub(crate) fn fill_log_laws(&self, drawn: StateId, reals: &[StateId], out: &mut Vec<f64>) {
        if self.counted == Counted::States || self.model.require_tables().is_ok() {
            return self.fill_log_likelihoods(drawn, reals, out);
        }
        let place = self.candidates.binary_search(&drawn);
        out.clear();
        out.extend(reals.iter().map(|&x| match place {
            Ok(place) => self.log_kernel(x)[place],
            Err(_) => f64::NEG_INFINITY,
        }));
    }

    /// Whether its loss is one for each nat; else it is one for each replaced state.
    pub(crate) fn counts_nats(&self) -> bool {
        self.counted == Counted::Nats
    }

    /// At least the loss of replacing `x` by `other`; nothing between states at distance zero.
    pub(crate) fn pair_loss(&self, x: StateId, other: StateId) -> f64 {
        if x == other || self.candidates.len() == 1 {
            return 0.0;
        }
        match self.counted {
            Counted::States => self.loss_per_state(),
            Counted::Nats => {
                let distance = self.model.symmetric().between(x, other);
                if distance == Nats::ZERO {
                    return 0.0;
                }
                (self.pair_loss_per_nat(x, other) * distance.as_f64()).next_up()
            }
        }
    }

    /// At least the largest loss of replacing a state, for each unit of what is counted.
    pub(crate) fn loss_per_unit(&self) -> f64 {
        if self.candidates.len() == 1 {
            return 0.0;
        }
        match self.counted {
            Counted::States => self.loss_per_state(),
            Counted::Nats => self.loss_per_nat(),
        }
    }

    fn cost_at(&self, candidate: StateId, distance: Nats) -> u64 {
        // The scale's costs and the offsets are each below 2⁶³.
        self.scale.cost.cost(distance, Nats::ZERO) + self.offsets[candidate.index()]
    }

    fn fill_distances(&self, real: StateId, out: &mut [Nats]) {
        let candidates = self.candidates.iter();
        match (self.counted, self.model.searches()) {
            (Counted::States, _) => out.iter_mut().zip(candidates).for_each(|(slot, &y)| {
                *slot = Nats::from_units(u32::from(y != real) * Nats::PER_NAT);
            }),
            (Counted::Nats, None) => {
                let row = self.model.symmetric().to(real);
                out.iter_mut().zip(candidates).for_each(|(slot, y)| *slot = row[y.index()]);
            }
            (Counted::Nats, Some(searches)) => {
                searches.fill_symmetric(&self.candidates, real, out);
            }
        }
    }

    fn classes_around(&self, real: StateId) -> Classes {
        let mut costs = Vec::new();
        self.fill_costs(real, &mut costs);
        Classes::new(&self.candidates, &costs, &self.scale.coin)
    }

    /// With `m` 0 or 1 all real states share one set of classes, in which every candidate counts as
    /// replaced. The real state has a place beside them, and is passed over among them.
    fn draw_unless_replaced(&self, real: StateId, words: &mut impl Words) -> StateId {
        let replaced = Nats::from_units(Nats::PER_NAT);
        let all = self.classes[0].get_or_init(|| {
            let costs: Vec<u64> =
                self.candidates.iter().map(|&y| self.cost_at(y, replaced)).collect();
            Classes::above_zero(&self.candidates, &costs, &self.scale.coin)
        });
        let own = match self.offsets[real.index()] {
            NO_CANDIDATE => None,
            offset => Some(offset),
        };
        all.draw_beside(&self.scale.coin, words, real, own, |y| self.cost_at(y, replaced))
    }

    /// `−ln A(x)` for every real state. In a fixed order, with functions that are the same everywhere:
    /// beliefs depend on it.
    fn factors(&self) -> &[f64] {
        if self.factors.get().is_none() {
            // Nobody waits for another thread that computes them too: that thread may wait for work which
            // the waiting one was to do.
            let _ = self.factors.set(self.compute_factors());
        }
        self.factors.get().expect("just set")
    }

    fn compute_factors(&self) -> Box<[f64]> {
        let per_nat = 1.0 / self.scale.cost.denominator() as f64;
        let per_unit = self.scale.cost.cost(Nats::from_units(1), Nats::ZERO) as f64 * per_nat;
        let offsets: Vec<f64> =
            self.candidates.iter().map(|y| self.offsets[y.index()] as f64 * per_nat).collect();
        let states: Vec<StateId> = self.model.chain().states().collect();
        if self.counted == Counted::States {
            return self.factors_of_replaced(&states, &offsets);
        }
        let factor = |distances: &mut Vec<Nats>, &x: &StateId| {
            distances.resize(self.candidates.len(), Nats::ZERO);
            self.fill_distances(x, distances);
            let total = LogTotal { distances, offsets: &offsets, per_unit };
            -pulp::Arch::new().dispatch(total)
        };
        let factors: Vec<f64> =
            states.par_iter().map_init(Vec::new, |space, x| factor(space, x)).collect();
        factors.into()
    }

    fn factors_of_replaced(&self, states: &[StateId], offsets: &[f64]) -> Box<[f64]> {
        let total: f64 = offsets.iter().map(|o| libm::exp(-o)).sum();
        let stays = -libm::expm1(-self.scale.cost.eta().as_f64());
        let per_nat = 1.0 / self.scale.cost.denominator() as f64;
        let weight = |x: &StateId| match self.offsets[x.index()] {
            NO_CANDIDATE => 0.0,
            offset => libm::exp(-(offset as f64) * per_nat),
        };
        let log = |x: &StateId| -libm::log((1.0 - stays) * total + stays * weight(x));
        states.iter().map(log).collect()
    }

    /// What the difference of two computed factors can be off by.
    fn error(&self) -> f64 {
        *self.error.get_or_init(|| match self.counted {
            Counted::States => self.error_up_to(Nats::from_units(Nats::PER_NAT)),
            Counted::Nats => self.error_up_to(self.model.diameter().distance),
        })
    }

    fn error_up_to(&self, farthest: Nats) -> f64 {
        let largest = self.candidates.iter().map(|y| self.offsets[y.index()]).max().unwrap_or(0);
        let cost = self.scale.cost.cost(farthest, Nats::ZERO).saturating_add(largest);
        let cost = divide_up(cost as f64, self.scale.cost.denominator() as f64);
        2.0 * log_kernel_error(self.candidates.len(), cost)
    }

    fn loss_per_state(&self) -> f64 {
        let factors = self.factors();
        let of = |pick: fn(f64, f64) -> f64, from| {
            self.candidates.iter().map(|y| factors[y.index()]).fold(from, pick)
        };
        let range = of(f64::max, f64::NEG_INFINITY) - of(f64::min, f64::INFINITY);
        let eta = above(self.scale.cost.eta());
        // Offsets are whole numbers: equal ones have equal factors, and nothing is rounded.
        let range = if range == 0.0 { 0.0 } else { add_up(range, self.error()) };
        if range == 0.0 { self.scale.cost.eta().as_f64() } else { add_up(eta, range) }
    }

    fn loss_per_nat(&self) -> f64 {
        match self.model.spanning_pairs() {
            Some(edges) => self.loss_per_nat_of_edges(&edges),
            None => self.loss_per_nat_of_pairs(),
        }
    }

    /// Where the metric is that of a graph without directions, no pair loses more for each nat than the worst edge.
    fn loss_per_nat_of_edges(&self, edges: &[(StateId, StateId, Nats)]) -> f64 {
        let loss = |&(x, other, _): &(StateId, StateId, Nats)| self.pair_loss_per_nat(x, other);
        // Filled by one thread, so that the others need not wait.
        let _ = (self.factors(), self.error());
        edges.par_iter().map(loss).reduce(|| 0.0, f64::max).next_up()
    }

    fn loss_per_nat_of_pairs(&self) -> f64 {
        let (factors, table, error) = (self.factors(), self.model.symmetric(), self.error());
        let eta = above(self.scale.cost.eta());
        let n = factors.len();
        (0..n)
            .into_par_iter()
            .map(|x| {
                let row = table.to(StateId::new(x));
                let mut largest = 0f64;
                for other in x + 1..n {
                    // A pair whose bound is no more than what was found need not be looked at closer.
                    let apart = (factors[x] - factors[other]).abs() + error;
                    let distance = row[other];
                    if distance > Nats::ZERO && eta + apart / distance.as_f64() > largest {
                        let (x, other) = (StateId::new(x), StateId::new(other));
                        largest = largest.max(self.pair_loss_per_nat(x, other));
                    }
                }
                largest.next_up()
            })
            .reduce(|| 0.0, f64::max)
    }

    /// At least the loss of a pair, for each nat of its distance; none at distance zero.
    fn pair_loss_per_nat(&self, x: StateId, other: StateId) -> f64 {
        let (factors, distance) = (self.factors(), self.model.symmetric().between(x, other));
        if distance == Nats::ZERO {
            return 0.0;
        }
        let apart = add_up((factors[x.index()] - factors[other.index()]).abs(), self.error());
        let eta = above(self.scale.cost.eta());
        let bound = add_up(eta, divide_up(apart, distance.as_f64()));
        let known = |state: StateId| self.offsets[state.index()] != NO_CANDIDATE;
        if known(x) && known(other) { bound } else { bound.min(self.outcome_by_outcome(x, other)) }
    }

    /// The same, where not both states can come up.
    fn outcome_by_outcome(&self, x: StateId, other: StateId) -> f64 {
        let (factors, table, error) = (self.factors(), self.model.symmetric(), self.error());
        let per_nat = 1.0 / self.scale.cost.denominator() as f64;
        let cost = |d: Nats| self.scale.cost.cost(d, Nats::ZERO) as f64 * per_nat;
        let (a, b) = (table.to(x), table.to(other));
        let apart = factors[x.index()] - factors[other.index()];
        let losses = self
            .candidates
            .iter()
            .map(|y| (apart - (cost(a[y.index()]) - cost(b[y.index()]))).abs());
        divide_up(add_up(losses.fold(0.0, f64::max), error), a[other.index()].as_f64())
    }
}

/// `−ln` of each weight over the largest, over a denominator; `None` if no weight is positive.
///
/// Weights below 2⁻⁶⁰ of the largest are taken for zero. The logarithm is one that is the same on
/// every machine, since offsets are part of what names a mechanism.
fn offsets(weights: &[f64], denominator: u64) -> Option<Box<[u64]>> {
    const LEAST: f64 = 1.0 / (1u64 << 60) as f64;
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let known = largest > 0.0 && largest.is_finite();
    let offset = |&weight: &f64| match weight / largest {
        share if share >= LEAST => (-libm::log(share) * denominator as f64).round() as u64,
        _ => NO_CANDIDATE,
    };
    known.then(|| weights.iter().map(offset).collect())
}

/// The probabilities that a chain's walks start with.
pub(super) fn initial_weights(chain: &Chain) -> Vec<f64> {
    chain.states().map(|state| chain.initial().probability(state)).collect()
}

impl std::fmt::Debug for Response {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Response")
            .field("counted", &self.counted)
            .field("eta", &self.scale.cost.eta())
            .field("candidates", &self.candidates.len())
            .finish_non_exhaustive()
    }
}
