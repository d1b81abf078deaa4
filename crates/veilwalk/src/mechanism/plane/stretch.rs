//! How much farther apart states can be on the lattice than they are.
//!
//! Moving places to the lattice changes distances by a millimetre or two. That is nothing for places a hundred metres
//! apart, and much for places that are a centimetre apart. What matters is the pair for which it is most.
//!
//! **Claim.** Let `D` be the distance of two states on the lattice, and `d` that of the metric `line`, both whole
//! numbers of millimetres. Then `D ≤ d + 2`.
//!
//! **Proof.** The metric's distance is that of two points in space, rounded up ([`line`](crate::distance)), below the
//! ceiling of distances, since places are within 1,500 km of the origin. Dropping the two onto a plane makes the
//! distance no longer. Doubles compute it with a relative error below 10⁻¹², for places in micrometres below 10¹³:
//! less than 0.01 mm for each coordinate. Each coordinate is then rounded, by at most 0.5 mm. So the two points of the
//! lattice are at most `d + √2·(1 + 0.02) < d + 1.45` apart, and rounded up, at most `d + 2`. ∎
//!
//! So pairs that are far apart need not be looked at, and near pairs are compared one by one.

use crate::distance::{Line, widest_axis};
use crate::outcome::LatticePoint;

/// A pair whose distance on the lattice is the largest in proportion: at most `on_lattice` for each `apart`, for
/// every pair of states that are not at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) on_lattice: u64,
    pub(super) apart: u64,
}

/// From this many millimetres on pairs are not looked at: rounding is less than one part in 10,000 there.
const FAR: u64 = 20_000;
/// So many pairs are looked at.
const MOST_PAIRS: usize = 20_000_000;
/// What rounding adds at most.
const ADDED: u64 = 2;
/// Places that are not the same are at least so many millimetres apart.
const NEAREST: u64 = 1;

impl Stretch {
    /// What holds for every pair of these states.
    pub(super) fn of(line: &Line, points: &[LatticePoint]) -> Self {
        let axis = widest_axis(line.points());
        let key = |state: usize| (line.points()[state][axis], line.points()[state]);
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_unstable_by_key(|&state| (key(state), state));
        // States at one place are at one point.
        order.dedup_by_key(|state| line.points()[*state]);
        let mut far = FAR;
        loop {
            if let Some(found) = Self::of_pairs_within(far, line, points, (&order, axis)) {
                return found;
            }
            far /= 4;
        }
    }

    /// The same, where pairs beyond a distance are not looked at; none if there are too many within it.
    fn of_pairs_within(
        far: u64,
        line: &Line,
        points: &[LatticePoint],
        (order, axis): (&[usize], usize),
    ) -> Option<Self> {
        let beyond = far.max(NEAREST);
        let mut most = Self { on_lattice: beyond + ADDED, apart: beyond };
        if far < NEAREST {
            return Some(most);
        }
        let mut looked_at = 0;
        // Along one axis in space: whoever is farther along it is farther away.
        let limit = 1000 * far;
        for (rank, &one) in order.iter().enumerate() {
            for &other in &order[rank + 1..] {
                let along = line.points()[other][axis].abs_diff(line.points()[one][axis]);
                if along > limit {
                    break;
                }
                looked_at += 1;
                if looked_at > MOST_PAIRS {
                    return None;
                }
                let apart = u64::from(line.between(one, other).units());
                if apart > far {
                    continue;
                }
                let pair = Self { on_lattice: points[one].distance(points[other]), apart };
                if pair.is_more_than(most) {
                    most = pair;
                }
            }
        }
        Some(most)
    }

    fn is_more_than(self, other: Self) -> bool {
        u128::from(self.on_lattice) * u128::from(other.apart)
            > u128::from(other.on_lattice) * u128::from(self.apart)
    }
}

#[cfg(test)]
mod tests {
    use super::super::chart::Chart;
    use super::*;
    use crate::chain::Coordinates;
    use proptest::prelude::*;

    fn of(places: &[Coordinates]) -> (Line, Vec<LatticePoint>) {
        let line = Line::new(places).unwrap_or_else(|_| panic!("not too close"));
        let chart = Chart::at(places[0], line.earth());
        let points = line.points().iter().map(|p| chart.nearest(p.map(|axis| axis as f64)));
        let points = points.collect();
        (line, points)
    }

    proptest! {
        /// Beside all pairs, looked at one by one.
        #[test]
        fn every_pair_keeps_to_it(
            south in -800_000_000i32..800_000_000,
            west in -1_790_000_000i32..1_790_000_000,
            steps in prop::collection::vec((-60i32..60, -60i32..60), 2..14),
            fine in prop_oneof![1i32..9, 30i32..200, 1000i32..50_000],
        ) {
            let places: Vec<Coordinates> = steps
                .iter()
                .map(|&(n, e)| Coordinates::new(south + n * fine, west + e * fine).unwrap())
                .collect();
            let (line, points) = of(&places);
            let found = Stretch::of(&line, &points);
            let mut largest = 1.0f64;
            for x in 0..places.len() {
                for y in 0..places.len() {
                    let (d, on_lattice) = (u64::from(line.between(x, y).units()), points[x].distance(points[y]));
                    prop_assert!(on_lattice <= d + ADDED, "{} {}", on_lattice, d);
                    prop_assert!(u128::from(on_lattice) * u128::from(found.apart) <= u128::from(d) * u128::from(found.on_lattice));
                    if d > 0 {
                        largest = largest.max(on_lattice as f64 / d as f64);
                    } else {
                        prop_assert_eq!(on_lattice, 0);
                    }
                }
            }
            // And it is no larger than it has to be, but for the pairs beyond.
            prop_assert!(found.on_lattice as f64 / found.apart as f64 <= largest.max(1.0001) + 1e-12);
        }
    }
}
