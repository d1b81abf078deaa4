//! The candidates that can be the best answer, found without adding up every distance.
//!
//! Most of a belief's mass lies on few states. Let `H` be these, `p` the mass of all others, and `w` and
//! `g` two candidates. The distance is a metric, so `|D(w, x) − D(g, x)| ≤ D(w, g)` for every state `x`, and
//!
//! ```text
//! Σ_x b(x) D(w, x) − Σ_x b(x) D(g, x)  ≥  Σ_{x ∈ H} b(x) (D(w, x) − D(g, x)) − p·D(w, g).
//! ```
//!
//! Where that is above zero, `w` is not the best. So all candidates are held against the one, `g`, that is
//! best for the heaviest states, then those that remain against the one that is best for more states, and so on.
//! Mostly a single one is left after few look-ups. If not, the sums of those that remain are added up in
//! full, so the answer is the same. (Bounds are taken with room for rounding.)

use pulp::Arch;

use super::passes::{Largest, Select};
use super::space::bits;
use super::tracker::{AnswerSpace, cheapest};
use crate::chain::StateId;
use crate::distance::Metric;
use crate::nats::Nats;

/// States with at least this part of the largest mass are added up first, then those with at least the next.
const HEAVY: [f64; 4] = [1.0 / 8.0, 1.0 / 64.0, 1.0 / 512.0, 1.0 / 4096.0];
/// With fewer states or candidates it is quicker to add up everything.
const FEWEST_STATES: usize = 48;
const FEWEST_CANDIDATES: usize = 4;
/// Room for rounding, as a part of what the sums can be.
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
    /// Leaves the candidates that can be the best in `space.compared`, and their places in `space.places`, in
    /// order.
    pub(super) fn shortlist(self, space: &mut AnswerSpace) {
        let Self { metric, candidates, added, states, masses } = self;
        let AnswerSpace { costs, distances, places, compared, heavy, heavier, .. } = space;
        if states.len() < FEWEST_STATES || candidates.len() < FEWEST_CANDIDATES {
            return;
        }
        let per_nat = f64::from(Nats::PER_NAT);
        // No distance is larger.
        let farthest = Nats::MAX.as_f64();
        let largest = Arch::new().dispatch(Largest(masses));
        costs.clear();
        costs.extend((0..candidates.len()).map(added));
        heavier.clear();
        heavier.resize(masses.len().div_ceil(64), 0);
        for part in HEAVY {
            if compared.len() == 1 {
                return;
            }
            // For a mass of the smallest numbers there are: nothing is as large as zero.
            let least = (part * largest).max(f64::from_bits(1));
            let light = Arch::new().dispatch(Select { masses, least, chosen: heavy });
            distances.resize(compared.len(), Nats::ZERO);
            for (word, (&heavy, heavier)) in heavy.iter().zip(heavier.iter_mut()).enumerate() {
                for bit in bits(heavy & !std::mem::replace(heavier, heavy)) {
                    let (state, mass) = (states[64 * word + bit], masses[64 * word + bit]);
                    metric.fill(state, compared, state, distances);
                    let per_unit = mass / per_nat;
                    for (cost, distance) in costs.iter_mut().zip(distances.iter()) {
                        *cost += per_unit * f64::from(distance.units());
                    }
                }
            }
            let best = cheapest(costs);
            let (candidate, cost) = (compared[best], costs[best]);
            metric.fill(candidate, compared, candidate, distances);
            let most = cost + ROUNDING * (1.0 + cost + light * farthest);
            let mut kept = 0;
            for place in 0..compared.len() {
                if costs[place] <= most + light * distances[place].as_f64() {
                    compared[kept] = compared[place];
                    places[kept] = places[place];
                    costs[kept] = costs[place];
                    kept += 1;
                }
            }
            compared.truncate(kept);
            places.truncate(kept);
            costs.truncate(kept);
        }
    }
}
