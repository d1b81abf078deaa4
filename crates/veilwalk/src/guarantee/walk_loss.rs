//! The largest loss of two whole walks within a radius.
//!
//! Two adjacent walks differ in some steps, whose distances add up to at most the radius ρ, and
//! lose at most the sum of the losses of these steps. So their loss is at most
//!
//! ```text
//! max Σ ℓ(p)   over multisets of pairs p with   Σ d_sym(p) ≤ ρ,
//! ```
//!
//! a knapsack that holds as many of each pair as fit. It is never more than ρ times the largest
//! loss per nat, and less where only few replaced states fit: if ρ is one and a half times the
//! smallest distance, a second replaced state never does.
//!
//! Distances are rounded down to cells, some thousands to a radius. Rounding down lets more fit, so
//! the result is an upper bound: if `Σ d ≤ ρ` then `Σ ⌊d/s⌋ ≤ ⌊ρ/s⌋`.
//!
//! # Complexity
//!
//! The number of cells times the number of pairs that no other pair beats in both loss and
//! distance.

use super::running_loss::Entry;
use crate::nats::Nats;

const CELLS: u32 = 1 << 15;

/// The largest loss of any pair in each cell of distance.
#[derive(Clone, Debug)]
pub(super) struct WalkLoss {
    cell: u32,
    best: Vec<f64>,
    /// Whether there are pairs at this distance.
    found: Vec<bool>,
    per_nat: f64,
}

impl WalkLoss {
    /// For walks within this distance of each other.
    pub(super) fn new(reach: Nats) -> Self {
        let cell = reach.units() / CELLS + 1;
        let cells = (reach.units() / cell) as usize + 1;
        Self { cell, best: vec![0.0; cells], found: vec![false; cells], per_nat: 0.0 }
    }

    /// Takes in a pair; one beyond the radius is left out, since no adjacent walks have it.
    pub(super) fn add(&mut self, entry: Entry) {
        let cell = (entry.distance.units() / self.cell) as usize;
        if let Some(best) = self.best.get_mut(cell) {
            *best = best.max(entry.loss);
            self.found[cell] = true;
            self.per_nat = self.per_nat.max(entry.per_nat());
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.best.iter_mut().zip(&other.best).for_each(|(a, b)| *a = a.max(*b));
        self.found.iter_mut().zip(&other.found).for_each(|(a, b)| *a |= *b);
        self.per_nat = self.per_nat.max(other.per_nat);
    }

    /// An upper bound on the loss of two walks within the radius.
    pub(super) fn bound(&self, radius: f64) -> f64 {
        // Two roundings in the radius, one in the product.
        let by_rate = self.per_nat * radius * (1.0 + 4.0 * f64::EPSILON);
        by_rate.min(*self.fill_knapsack().last().expect("room for nothing at least"))
    }

    /// An upper bound on the loss of two walks within the radius whose first state loses so much for each
    /// nat, and whose steps lose what was added.
    pub(super) fn bound_from_start(&self, first_per_nat: f64, radius: f64) -> f64 {
        let filled = self.fill_knapsack();
        let to_nats = f64::from(self.cell) / f64::from(Nats::PER_NAT);
        let room = filled.len() - 1;
        let losses = (1..=room).filter(|&cells| self.found[cells]).map(|cells| {
            let farthest = ((cells + 1) as f64 * to_nats).min(radius);
            let by_rate = self.per_nat * (radius - cells as f64 * to_nats).max(0.0);
            first_per_nat * farthest + filled[room - cells].min(by_rate)
        });
        losses.fold(0.0, f64::max) * (1.0 + 16.0 * f64::EPSILON)
    }

    /// What is left of ε for each nat that the first state of a walk is replaced by, when the steps after
    /// it lose all they can: the least over the distances that pairs are at. Zero if nothing is left.
    pub(super) fn spare_per_nat(&self, epsilon: f64, radius: f64) -> f64 {
        let filled = self.fill_knapsack();
        let to_nats = f64::from(self.cell) / f64::from(Nats::PER_NAT);
        let room = filled.len() - 1;
        let spare = (1..=room).filter(|&cells| self.found[cells]).map(|cells| {
            // A pair is at most as far apart as the end of its cell, and what fits beside it fits into the
            // cells that are left.
            let farthest = (cells + 1) as f64 * to_nats;
            let left = (radius - cells as f64 * to_nats).max(0.0);
            let by_rate = self.per_nat * left * (1.0 + 8.0 * f64::EPSILON);
            let steps = filled[room - cells].min(by_rate);
            (epsilon - steps).next_down() / farthest
        });
        let least = spare.fold(f64::INFINITY, f64::min);
        let rate = if least.is_finite() { least.max(0.0) } else { epsilon / radius };
        rate * (1.0 - 4.0 * f64::EPSILON)
    }

    /// The most that can be lost in each number of cells.
    fn fill_knapsack(&self) -> Vec<f64> {
        if self.best[0] > 0.0 {
            return vec![f64::INFINITY; self.best.len()];
        }
        // Only pairs that lose more than every closer one are worth taking.
        let mut items: Vec<(usize, f64)> = Vec::new();
        for (cells, &loss) in self.best.iter().enumerate() {
            if loss > items.last().map_or(0.0, |(_, best)| *best) {
                items.push((cells, loss));
            }
        }
        let mut filled = vec![0.0f64; self.best.len()];
        for room in 1..filled.len() {
            let taken = items.iter().take_while(|(cells, _)| *cells <= room);
            filled[room] =
                taken.map(|(cells, loss)| filled[room - cells] + loss).fold(0.0, f64::max);
        }
        // At most one addition for each cell, each off by half a unit.
        filled.iter_mut().for_each(|loss| *loss *= 1.0 + f64::from(CELLS) * f64::EPSILON);
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::StateId;

    fn walk_loss(radius: f64, pairs: &[(f64, f64)]) -> f64 {
        let mut walk = WalkLoss::new(Nats::at_most(radius).unwrap());
        for &(distance, loss) in pairs {
            let distance = Nats::at_most(distance).unwrap();
            let (x, other) = (StateId::new(0), StateId::new(1));
            walk.add(Entry { x, other, distance, loss });
        }
        walk.bound(radius)
    }

    #[test]
    fn the_best_filling_is_found() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
        // One fits, then two, and what is beyond the radius never counts.
        assert!(close(walk_loss(1.5, &[(1.0, 0.7), (2.0, 9.0)]), 0.7));
        assert!(close(walk_loss(2.1, &[(1.0, 0.7)]), 1.4));
        // Two kinds together beat either alone.
        assert!(close(walk_loss(5.5, &[(2.0, 2.0), (3.0, 3.5)]), 5.5));
        assert!(close(walk_loss(3.5, &[]), 0.0));
        // Many tiny ones: the rate decides.
        assert!(close(walk_loss(1000.0, &[(1.0 / 1024.0, 0.0005)]), 512.0));
        assert_eq!(walk_loss(1.0, &[(0.0, 0.1)]), f64::INFINITY);
        assert_eq!(walk_loss(1.0, &[(0.0, 0.0)]), 0.0);
    }
}
