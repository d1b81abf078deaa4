//! Straight lines computed when they are asked for, on chains too large for a table of them.
//!
//! States are kept in the order of one coordinate, along which places lie farthest apart. Whoever is farther along it
//! than something is farther away than that, so only a part of the states has to be looked at.

use rayon::prelude::*;

use super::line::{Line, widest_axis};
use crate::chain::StateId;
use crate::nats::Nats;

/// Answers what a table of straight lines would.
#[derive(Clone, Debug)]
pub(super) struct Computed {
    line: Line,
    axis: usize,
    /// All states, by that coordinate and then by their number.
    order: Vec<u32>,
    /// The place of each state in that order.
    rank: Vec<u32>,
}

impl Computed {
    pub(super) fn new(line: Line) -> Self {
        let points = line.points();
        let axis = widest_axis(points);
        let mut order: Vec<u32> = (0..points.len() as u32).collect();
        order.sort_unstable_by_key(|&state| (points[state as usize][axis], state));
        let mut rank = vec![0; order.len()];
        for (place, &state) in (0..).zip(&order) {
            rank[state as usize] = place;
        }
        Self { line, axis, order, rank }
    }

    pub(super) fn between(&self, x: StateId, other: StateId) -> Nats {
        self.line.between(x.index(), other.index())
    }

    /// The states after or before one, in order, each with how many micrometres farther along it is at least.
    fn beside(&self, x: StateId) -> [impl Iterator<Item = (u64, StateId)> + '_; 2] {
        let rank = self.rank[x.index()] as usize;
        let along = |state: usize| self.line.points()[state][self.axis];
        let here = along(x.index());
        let found = move |state: &u32| {
            (along(*state as usize).abs_diff(here), StateId::new(*state as usize))
        };
        let after: Box<dyn Iterator<Item = &u32>> = Box::new(self.order[rank + 1..].iter());
        let before: Box<dyn Iterator<Item = &u32>> = Box::new(self.order[..rank].iter().rev());
        [after.map(found), before.map(found)]
    }

    /// The other states within `reach`.
    fn others_within(&self, x: StateId, reach: Nats) -> impl Iterator<Item = (StateId, Nats)> {
        let limit = 1000 * u64::from(reach.units());
        self.beside(x).into_iter().flat_map(move |side| {
            side.take_while(move |(along, _)| *along <= limit).filter_map(move |(_, y)| {
                let apart = self.between(x, y);
                (apart <= reach).then_some((y, apart))
            })
        })
    }

    pub(super) fn within(&self, x: StateId, reach: Nats) -> Vec<(StateId, Nats)> {
        self.others_within(x, reach).chain([(x, Nats::ZERO)]).collect()
    }

    pub(super) fn count_within(&self, states: std::ops::Range<usize>, reach: Nats) -> Vec<usize> {
        let count = |x: usize| match reach {
            Nats::MAX => self.order.len() - 1,
            _ => self.others_within(StateId::new(x), reach).count(),
        };
        states.into_par_iter().map(count).collect()
    }

    /// The nearest other state; of equally near ones the first.
    pub(super) fn nearest_of(&self, x: StateId) -> Option<(Nats, StateId)> {
        let mut best: Option<(Nats, StateId)> = None;
        for side in self.beside(x) {
            for (along, y) in side {
                if best.is_some_and(|(apart, _)| along > 1000 * u64::from(apart.units())) {
                    break;
                }
                let found = (self.between(x, y), y);
                best = Some(best.map_or(found, |best| best.min(found)));
            }
        }
        best
    }

    pub(super) fn closest_pair(&self) -> Option<(StateId, StateId, Nats)> {
        let nearest = |x: usize| self.nearest_of(StateId::new(x)).map(|(apart, y)| (apart, x, y));
        let found = (0..self.order.len()).into_par_iter().filter_map(nearest).min();
        found.map(|(apart, x, y)| (y, StateId::new(x), apart))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Coordinates;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]
        /// Beside all pairs, one by one.
        #[test]
        fn what_is_near_is_found(
            south in -800_000_000i32..800_000_000,
            west in -1_700_000_000i32..1_700_000_000,
            steps in prop::collection::vec((-20i32..20, -20i32..20), 1..20),
            reach in 0u32..60_000,
        ) {
            let place = |&(n, e): &(i32, i32)| Coordinates::new(south + 700 * n, west + 900 * e).unwrap();
            let places: Vec<Coordinates> = steps.iter().map(place).collect();
            let Ok(line) = Line::new(&places) else { return Ok(()) };
            let computed = Computed::new(line.clone());
            let (n, reach) = (places.len(), Nats::from_units(reach));
            let mut closest: Option<(Nats, usize, StateId)> = None;
            for x in 0..n {
                let others = || (0..n).filter(|&y| y != x).map(|y| (line.between(x, y), StateId::new(y)));
                let state = StateId::new(x);
                prop_assert_eq!(computed.nearest_of(state), others().min());
                let mut found = computed.within(state, reach);
                found.sort_unstable();
                let mut expected: Vec<_> = others().filter(|(d, _)| *d <= reach).map(|(d, y)| (y, d)).collect();
                expected.push((state, Nats::ZERO));
                expected.sort_unstable();
                prop_assert_eq!(&found, &expected);
                prop_assert_eq!(computed.count_within(x..x + 1, reach), vec![expected.len() - 1]);
                let nearest = others().min().map(|(d, y)| (d, x, y));
                closest = closest.into_iter().chain(nearest).min();
            }
            let expected = closest.map(|(apart, x, y)| (y, StateId::new(x), apart));
            prop_assert_eq!(computed.closest_pair(), expected);
        }
    }
}
