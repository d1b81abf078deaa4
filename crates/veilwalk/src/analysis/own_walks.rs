//! The chain's own walks, drawn at random: what real walks would be if the chain were right.
//!
//! In doubles, for measurements and simulations: these walks are nobody's.

use super::Origin;
use crate::chain::{Chain, StateId};
use crate::random::Words;

/// Draws walks of a chain.
#[derive(Clone, Debug)]
pub struct OwnWalks<'c> {
    chain: &'c Chain,
    /// Running totals of the probabilities of each row.
    cumulative: Vec<f64>,
}

impl<'c> OwnWalks<'c> {
    /// For this chain.
    #[must_use]
    pub fn new(chain: &'c Chain) -> Self {
        let rows = chain.states().flat_map(|i| {
            chain.probabilities(i).iter().scan(0.0, |sum, p| {
                *sum += p;
                Some(*sum)
            })
        });
        Self { chain, cumulative: rows.collect() }
    }

    /// A walk of so many steps after its start.
    pub fn walk(&self, origin: Origin, steps: usize, words: &mut impl Words) -> Vec<StateId> {
        let mut here = match origin {
            Origin::Initial => self.chain.initial().draw(words),
            Origin::At(state) => state,
        };
        let mut walk = Vec::with_capacity(steps + 1);
        walk.push(here);
        for _ in 0..steps {
            here = self.next(here, words);
            walk.push(here);
        }
        walk
    }

    fn next(&self, from: StateId, words: &mut impl Words) -> StateId {
        let cumulative = &self.cumulative[self.chain.row(from)];
        let total = cumulative.last().expect("every state has a successor");
        let u = (words.word() >> 11) as f64 * 2f64.powi(-53) * total;
        let place = cumulative.partition_point(|&upto| upto <= u);
        self.chain.successors(from)[place.min(cumulative.len() - 1)]
    }
}
