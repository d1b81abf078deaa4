//! States that cannot be told from each other, taken as one.
//!
//! States at distance zero have the same distances to all others, so they answer alike and are
//! answered alike. Two equal rows would leave the weights of both undecided, so only the first of
//! such states is a candidate.

use rayon::prelude::*;

use super::fitted::Edge;
use crate::chain::StateId;
use crate::distance::DistanceTable;
use crate::nats::Nats;

/// The classes of states at distance zero from each other.
pub(super) struct Classes<'a> {
    distances: &'a DistanceTable,
    /// The first state of each class.
    firsts: Vec<StateId>,
    /// How many states each class has.
    sizes: Vec<u32>,
}

impl<'a> Classes<'a> {
    /// The classes of a symmetric table.
    pub(super) fn of(distances: &'a DistanceTable) -> Self {
        let states = distances.states();
        let (mut firsts, mut sizes) = (Vec::new(), Vec::<u32>::new());
        let mut class_of = Vec::with_capacity(states);
        for state in 0..states {
            let earlier = &distances.to(StateId::new(state))[..state];
            let class = earlier.iter().position(|&d| d == Nats::ZERO).map(|y| class_of[y]);
            let class = class.unwrap_or_else(|| {
                firsts.push(StateId::new(state));
                sizes.push(0);
                firsts.len() - 1
            });
            sizes[class] += 1;
            class_of.push(class);
        }
        Self { distances, firsts, sizes }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.firsts.len()
    }

    /// How many states there are in all.
    pub(super) fn states(&self) -> usize {
        self.distances.states()
    }

    /// How many states each class has.
    pub(super) fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// The classes at the ends of these edges, but for edges within one.
    pub(super) fn edges(&self, edges: &[(StateId, StateId, Nats)]) -> Vec<Edge> {
        let class = |state: usize| {
            let row = self.distances.to(StateId::new(state));
            let at_zero = |first: &StateId| row[first.index()] == Nats::ZERO;
            self.firsts.iter().position(at_zero).expect("every state is in a class")
        };
        let classes: Vec<usize> = (0..self.states()).into_par_iter().map(class).collect();
        let edge = |&(one, other, _): &(StateId, StateId, Nats)| {
            let distance = self.distances.between(one, other).as_f64();
            let (one, other) = (classes[one.index()], classes[other.index()]);
            (one != other).then_some(Edge { one, other, distance })
        };
        edges.iter().filter_map(edge).collect()
    }

    /// The distances of all classes to one, in nats.
    pub(super) fn to(&self, class: usize) -> impl Iterator<Item = f64> + '_ {
        let row = self.distances.to(self.firsts[class]);
        self.firsts.iter().map(|first| row[first.index()].as_f64())
    }

    /// `exp(−scale·m)` for the distances of all classes to one.
    pub(super) fn factors(&self, class: usize, scale: f64) -> impl Iterator<Item = f64> + '_ {
        self.to(class).map(move |m| libm::exp(-scale * m))
    }

    /// `A(x) = Σ μ(y)·exp(−η·m(y, x))` for each class x.
    pub(super) fn totals(&self, weights: &[f64], eta: f64) -> Vec<f64> {
        let total = |x| self.factors(x, eta).zip(weights).fold(0.0, |sum, (f, w)| sum + f * w);
        (0..self.len()).into_par_iter().map(total).collect()
    }

    /// The most that the kernel of these weights loses for each nat, as doubles have it: η and what
    /// `ln A` changes by. Infinite where a total is zero.
    pub(super) fn loss(&self, weights: &[f64], eta: f64) -> f64 {
        let totals = self.totals(weights, eta);
        if !totals.iter().all(|&total| total > 0.0 && total.is_finite()) {
            return f64::INFINITY;
        }
        let logs: Vec<f64> = totals.into_iter().map(libm::log).collect();
        let steepest = |x: usize| {
            let before = self.to(x).take(x).zip(&logs);
            before.fold(0.0, |most, (m, log)| f64::max(most, (logs[x] - log).abs() / m))
        };
        let slopes: Vec<f64> = (0..self.len()).into_par_iter().map(steepest).collect();
        eta + slopes.into_iter().fold(0.0, f64::max)
    }

    /// Weights of all states from those of the classes: that of each class is its first state's,
    /// and the largest is one.
    pub(super) fn spread(&self, weights: &[f64]) -> Vec<f64> {
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let mut spread = vec![0.0; self.distances.states()];
        for (first, weight) in self.firsts.iter().zip(weights) {
            spread[first.index()] = weight / largest;
        }
        spread
    }
}
