//! The feasible walk that is expected to be nearest to the real one.
//!
//! Given the posterior of every step, the expected cost of releasing `w` at step `t` is `c_t(w) = Σ_x γ_t(x) D(w, x)`, or
//! `1 − γ_t(w)` where right states count. Costs add up over the steps, and which states may follow each other
//! is fixed by the chain. So the best feasible walk is a shortest path through the steps, found exactly by
//! going through them once. The released walk is one of the paths, so the refined one is never expected to
//! be worse.
//!
//! With a table of distances every state of the chain can be part of the walk. Without one, the states are
//! those that are believed and the released ones, since every other distance would be a search.
//!
//! With a lag, the state of step `t` is chosen when `L` more steps are known, as the tracker does it: the move from
//! the last chosen state that is expected to be nearest.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::posterior::{InferenceSpace, Posterior};
use super::{Inference, UnlikelyRelease};
use crate::belief::{cheapest, expected_distances, posterior_of_first};
use crate::chain::StateId;
use crate::distance::Metric;
use crate::mechanism::{Start, UnknownName, named};
use crate::nats::Nats;
use crate::outcome::Outcome;

/// What a refined walk is to be good at. (All steps are looked at together, so there is no looking ahead.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RefineAim {
    /// Little distance to the real states: the symmetric distance, in nats.
    #[default]
    Distance,
    /// Many right states.
    States,
}

named!(RefineAim, "aim of refined walks",
    Distance => "distance",
    States => "states",
);

/// A refined walk.
#[derive(Clone, Debug, PartialEq)]
pub struct Refined {
    /// Its states: every move is one that the chain allows.
    pub states: Vec<StateId>,
    /// For each, the probability that it is the real state.
    pub confidence: Vec<f64>,
    /// What it is expected to cost in all: the sum of the distances to the real states in nats, or the number of wrong
    /// states.
    pub cost: f64,
    /// What the released walk is expected to cost.
    pub released_cost: f64,
    /// The shares of the mass that were dropped, as [`Posterior::dropped`] has them.
    pub dropped: f64,
    /// At how many steps what was released contradicted everything that was believed.
    pub surprises: u64,
}

impl Inference {
    /// The feasible walk that is expected to be nearest to the real one, given all that was released; from its
    /// posterior and the released walk.
    ///
    /// # Panics
    ///
    /// If the posterior is not of a walk of this length.
    #[must_use]
    pub fn refine(&self, posterior: &Posterior, released: &[StateId], aim: RefineAim) -> Refined {
        assert_eq!(posterior.steps().len(), released.len(), "a posterior for each step");
        let mut paths = Paths::new(self, aim);
        let steps = posterior.steps().iter().zip(released);
        for (marginal, &released) in steps {
            paths.step(marginal.states(), marginal.probabilities(), released);
        }
        let (states, cost, released_cost) = paths.best();
        let marginals = posterior.steps().iter().zip(&states);
        let confidence = marginals.map(|(marginal, &state)| marginal.probability(state)).collect();
        let (dropped, surprises) = (posterior.dropped(), posterior.surprises());
        Refined { states, confidence, cost, released_cost, dropped, surprises }
    }

    /// The walk that could have been released with this lag: each state is chosen when so many more steps are
    /// known, and is a move from the one before.
    ///
    /// # Errors
    ///
    /// If the mechanism cannot have drawn these states.
    ///
    /// # Panics
    ///
    /// If there are not as many released states as drawn ones.
    pub fn refine_with_lag<D: Copy + Into<Outcome>>(
        &self,
        drawn: &[D],
        released: &[StateId],
        lag: usize,
        aim: RefineAim,
        space: &mut InferenceSpace,
    ) -> Result<Refined, UnlikelyRelease> {
        let drawn = Outcome::all(drawn);
        self.emission.check(&drawn)?;
        assert_eq!(drawn.len(), released.len(), "something drawn for each released state");
        let filtered = self.filter(&self.law, &drawn, space);
        let mut costs = Costs::new(self, aim);
        let mut out = Refined {
            states: Vec::with_capacity(drawn.len()),
            confidence: Vec::with_capacity(drawn.len()),
            cost: 0.0,
            released_cost: 0.0,
            dropped: filtered.dropped,
            surprises: filtered.surprises,
        };
        for (step, &from_release) in released.iter().enumerate() {
            let known = step.saturating_add(lag).saturating_add(1).min(filtered.seen.len());
            let window = &filtered.seen[step..known];
            let states = window[0].belief.states();
            let posterior = posterior_of_first(&self.law, window, &mut space.beliefs);
            let candidates = match out.states.last() {
                Some(&last) => self.chain().successors(last).to_vec(),
                None => self.first_candidates(states, from_release),
            };
            let of_candidates = costs.fill(&candidates, states, posterior).to_vec();
            let best = cheapest(&of_candidates);
            out.cost += of_candidates[best];
            out.released_cost += costs.fill(&[from_release], states, posterior)[0];
            let place = states.binary_search(&candidates[best]);
            out.states.push(candidates[best]);
            out.confidence.push(place.map_or(0.0, |place| posterior[place]));
        }
        Ok(out)
    }

    /// Where a refined walk may start: where walks of the chain do, or where the released one did.
    fn first_candidates(&self, believed: &[StateId], released: StateId) -> Vec<StateId> {
        let fixed = matches!(self.start(), Start::First | Start::At(_));
        let mut candidates: Vec<StateId> = match self.every_state_counts() {
            _ if fixed => Vec::new(),
            true => self.chain().states().collect(),
            false => believed.to_vec(),
        };
        candidates.retain(|&state| self.chain().initial().probability(state) > 0.0);
        insert(&mut candidates, released);
        candidates
    }

    fn every_state_counts(&self) -> bool {
        self.mechanism().model().require_tables().is_ok()
    }
}

/// Adds a state to an ascending list, unless it is there.
fn insert(states: &mut Vec<StateId>, state: StateId) {
    if let Err(place) = states.binary_search(&state) {
        states.insert(place, state);
    }
}

/// What candidates are expected to cost.
struct Costs {
    metric: Option<Arc<dyn Metric>>,
    distances: Vec<Nats>,
    costs: Vec<f64>,
}

impl Costs {
    fn new(inference: &Inference, aim: RefineAim) -> Self {
        let metric = match aim {
            RefineAim::Distance => Some(inference.mechanism().model().symmetric_metric()),
            RefineAim::States => None,
        };
        Self { metric, distances: Vec::new(), costs: Vec::new() }
    }

    fn fill(&mut self, candidates: &[StateId], states: &[StateId], masses: &[f64]) -> &[f64] {
        let Self { metric, distances, costs } = self;
        costs.clear();
        costs.resize(candidates.len(), 0.0);
        match metric {
            Some(metric) => {
                expected_distances(metric.as_ref(), candidates, states, masses, costs, distances);
            }
            None => {
                for (cost, candidate) in costs.iter_mut().zip(candidates) {
                    *cost =
                        1.0 - states.binary_search(candidate).map_or(0.0, |place| masses[place]);
                }
            }
        }
        costs
    }
}

/// The cheapest paths to every candidate of a step.
struct Paths<'i> {
    inference: &'i Inference,
    costs: Costs,
    /// One list for each step: the candidates, and the place of the best one before each.
    steps: Vec<(Vec<StateId>, Vec<u32>)>,
    /// The cost of the cheapest path to each candidate of the last step.
    so_far: Vec<f64>,
    /// For every state its place among the candidates of the step under way, plus one.
    place: Vec<u32>,
    released: Vec<StateId>,
    released_cost: f64,
}

impl<'i> Paths<'i> {
    fn new(inference: &'i Inference, aim: RefineAim) -> Self {
        let (steps, so_far, released) = (Vec::new(), Vec::new(), Vec::new());
        let place = vec![0; inference.chain().len()];
        let costs = Costs::new(inference, aim);
        Self { inference, costs, steps, so_far, place, released, released_cost: 0.0 }
    }

    fn step(&mut self, states: &[StateId], masses: &[f64], released: StateId) {
        let candidates = match self.steps.last() {
            None => self.inference.first_candidates(states, released),
            Some(_) if self.inference.every_state_counts() => {
                self.inference.chain().states().collect()
            }
            Some(_) => {
                let mut believed = states.to_vec();
                insert(&mut believed, released);
                believed
            }
        };
        let costs = self.costs.fill(&candidates, states, masses);
        let own = candidates.binary_search(&released).expect("the released state is a candidate");
        // Added up as along every path, so that the comparison with the best one is exact.
        self.released_cost += costs[own];
        self.released.push(released);
        let Some((before, _)) = self.steps.last() else {
            self.so_far = costs.to_vec();
            let none = vec![0; candidates.len()];
            return self.steps.push((candidates, none));
        };
        for (place, state) in (1..).zip(&candidates) {
            self.place[state.index()] = place;
        }
        let mut cheapest = vec![f64::INFINITY; candidates.len()];
        let mut from = vec![0; candidates.len()];
        for ((number, &state), &cost) in (0..).zip(before).zip(&self.so_far) {
            for to in self.inference.chain().successors(state) {
                let Some(place) = self.place[to.index()].checked_sub(1) else { continue };
                if cost < cheapest[place as usize] {
                    (cheapest[place as usize], from[place as usize]) = (cost, number);
                }
            }
        }
        candidates.iter().for_each(|state| self.place[state.index()] = 0);
        for (path, cost) in cheapest.iter_mut().zip(costs) {
            *path += cost;
        }
        self.so_far = cheapest;
        self.steps.push((candidates, from));
    }

    /// The cheapest path, its cost, and that of the released one.
    fn best(self) -> (Vec<StateId>, f64, f64) {
        if self.steps.is_empty() {
            return (Vec::new(), 0.0, 0.0);
        }
        let mut place = cheapest(&self.so_far);
        let cost = self.so_far[place];
        let mut states = Vec::with_capacity(self.steps.len());
        for (candidates, from) in self.steps.iter().rev() {
            states.push(candidates[place]);
            place = from[place] as usize;
        }
        states.reverse();
        (states, cost, self.released_cost)
    }
}

impl fmt::Debug for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Costs").finish_non_exhaustive()
    }
}
