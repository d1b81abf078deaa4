//! Candidates in classes of like cost, so that one is drawn without looking at the others.
//!
//! Let `k` be a whole number with `exp(−c(y)) ≤ 2^{−k}` for the cost `c(y)` above the cheapest, as in the
//! [exponential rule](crate::mechanism::exponential). Candidates with the same `k` form a class. A class
//! is drawn in proportion to its size times `2^{−k}`, one of its members uniformly, and that one is kept
//! with probability `2^k·exp(−c)`, by an exact coin; else everything starts again. What is kept is
//! distributed in proportion to `exp(−c)`, exactly, and it takes two tries on average however many
//! candidates there are. The classes are made once for each real state.

use crate::chain::StateId;
use crate::random::{ExpCoin, Words, uniform_below};

/// A member of the last class has at least this many halvings. A class has fewer than 2²⁴ members, so the
/// weights, whole multiples of 2 to the minus this, add up to less than 2⁶⁴.
const MOST_HALVINGS: u32 = 38;

/// Candidates by the power of two that bounds their probability.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    /// The cheapest candidate's cost.
    least: u64,
    /// All candidates, class by class.
    members: Box<[StateId]>,
    /// For each class that has members: its halvings, and where its members start.
    starts: Box<[(u32, u32)]>,
    /// Of all classes.
    total: u64,
}

impl Classes {
    /// The classes of candidates with these costs.
    pub(super) fn new(candidates: &[StateId], costs: &[u64], coin: &ExpCoin) -> Self {
        let least = costs.iter().copied().min().unwrap_or(0);
        Self::above(least, candidates, costs, coin)
    }

    /// The same with costs counted from zero, for [`Classes::draw_beside`].
    pub(super) fn above_zero(candidates: &[StateId], costs: &[u64], coin: &ExpCoin) -> Self {
        Self::above(0, candidates, costs, coin)
    }

    fn above(least: u64, candidates: &[StateId], costs: &[u64], coin: &ExpCoin) -> Self {
        let halvings: Vec<u32> =
            costs.iter().map(|&cost| coin.halvings(cost - least, MOST_HALVINGS)).collect();
        let mut starts = Vec::new();
        let mut members = Vec::with_capacity(candidates.len());
        let mut total = 0;
        for k in 0..=MOST_HALVINGS {
            let before = members.len();
            let of_class = candidates.iter().zip(&halvings).filter(|(_, halvings)| **halvings == k);
            members.extend(of_class.map(|(&y, _)| y));
            if members.len() > before {
                starts.push((k, before as u32));
                total += ((members.len() - before) as u64) << (MOST_HALVINGS - k);
            }
        }
        Self { least, members: members.into(), starts: starts.into(), total }
    }

    /// Draws a candidate in proportion to `exp(−cost)`.
    #[inline]
    pub(super) fn draw(
        &self,
        coin: &ExpCoin,
        words: &mut impl Words,
        cost: impl Fn(StateId) -> u64,
    ) -> StateId {
        loop {
            let (y, halvings) = self.member(uniform_below(words, self.total));
            let excess = cost(y) - self.least;
            if excess == 0 || coin.flip_after(halvings, excess, words) {
                return y;
            }
        }
    }

    /// Draws in proportion to `exp(−cost)` among the candidates without `own`, and `own` itself at a cost
    /// of its own, if it has one.
    #[inline]
    pub(super) fn draw_beside(
        &self,
        coin: &ExpCoin,
        words: &mut impl Words,
        own: StateId,
        own_cost: Option<u64>,
        cost: impl Fn(StateId) -> u64,
    ) -> StateId {
        let own_halvings = own_cost.map_or(0, |cost| coin.halvings(cost, MOST_HALVINGS));
        let own_weight = own_cost.map_or(0, |_| 1 << (MOST_HALVINGS - own_halvings));
        loop {
            let rest = uniform_below(words, self.total + own_weight);
            let (y, halvings, excess) = match (rest.checked_sub(own_weight), own_cost) {
                (Some(rest), _) => {
                    let (y, halvings) = self.member(rest);
                    if y == own {
                        continue;
                    }
                    (y, halvings, cost(y))
                }
                (None, own_cost) => (own, own_halvings, own_cost.unwrap_or(0)),
            };
            if excess == 0 || coin.flip_after(halvings, excess, words) {
                return y;
            }
        }
    }

    /// The weight of all classes.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The candidate at this place of the total weight, and the halvings of its class.
    #[inline]
    pub(super) fn member(&self, mut rest: u64) -> (StateId, u32) {
        for (class, &(halvings, start)) in self.starts.iter().enumerate() {
            let end = self.starts.get(class + 1).map_or(self.members.len() as u32, |next| next.1);
            let weight = u64::from(end - start) << (MOST_HALVINGS - halvings);
            if rest < weight {
                let place = start as u64 + (rest >> (MOST_HALVINGS - halvings));
                return (self.members[place as usize], halvings);
            }
            rest -= weight;
        }
        unreachable!("what was drawn is below the total")
    }
}
