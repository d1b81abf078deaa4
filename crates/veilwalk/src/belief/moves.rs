//! Where states can move, and how likely: a chain, or what was learned in its place.

use crate::chain::{Chain, StateId};

/// A law of moves. Each row sums to one.
pub(crate) trait Moves {
    /// How many states there are.
    fn states(&self) -> usize;

    /// Where a state can move.
    fn targets(&self, from: StateId) -> &[StateId];

    /// The probabilities of these moves, in the same order.
    fn probabilities(&self, from: StateId) -> &[f64];
}

impl Moves for Chain {
    fn states(&self) -> usize {
        self.len()
    }

    fn targets(&self, from: StateId) -> &[StateId] {
        self.successors(from)
    }

    fn probabilities(&self, from: StateId) -> &[f64] {
        Chain::probabilities(self, from)
    }
}
