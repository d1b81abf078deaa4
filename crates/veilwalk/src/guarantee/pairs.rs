//! Sets of unordered pairs of states: all of them, or a list.

use crate::chain::{Chain, StateId};
use crate::model::Model;
use crate::nats::Nats;

/// Unordered pairs of different states, the smaller first.
#[derive(Clone, Debug)]
pub(super) enum Pairs {
    /// Every pair, by the first state and then the second.
    All { states: usize },
    /// These, sorted and each once.
    Listed(Vec<(StateId, StateId)>),
}

impl Pairs {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::All { states } => states * states.saturating_sub(1) / 2,
            Self::Listed(list) => list.len(),
        }
    }

    /// The pairs in order.
    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = (StateId, StateId)> + '_> {
        match self {
            Self::All { states } => {
                let n = *states;
                Box::new((0..n).flat_map(move |x| {
                    (x + 1..n).map(move |other| (StateId::new(x), StateId::new(other)))
                }))
            }
            Self::Listed(list) => Box::new(list.iter().copied()),
        }
    }

    /// The place of a pair in the order; `None` if it is not in the set.
    pub(super) fn place(&self, x: StateId, other: StateId) -> Option<usize> {
        let (a, b) = (x.min(other), x.max(other));
        match self {
            Self::All { .. } if a == b => None,
            Self::All { states } => {
                let (i, j) = (a.index(), b.index());
                Some(i * (2 * states - i - 1) / 2 + j - i - 1)
            }
            Self::Listed(list) => list.binary_search(&(a, b)).ok(),
        }
    }

    fn listed(mut list: Vec<(StateId, StateId)>) -> Self {
        list.sort_unstable();
        list.dedup();
        Self::Listed(list)
    }

    /// The two ends of every transition that is not a self-loop.
    pub(super) fn transitions(chain: &Chain) -> Self {
        let ends = chain.states().flat_map(|i| {
            let others = chain.successors(i).iter().filter(move |&&j| j != i);
            others.map(move |&j| (i.min(j), i.max(j)))
        });
        Self::listed(ends.collect())
    }

    /// Pairs of states at most this far apart by the symmetric distance.
    pub(super) fn within(model: &Model, reach: Nats) -> Self {
        let near = model.chain().states().flat_map(|x| {
            let row = model.symmetric().to(x)[..x.index()].iter().enumerate();
            row.filter(move |&(_, &d)| d <= reach).map(move |(other, _)| (StateId::new(other), x))
        });
        Self::listed(near.collect())
    }

    /// How many pairs are at most this far apart.
    pub(super) fn count_within(model: &Model, reach: Nats) -> usize {
        let rows = model.chain().states().map(|x| &model.symmetric().to(x)[..x.index()]);
        rows.map(|row| row.iter().filter(|&&d| d <= reach).count()).sum()
    }

    /// Pairs that can stand for each other in a walk: some state can move to both, and both can
    /// move to some state.
    ///
    /// # Complexity
    ///
    /// |S|² bits, and the sum of the squared degrees in time.
    pub(super) fn feasible(chain: &Chain) -> Self {
        let n = chain.len();
        let mut predecessors: Vec<Vec<StateId>> = vec![Vec::new(); n];
        for i in chain.states() {
            chain.successors(i).iter().for_each(|j| predecessors[j.index()].push(i));
        }
        let mut after_the_same = BitMatrix::new(n);
        for i in chain.states() {
            after_the_same.mark_pairs(chain.successors(i));
        }
        let mut before_the_same = BitMatrix::new(n);
        predecessors.iter().for_each(|group| before_the_same.mark_pairs(group));
        let both = after_the_same.bits.iter().zip(&before_the_same.bits).map(|(a, b)| a & b);
        let mut list = Vec::new();
        for (word, mut bits) in both.enumerate() {
            while bits != 0 {
                let bit = bits.trailing_zeros() as usize;
                let column = word % after_the_same.words * 64 + bit;
                list.push((StateId::new(word / after_the_same.words), StateId::new(column)));
                bits &= bits - 1;
            }
        }
        Self::Listed(list)
    }

    /// Both sets together.
    pub(super) fn and(self, other: &Self) -> Self {
        match self {
            Self::All { .. } => self,
            Self::Listed(mut list) => {
                list.extend(other.iter());
                Self::listed(list)
            }
        }
    }
}

/// A square of bits, a whole number of words a row.
struct BitMatrix {
    words: usize,
    bits: Vec<u64>,
}

impl BitMatrix {
    fn new(states: usize) -> Self {
        let words = states.div_ceil(64);
        Self { words, bits: vec![0; states * words] }
    }

    /// Marks every two of an ascending group, in the row of the smaller.
    fn mark_pairs(&mut self, group: &[StateId]) {
        for (place, x) in group.iter().enumerate() {
            let row = &mut self.bits[x.index() * self.words..][..self.words];
            for other in &group[place + 1..] {
                row[other.index() / 64] |= 1 << (other.index() % 64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_the_order() {
        let chain = Chain::downtown();
        let all = Pairs::All { states: chain.len() };
        for pairs in [all, Pairs::transitions(&chain), Pairs::feasible(&chain)] {
            assert_eq!(pairs.iter().count(), pairs.len());
            for (place, (x, other)) in pairs.iter().enumerate() {
                assert!(x < other);
                assert_eq!(pairs.place(other, x), Some(place));
            }
            assert_eq!(pairs.place(StateId::new(3), StateId::new(3)), None);
        }
    }

    #[test]
    fn feasible_pairs_are_those_of_the_definition() {
        let chain = Chain::credit();
        let listed: Vec<_> = Pairs::feasible(&chain).iter().collect();
        let shared = |x, other| {
            chain.states().any(|p| chain.allows(p, x) && chain.allows(p, other))
                && chain.states().any(|s| chain.allows(x, s) && chain.allows(other, s))
        };
        let by_hand: Vec<_> = Pairs::All { states: chain.len() }
            .iter()
            .filter(|&(x, other)| shared(x, other))
            .collect();
        assert_eq!(listed, by_hand);
    }
}
