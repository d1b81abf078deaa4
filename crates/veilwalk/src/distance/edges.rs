//! The transitions of a chain as a graph to search.

use crate::chain::Chain;
use crate::nats::Nats;
use crate::state::StateId;
use crate::storage::Storage;

/// The transitions of a chain as lists of neighbours: for each state, who is one move away, and at
/// what weight. No shortest path takes a self-loop, so it does not matter whether they are listed.
#[derive(Clone, Debug)]
pub struct Edges {
    starts: Vec<usize>,
    neighbours: Storage<StateId>,
    weights: Storage<Nats>,
}

impl Edges {
    /// For each state, those that can move to it.
    #[must_use]
    pub fn incoming(chain: &Chain) -> Self {
        let mut starts = vec![0; chain.len() + 1];
        let moves = |from: StateId| {
            let row = chain.successors(from).iter().zip(chain.weights(from));
            row.filter(move |(to, _)| **to != from)
        };
        for from in chain.states() {
            moves(from).for_each(|(to, _)| starts[to.index() + 1] += 1);
        }
        for i in 0..chain.len() {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut neighbours = vec![StateId::new(0); starts[chain.len()]];
        let mut weights = vec![Nats::ZERO; starts[chain.len()]];
        for from in chain.states() {
            for (to, weight) in moves(from) {
                let place = &mut next[to.index()];
                (neighbours[*place], weights[*place]) = (from, *weight);
                *place += 1;
            }
        }
        Self { starts, neighbours: neighbours.into(), weights: weights.into() }
    }

    /// Each of these pairs in both directions.
    pub(super) fn undirected(states: usize, pairs: &[(StateId, StateId, Nats)]) -> Self {
        let both = || pairs.iter().flat_map(|&(a, b, weight)| [(a, b, weight), (b, a, weight)]);
        let mut starts = vec![0; states + 1];
        both().for_each(|(from, ..)| starts[from.index() + 1] += 1);
        for i in 0..states {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut neighbours = vec![StateId::new(0); starts[states]];
        let mut weights = vec![Nats::ZERO; starts[states]];
        for (from, to, weight) in both() {
            let place = &mut next[from.index()];
            (neighbours[*place], weights[*place]) = (to, weight);
            *place += 1;
        }
        Self { starts, neighbours: neighbours.into(), weights: weights.into() }
    }

    /// For each state, those that it can move to: the chain's own lists.
    pub(super) fn outgoing(chain: &Chain) -> Self {
        let (starts, neighbours, weights) = chain.moves();
        let starts = starts.to_vec();
        Self { starts, neighbours: neighbours.clone(), weights: weights.clone() }
    }

    /// Where the neighbours of each state start, all neighbours, and all weights.
    #[must_use]
    pub fn parts(&self) -> (&[usize], &[StateId], &[Nats]) {
        (&self.starts, &self.neighbours, &self.weights)
    }

    /// Lists from their [parts](Self::parts); `None` if they do not go together. That they are those
    /// of a chain is taken for granted.
    #[must_use]
    pub fn from_parts(
        starts: Vec<usize>,
        neighbours: Storage<StateId>,
        weights: Storage<Nats>,
    ) -> Option<Self> {
        let states = starts.len().checked_sub(1)?;
        let whole = starts[0] == 0
            && starts.is_sorted()
            && starts[states] == neighbours.len()
            && neighbours.len() == weights.len()
            && neighbours.iter().all(|neighbour| neighbour.index() < states);
        whole.then_some(Self { starts, neighbours, weights })
    }

    /// How many states there are.
    #[must_use]
    pub fn states(&self) -> usize {
        self.starts.len() - 1
    }

    #[inline]
    pub(super) fn of(&self, state: StateId) -> impl Iterator<Item = (StateId, Nats)> {
        let row = self.starts[state.index()]..self.starts[state.index() + 1];
        let neighbours = self.neighbours[row.clone()].iter().copied();
        neighbours.zip(self.weights[row].iter().copied())
    }

    /// The largest weight of all.
    pub(super) fn heaviest(&self) -> Nats {
        self.weights.iter().copied().max().unwrap_or(Nats::ZERO)
    }
}
