//! Drawing near the real state on chains too large for a table: only what is near is searched.
//!
//! Let `R` be a reach. Candidates within it are found by a search that ends there, and have their own costs.
//! Every other one costs at least what it would at distance `R`. So all candidates, as if they were at
//! `R`, bound those beyond it: classes of that are made once for each reach and shared by all real states.
//! A draw takes a near candidate or one of the shared classes, in proportion to what bounds them. One of
//! the shared classes that is near is passed over, and one that is not has its distance searched for.
//! Either is kept with probability `2^k·exp(−c)`, by an exact coin; else everything starts again. What is
//! kept is distributed in proportion to `exp(−c)`, exactly, whatever the reach is.
//!
//! The reach is the first of a ladder from which on the far candidates weigh next to nothing.

use std::sync::OnceLock;

use super::classes::Classes;
use super::{NO_CANDIDATE, Response};
use crate::chain::StateId;
use crate::distance::OnDemand;
use crate::nats::Nats;
use crate::random::{Words, uniform_below};

/// A reach, and all candidates as if they were at that distance.
#[derive(Debug)]
pub(super) struct Rung {
    reach: Nats,
    all: OnceLock<Classes>,
}

/// Far candidates may weigh this many halvings less than near ones.
const NEXT_TO_NOTHING: u32 = 8;

/// Reaches at which a candidate costs from 4 nats to some hundreds; the last one is without end.
pub(super) fn ladder(eta: f64) -> Box<[Rung]> {
    let costs = (0..14).map(|rung| 4.0 * 1.5f64.powi(rung));
    let reaches = costs.map(|cost| Nats::at_most(cost / eta).unwrap_or(Nats::MAX));
    let rung = |reach| Rung { reach, all: OnceLock::new() };
    reaches.chain([Nats::MAX]).map(rung).collect()
}

impl Response {
    /// Draws the response to a real state.
    pub(super) fn draw_nearby(
        &self,
        searches: &OnDemand,
        real: StateId,
        words: &mut impl Words,
    ) -> StateId {
        let mut near = Vec::new();
        let mut bounded = None;
        for rung in &self.rungs {
            near = searches.within(real, rung.reach);
            near.retain(|(y, _)| self.offsets[y.index()] != NO_CANDIDATE);
            near.sort_unstable();
            let (states, costs): (Vec<StateId>, Vec<u64>) =
                near.iter().map(|&(y, distance)| (y, self.cost_at(y, distance))).unzip();
            let own = Classes::above_zero(&states, &costs, &self.scale.coin);
            let last = rung.reach == Nats::MAX || near.len() == self.candidates.len();
            let all = rung.all.get_or_init(|| self.classes_at(rung.reach));
            let enough = own.total() >> NEXT_TO_NOTHING >= all.total();
            bounded = Some((own, (!last).then_some(all)));
            if last || enough {
                break;
            }
        }
        let (own, far) = bounded.expect("a ladder has a rung");
        let total = own.total() + far.map_or(0, Classes::total);
        loop {
            let rest = uniform_below(words, total);
            let (y, halvings, excess) = match rest.checked_sub(own.total()).zip(far) {
                None => {
                    let (y, halvings) = own.member(rest);
                    let place = near.binary_search_by_key(&y, |near| near.0);
                    let (_, distance) = near[place.expect("a near candidate")];
                    (y, halvings, self.cost_at(y, distance))
                }
                Some((rest, far)) => {
                    let (y, halvings) = far.member(rest);
                    if near.binary_search_by_key(&y, |near| near.0).is_ok() {
                        continue;
                    }
                    (y, halvings, self.cost_at(y, searches.symmetric(real, y)))
                }
            };
            if excess == 0 || self.scale.coin.flip_after(halvings, excess, words) {
                return y;
            }
        }
    }

    /// All candidates as if they were at this distance.
    fn classes_at(&self, distance: Nats) -> Classes {
        let costs: Vec<u64> = self.candidates.iter().map(|&y| self.cost_at(y, distance)).collect();
        Classes::above_zero(&self.candidates, &costs, &self.scale.coin)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::Allowance;
    use super::*;
    use crate::chain::{Chain, Grid};
    use crate::distance::CacheSize;
    use crate::model::Model;
    use crate::random::Source;

    /// Near and far candidates, rare ones too, and weights that differ: every outcome by itself.
    #[test]
    fn what_is_drawn_nearby_agrees_with_the_law() {
        let side = 7.try_into().unwrap();
        let grid = Chain::grid(Grid { width: side, height: side, seed: 5 }).unwrap();
        let draws = 50_000u32;
        let mut rarest = 1.0f64;
        for (chain, eta) in [(Chain::credit(), "0.5"), (grid.clone(), "0.4"), (grid, "2")] {
            let weights: Vec<f64> =
                (0..chain.len()).map(|i| [1.0, 0.0, 1e-6, 0.3][i % 4]).collect();
            let model = Arc::new(Model::on_demand(chain, CacheSize::default()));
            let eta = eta.parse().unwrap();
            let response =
                Response::at_scale(&model, Allowance::PerNat(eta), &weights, eta).unwrap();
            let searches = model.searches().unwrap();
            for real in [0, 1, 6] {
                let real = StateId::new(real);
                let mut words = Source::seeded(3).words_for_tests();
                let mut seen = vec![0u32; model.chain().len()];
                for _ in 0..draws {
                    seen[response.draw_nearby(searches, real, &mut words).index()] += 1;
                }
                let law = response.log_kernel(real);
                for (y, log) in response.candidates().iter().zip(law) {
                    let (p, seen) = (log.exp(), f64::from(seen[y.index()]));
                    rarest = rarest.min(p);
                    let expected = p * f64::from(draws);
                    // Six deviations, and a little where next to nothing is expected.
                    let allowed = 6.0 * (expected * (1.0 - p)).sqrt() + 5.0;
                    assert!((seen - expected).abs() < allowed, "{y:?}: {seen} of {expected}");
                }
                let among: u32 = response.candidates().iter().map(|y| seen[y.index()]).sum();
                assert_eq!(among, draws);
            }
        }
        assert!(rarest < 1e-5);
    }
}
