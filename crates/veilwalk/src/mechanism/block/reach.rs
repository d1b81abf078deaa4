//! Which states a block can be in, step by step: nothing else is visited.

use std::sync::Arc;

use crate::chain::{Chain, StateId};

/// The states that can be reached in some number of steps, in order.
#[derive(Clone, Debug)]
pub(super) struct Frontier {
    states: Arc<[StateId]>,
    /// A step leads from this set to itself, so every further one does.
    settled: bool,
}

impl Frontier {
    pub(super) fn at(state: StateId) -> Self {
        Self::of(Arc::new([state]))
    }

    /// From any of these, in order.
    pub(super) fn of(states: Arc<[StateId]>) -> Self {
        Self { states, settled: false }
    }

    pub(super) fn states(&self) -> &Arc<[StateId]> {
        &self.states
    }

    /// One step further. Sets that no longer change are shared, not copied. `marks` is working
    /// space, false wherever it is.
    pub(super) fn advance(&mut self, chain: &Chain, marks: &mut Vec<bool>) {
        if self.settled {
            return;
        }
        marks.resize(chain.len(), false);
        let mut next = Vec::new();
        for &z in &*self.states {
            for &y in chain.successors(z) {
                if !std::mem::replace(&mut marks[y.index()], true) {
                    next.push(y);
                }
            }
        }
        if next.len() > chain.len() / 8 {
            // Reading the marks in order is faster than sorting.
            next.clear();
            next.extend(chain.states().filter(|y| marks[y.index()]));
        } else {
            next.sort_unstable();
        }
        next.iter().for_each(|y| marks[y.index()] = false);
        if next == *self.states {
            self.settled = true;
        } else {
            self.states = next.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{ChainBuilder, Entries};

    #[test]
    fn sets_grow_alternate_and_settle() {
        let mut builder = ChainBuilder::new(Entries::Counts);
        let ids = ["a", "b", "c", "d"].map(|label| builder.state(label));
        for (i, j) in [(0, 1), (1, 2), (2, 3), (3, 0), (2, 1)] {
            builder.transition(ids[i], ids[j], 1.0).unwrap();
        }
        let chain = builder.build(Default::default()).unwrap().0;
        let (mut frontier, mut marks) = (Frontier::at(ids[0]), Vec::new());
        let mut sizes = Vec::new();
        for _ in 0..6 {
            frontier.advance(&chain, &mut marks);
            sizes.push(frontier.states().iter().map(|s| s.index()).collect::<Vec<_>>());
        }
        assert_eq!(sizes, [vec![1], vec![2], vec![1, 3], vec![0, 2], vec![1, 3], vec![0, 2]]);
        assert!(!frontier.settled);
        // With a self-loop everything is reached in the end, and the set is shared from then on.
        let credit = Chain::credit();
        let mut frontier = Frontier::at(StateId::new(0));
        (0..20).for_each(|_| frontier.advance(&credit, &mut marks));
        let before = frontier.states().clone();
        frontier.advance(&credit, &mut marks);
        assert!(frontier.settled && Arc::ptr_eq(&before, frontier.states()));
        assert_eq!(before.len(), 9);
    }
}
