//! The answer to a belief: of the moves that the chain allows, the one expected to be nearest.

use std::sync::Arc;

use super::filter::Belief;
use super::shortlist::Choice;
use crate::ahead::Ahead;
use crate::chain::StateId;
use crate::distance::Metric;
use crate::mechanism::{TrackAim, Tracking};
use crate::model::{LookAheadError, Model};
use crate::nats::Nats;
use crate::watch::unwatched;

/// Scratch memory for answers.
#[derive(Clone, Debug, Default)]
pub(super) struct AnswerSpace {
    /// For each candidate, how bad it is expected to be.
    pub(super) costs: Vec<f64>,
    /// Distances of the last state that was asked for.
    pub(super) distances: Vec<Nats>,
    /// The candidates that can be the best, and their places.
    pub(super) compared: Vec<StateId>,
    pub(super) places: Vec<usize>,
    /// A bit for each state that has much of the mass, and for each that has more.
    pub(super) heavy: Vec<u64>,
    pub(super) heavier: Vec<u64>,
    /// Candidates to start with.
    starts: Vec<StateId>,
}

/// What an answer costs when the real state is another one.
#[derive(Clone, Debug)]
enum Cost {
    /// The symmetric distance between the two.
    Distance(Arc<dyn Metric>),
    /// One.
    States,
    /// One of these, and what is expected to be lost afterwards.
    Ahead(Arc<Ahead>),
}

/// Answers beliefs on one model. Walks share it.
#[derive(Clone, Debug)]
pub(crate) struct Tracker {
    model: Arc<Model>,
    tracking: Tracking,
    gamma: f64,
    threshold: f64,
    cost: Cost,
    initial: Belief,
}

impl Tracker {
    /// States that have less than this part of the largest mass are dropped from a belief after an
    /// observation: one in a million.
    ///
    /// It is the largest power of ten that changed none of 14,400 states released for their distance, with
    /// a lag of five and without one. (Where states were to be right it changed some, all on the last of
    /// the chains below: 93.0 % were wrong instead of 92.5 %, and with the lag as many as before.) Mean
    /// size of the belief, and mean distance from the exact one in total variation, with observations
    /// that are as likely as `exp(-λ·distance)`:
    ///
    /// | chain, λ | nothing dropped | 10⁻⁹ | 10⁻⁶ | 10⁻⁴ |
    /// |---|---|---|---|---|
    /// | credit, 0.3 | 9 | 7, 2·10⁻¹⁰ | 6, 4·10⁻⁷ | 4, 6·10⁻⁵ |
    /// | 30 × 30 grid, 0.3 | 900 | 253, 5·10⁻⁹ | 168, 7·10⁻⁶ | 108, 7·10⁻⁴ |
    /// | 30 × 30 grid, 1 | 880 | 54, 3·10⁻⁹ | 33, 7·10⁻⁶ | 20, 6·10⁻⁴ |
    /// | 3,808 states of 15 random moves, 1 | 3,808 | 1,637, 5·10⁻⁷ | 581, 3·10⁻⁴ | 146, 1·10⁻² |
    pub(crate) const PRUNED_BELOW: f64 = 1e-6;

    /// How many states a belief keeps at most where every distance is a search.
    pub(crate) const MOST_SEARCHED: usize = 256;
    /// With more states to start from than this, so many of the likeliest are compared.
    const MOST_STARTS: usize = 256;

    /// Follows walks on this model.
    ///
    /// # Panics
    ///
    /// If it is to look ahead, and the chain is too large for that.
    pub(crate) fn new(model: Arc<Model>, tracking: Tracking) -> Self {
        let cost = match tracking.aim {
            TrackAim::Distance => Cost::Distance(model.symmetric_metric()),
            TrackAim::States => Cost::States,
            TrackAim::StatesAhead => Cost::Ahead(made(model.states_ahead(&unwatched))),
            TrackAim::DistanceAhead => Cost::Ahead(made(model.distance_ahead(&unwatched))),
        };
        let initial = Belief::initial(model.chain());
        let (gamma, threshold) = (tracking.gamma.as_f64(), Self::PRUNED_BELOW);
        Self { model, tracking, gamma, threshold, cost, initial }
    }

    /// The same with another part of the largest mass below which states are dropped: from zero, which
    /// drops nothing, to less than one.
    #[cfg(test)]
    pub(crate) fn with_threshold(self, threshold: f64) -> Self {
        Self { threshold, ..self }
    }

    /// The model.
    pub(crate) fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// What is believed of a walk before anything of it was observed.
    pub(crate) fn initial(&self) -> &Belief {
        &self.initial
    }

    #[cfg(test)]
    pub(super) fn tracking(&self) -> Tracking {
        self.tracking
    }

    pub(super) fn threshold(&self) -> f64 {
        self.threshold
    }

    /// How many states a belief keeps at most. With a table of distances any number; where every distance is
    /// a search, no more than can be searched around while somebody waits.
    pub(super) fn most_states(&self) -> usize {
        if self.model.needs_searches() { Self::MOST_SEARCHED } else { usize::MAX }
    }

    /// How many steps wait at most.
    pub(super) fn lag(&self) -> usize {
        usize::try_from(self.tracking.lag).unwrap_or(usize::MAX)
    }

    /// The best state to release next, for these masses of these states: a successor of the last
    /// released state, or a state that walks start from if nothing was released yet.
    pub(super) fn answer(
        &self,
        last: Option<StateId>,
        states: &[StateId],
        masses: &[f64],
        space: &mut AnswerSpace,
    ) -> StateId {
        let chain = self.model.chain();
        let mut starts = std::mem::take(&mut space.starts);
        let (candidates, weights) = match last {
            Some(last) => (chain.successors(last), chain.weights(last)),
            None if self.initial.states().len() > Self::MOST_STARTS => {
                likeliest(states, masses, Self::MOST_STARTS, &mut starts);
                (&starts[..], &[][..])
            }
            None => (self.initial.states(), &[][..]),
        };
        let typicality = |place: usize| {
            weights.get(place).map_or(0.0, |weight: &Nats| self.gamma * weight.as_f64())
        };
        let answer = match &self.cost {
            Cost::Distance(metric) => {
                let metric = metric.as_ref();
                let choice = Choice { metric, candidates, added: &typicality, states, masses };
                self.nearest(choice, space)
            }
            cost => {
                match cost {
                    Cost::Ahead(table) => {
                        expected_ahead(table, candidates, states, masses, &mut space.costs);
                    }
                    _ => wrong_states(candidates, states, masses, &mut space.costs),
                }
                for (place, cost) in space.costs.iter_mut().enumerate() {
                    *cost += typicality(place);
                }
                candidates[cheapest(&space.costs)]
            }
        };
        space.starts = starts;
        answer
    }

    /// The candidate with the least expected distance, typicality included.
    fn nearest(&self, choice: Choice<'_>, space: &mut AnswerSpace) -> StateId {
        let Choice { metric, candidates, added, states, masses } = choice;
        space.compared.clear();
        space.compared.extend_from_slice(candidates);
        space.places.clear();
        space.places.extend(0..candidates.len());
        // Where distances are searched for, every row that is asked for costs a search.
        if self.model.searches().is_none_or(|searches| searches.is_quick()) {
            choice.shortlist(space);
        }
        let AnswerSpace { costs, distances, places, compared, .. } = space;
        if let [only] = compared[..] {
            return only;
        }
        costs.clear();
        costs.resize(compared.len(), 0.0);
        expected_distances(metric, compared, states, masses, costs, distances);
        for (cost, &place) in costs.iter_mut().zip(places.iter()) {
            *cost += added(place);
        }
        compared[cheapest(costs)]
    }
}

/// The place of the least, of equals the first.
pub(crate) fn cheapest(costs: &[f64]) -> usize {
    let mut best = 0;
    for (place, cost) in costs.iter().enumerate() {
        if *cost < costs[best] {
            best = place;
        }
    }
    best
}

/// The place of the largest, of equals the first.
pub(crate) fn largest(numbers: &[f64]) -> usize {
    let mut best = 0;
    for (place, number) in numbers.iter().enumerate() {
        if *number > numbers[best] {
            best = place;
        }
    }
    best
}

/// The states with the largest masses, in order; of equals the first.
fn likeliest(states: &[StateId], masses: &[f64], most: usize, out: &mut Vec<StateId>) {
    out.clear();
    if states.len() <= most {
        out.extend_from_slice(states);
        return;
    }
    let mut places: Vec<usize> = (0..states.len()).collect();
    places.sort_by(|&a, &b| masses[b].total_cmp(&masses[a]).then(a.cmp(&b)));
    places.truncate(most);
    places.sort_unstable();
    out.extend(places.into_iter().map(|place| states[place]));
}

/// Sets each candidate's cost to its expected distance: `Σ_x b(x) D(w, x)`, from the first `x` to the
/// last.
///
/// The distance is symmetric, and does not depend on the last released state. So the metric may be asked
/// from either side, and is asked from the one with fewer states: that is fewer rows of a table to
/// fetch, or fewer searches. The sums are the same.
pub(crate) fn expected_distances(
    metric: &dyn Metric,
    candidates: &[StateId],
    states: &[StateId],
    masses: &[f64],
    costs: &mut [f64],
    distances: &mut Vec<Nats>,
) {
    if candidates.len() < states.len() {
        // Four sums at a time: none of them has to wait for its own last addition.
        distances.resize(4 * states.len(), Nats::ZERO);
        for (costs, candidates) in costs.chunks_mut(4).zip(candidates.chunks(4)) {
            for (row, &candidate) in distances.chunks_exact_mut(states.len()).zip(candidates) {
                metric.fill(candidate, states, candidate, row);
            }
            costs.copy_from_slice(&four_sums(masses, distances)[..candidates.len()]);
        }
    } else {
        distances.resize(candidates.len(), Nats::ZERO);
        for (&state, mass) in states.iter().zip(masses) {
            metric.fill(state, candidates, state, distances);
            for (cost, distance) in costs.iter_mut().zip(distances.iter()) {
                *cost += mass * f64::from(distance.units());
            }
        }
    }
    costs.iter_mut().for_each(|cost| *cost /= f64::from(Nats::PER_NAT));
}

/// The sums of four rows of distances, weighed by the masses, in units of distances.
fn four_sums(masses: &[f64], distances: &[Nats]) -> [f64; 4] {
    let (first, second) = distances.split_at(2 * masses.len());
    let (first, second) = (first.split_at(masses.len()), second.split_at(masses.len()));
    let rows = first.0.iter().zip(first.1).zip(second.0.iter().zip(second.1));
    let mut sums = [0.0; 4];
    for (mass, ((&a, &b), (&c, &d))) in masses.iter().zip(rows) {
        for (sum, distance) in sums.iter_mut().zip([a, b, c, d]) {
            *sum += mass * f64::from(distance.units());
        }
    }
    sums
}

/// Takes from each candidate's cost the mass of its state. That is the probability of being wrong but
/// for a one that all have in common, and that would swallow small masses.
fn wrong_states(candidates: &[StateId], states: &[StateId], masses: &[f64], costs: &mut Vec<f64>) {
    costs.clear();
    costs.resize(candidates.len(), 0.0);
    for (cost, candidate) in costs.iter_mut().zip(candidates) {
        if let Ok(place) = states.binary_search(candidate) {
            *cost -= masses[place];
        }
    }
}

fn made(table: Result<&Arc<Ahead>, LookAheadError>) -> Arc<Ahead> {
    table.unwrap_or_else(|error| panic!("{error}")).clone()
}

/// Sets each candidate's cost to what is expected to be lost from it on: `Σ_x b(x) V(w, x)`, from the first `x` to
/// the last.
fn expected_ahead(
    table: &Ahead,
    candidates: &[StateId],
    states: &[StateId],
    masses: &[f64],
    costs: &mut Vec<f64>,
) {
    costs.clear();
    costs.extend(candidates.iter().map(|&candidate| {
        let row = table.of(candidate);
        let terms = states.iter().zip(masses);
        let sum = terms.fold(0.0, |sum, (x, mass)| sum + mass * f64::from(row[x.index()]));
        sum / table.one()
    }));
}
