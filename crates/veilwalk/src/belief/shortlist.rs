//! The candidates that can be the best answer, found without adding up every distance.
//!
//! Most of a belief's mass lies on few states. Let `H` be these, `x*` the heaviest, `p` the mass of all
//! others and `r` their expected distance from `x*`. The distance is a metric, so
//!
//! ```text
//! |Σ_{x ∉ H} b(x) D(w, x) − p·D(w, x*)| ≤ r,
//! ```
//!
//! and a candidate whose least possible sum is above the largest possible sum of another cannot be the
//! best. The sums of those that remain are then added up in full, so the answer is the same. (Bounds are
//! taken with room for rounding.)

use super::tracker::AnswerSpace;
use crate::chain::StateId;
use crate::distance::Metric;
use crate::nats::Nats;

/// States with at least this part of the largest mass are heavy.
const HEAVY: f64 = 1.0 / 128.0;
/// With fewer states or candidates it is quicker to add up everything.
const FEWEST_STATES: usize = 48;
const FEWEST_CANDIDATES: usize = 8;
/// Room for rounding, as a part of the bounds.
const ROUNDING: f64 = 1e-9;

/// A belief, and the answers to choose from.
#[derive(Clone, Copy)]
pub(super) struct Choice<'a> {
    pub(super) metric: &'a dyn Metric,
    pub(super) candidates: &'a [StateId],
    /// What is added to the expected distance of each candidate, in nats.
    pub(super) added: &'a dyn Fn(usize) -> f64,
    pub(super) states: &'a [StateId],
    pub(super) masses: &'a [f64],
}

impl Choice<'_> {
    /// Leaves the places of the candidates that can be the best in `space.places`, in order.
    pub(super) fn shortlist(self, space: &mut AnswerSpace) {
        let Self { metric, candidates, added, states, masses } = self;
        let AnswerSpace { costs, distances, places, heavy, from_heaviest, .. } = space;
        places.clear();
        places.extend(0..candidates.len());
        if states.len() < FEWEST_STATES || candidates.len() < FEWEST_CANDIDATES {
            return;
        }
        let mut heaviest = 0;
        for (place, mass) in masses.iter().enumerate() {
            if *mass > masses[heaviest] {
                heaviest = place;
            }
        }
        let least = masses[heaviest] * HEAVY;
        heavy.clear();
        heavy.extend((0..states.len()).filter(|&place| masses[place] >= least));
        if 4 * heavy.len() > states.len() {
            return;
        }
        // The others: their mass, and their expected distance from the heaviest state.
        distances.resize(states.len(), Nats::ZERO);
        metric.fill(states[heaviest], states, states[heaviest], distances);
        let (mut light, mut spread) = (0.0, 0.0);
        for (mass, distance) in masses.iter().zip(distances.iter()) {
            if *mass < least {
                light += mass;
                spread += mass * f64::from(distance.units());
            }
        }
        costs.clear();
        costs.resize(candidates.len(), 0.0);
        distances.resize(candidates.len(), Nats::ZERO);
        for &place in heavy.iter() {
            metric.fill(states[place], candidates, states[place], distances);
            for (cost, distance) in costs.iter_mut().zip(distances.iter()) {
                *cost += masses[place] * f64::from(distance.units());
            }
            if place == heaviest {
                from_heaviest.clone_from(distances);
            }
        }
        let per_nat = f64::from(Nats::PER_NAT);
        let mut least_bound = f64::INFINITY;
        for (place, (cost, distance)) in costs.iter_mut().zip(from_heaviest.iter()).enumerate() {
            *cost = (*cost + light * f64::from(distance.units())) / per_nat + added(place);
            let high = *cost + spread / per_nat;
            least_bound = if high < least_bound { high } else { least_bound };
        }
        let room = ROUNDING * (1.0 + least_bound);
        places.retain(|&place| costs[place] - spread / per_nat <= least_bound + room);
    }
}
