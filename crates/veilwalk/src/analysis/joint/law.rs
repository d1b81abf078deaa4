//! A law of the pair (real state, released state).

use super::{for_rows, map_rows};
use crate::analysis::Origin;
use crate::analysis::figures::DistanceLaw;
use crate::analysis::given_walk::first_law;
use crate::chain::StateId;
use crate::mechanism::Mechanism;
use crate::model::Model;
use crate::session::Start;

/// A distribution over pairs, one row of |S| probabilities for each real state.
#[derive(Clone, PartialEq)]
pub struct JointLaw {
    states: usize,
    rows: Vec<f64>,
}

impl JointLaw {
    pub(super) fn at_start(mechanism: &Mechanism, origin: Origin, start: Start) -> Self {
        let chain = mechanism.model().chain();
        Self::with_real(mechanism, start, |x| match origin {
            Origin::Initial => chain.initial().probability(x),
            Origin::At(state) => f64::from(u8::from(state == x)),
        })
    }

    /// The law at the start when the real state has these probabilities.
    pub(super) fn with_real(
        mechanism: &Mechanism,
        start: Start,
        real: impl Fn(StateId) -> f64,
    ) -> Self {
        let chain = mechanism.model().chain();
        let n = chain.len();
        let mut rows = vec![0.0; n * n];
        for (x, row) in chain.states().zip(rows.chunks_mut(n)) {
            let mass = real(x);
            if mass > 0.0 {
                let released = first_law(mechanism, start, x);
                row.iter_mut().zip(released).for_each(|(slot, p)| *slot = mass * p);
            }
        }
        Self { states: n, rows }
    }

    pub(in crate::analysis) fn from_rows(states: usize, rows: Vec<f64>) -> Self {
        debug_assert_eq!(rows.len(), states * states);
        Self { states, rows }
    }

    pub(in crate::analysis) fn raw(&self) -> &[f64] {
        &self.rows
    }

    pub(in crate::analysis) fn raw_mut(&mut self) -> &mut [f64] {
        &mut self.rows
    }

    /// The probability of a pair.
    #[must_use]
    pub fn probability(&self, real: StateId, released: StateId) -> f64 {
        self.rows[real.index() * self.states + released.index()]
    }

    /// The distribution of the real state.
    #[must_use]
    pub fn real_marginal(&self) -> Vec<f64> {
        map_rows(&self.rows, self.states, |_, row| row.iter().sum())
    }

    /// The distribution of the distance from the released to the real state.
    #[must_use]
    pub fn distance(&self, model: &Model) -> DistanceLaw {
        let distances = model.chain().states().flat_map(|x| model.directed().to(x));
        DistanceLaw::collect(distances.copied().zip(self.rows.iter().copied()))
    }

    /// The expected distance from the released to the real state.
    #[must_use]
    pub fn mean_distance(&self, model: &Model) -> f64 {
        self.expectation(|x, z, p| p * model.directed().to(StateId::new(x))[z].as_f64())
    }

    /// The probability that the two states differ.
    #[must_use]
    pub fn wrong_share(&self) -> f64 {
        self.expectation(|x, z, p| if x == z { 0.0 } else { p })
    }

    /// The probability of a distance above `nats`.
    #[must_use]
    pub fn exceeds(&self, model: &Model, nats: f64) -> f64 {
        let above = |x, z: usize| model.directed().to(StateId::new(x))[z].as_f64() > nats;
        self.expectation(|x, z, p| if above(x, z) { p } else { 0.0 })
    }

    /// Adds up a term for each pair: real state, released state, probability.
    pub(in crate::analysis) fn expectation(
        &self,
        term: impl Fn(usize, usize, f64) -> f64 + Sync + Send,
    ) -> f64 {
        let row = |x: usize, row: &[f64]| -> f64 {
            row.iter().enumerate().map(|(z, &p)| term(x, z, p)).sum()
        };
        map_rows(&self.rows, self.states, row).iter().sum()
    }

    /// Sets the probability of every pair above `nats` to zero, and gives what it was in all.
    pub(in crate::analysis) fn remove_above(&mut self, model: &Model, nats: f64) -> f64 {
        let removed = self.exceeds(model, nats);
        for_rows(&mut self.rows, self.states, |(x, row)| {
            let distances = model.directed().to(StateId::new(x));
            let above = row.iter_mut().zip(distances).filter(|(_, d)| d.as_f64() > nats);
            above.for_each(|(p, _)| *p = 0.0);
        });
        removed
    }
}

impl std::fmt::Debug for JointLaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JointLaw").field("states", &self.states).finish_non_exhaustive()
    }
}
