//! One search: the distances from every state to one target.
//!
//! # Literature
//!
//! Dial (1969) for the buckets; Denardo and Fox (1979) for buckets wider than one.

use crate::chain::{Chain, StateId};
use crate::nats::Nats;
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
}

/// Writes the distance from each state to `target` into `row`.
///
/// # Complexity
///
/// O(|E|) for chains whose lightest transitions are not far below the width of a bucket, with as
/// many buckets as the heaviest transition spans.
pub(super) fn distances_to(
    incoming: &Edges,
    target: StateId,
    row: &mut [Nats],
    queue: &mut Buckets,
) {
    row.fill(Nats::MAX);
    row[target.index()] = Nats::ZERO;
    queue.push(Nats::ZERO, target);
    while let Some((distance, state)) = queue.pop(row) {
        for (source, weight) in incoming.of(state) {
            let through = weight.saturating_add(distance);
            if through < row[source.index()] {
                row[source.index()] = through;
                queue.push(through, source);
            }
        }
    }
}

/// A queue of states by distance, in buckets of equal width around a ring.
///
/// A bucket is emptied in rounds, and within a round in no particular order, so a state may be taken
/// before its distance is final. It is then put in again when the distance improves, and what comes
/// out at the end is the same: no distance is wrong once no transition can improve one. Each round
/// settles at least one more move of every shortest path, so there are never more rounds than
/// states. In exchange, putting in and taking out cost next to nothing.
#[derive(Debug)]
pub(super) struct Buckets {
    /// A bucket spans `2^shift` units.
    shift: u32,
    ring: Vec<Vec<StateId>>,
    /// What is left of the round under way.
    round: Vec<StateId>,
    /// The number of the bucket being emptied, counted without going around.
    current: usize,
    waiting: usize,
    /// The distance at which each state was last taken.
    taken_at: Vec<Nats>,
}

impl Buckets {
    /// Buckets that the heaviest transition spans at most half of.
    const MOST_SPANNED: u32 = 1024;

    /// An empty queue for one search after the other on a chain.
    pub(super) fn new(incoming: &Edges) -> Self {
        let heaviest = incoming.weights.iter().map(|weight| weight.units()).max().unwrap_or(0);
        let bits = u32::BITS - heaviest.leading_zeros();
        let shift = bits.saturating_sub(Self::MOST_SPANNED.ilog2());
        Self {
            shift,
            ring: vec![Vec::new(); 2 * Self::MOST_SPANNED as usize],
            round: Vec::new(),
            current: 0,
            waiting: 0,
            taken_at: vec![Nats::MAX; incoming.states()],
        }
    }

    #[inline]
    fn push(&mut self, distance: Nats, state: StateId) {
        let bucket = (distance.units() >> self.shift) as usize;
        let place = bucket % self.ring.len();
        self.ring[place].push(state);
        self.waiting += 1;
    }

    /// The next state whose distance changed since it was last taken. Empty again at the end, and
    /// ready for the next search.
    #[inline]
    fn pop(&mut self, row: &[Nats]) -> Option<(Nats, StateId)> {
        while self.waiting > 0 {
            let Some(state) = self.round.pop() else {
                let place = self.current % self.ring.len();
                match self.ring[place].is_empty() {
                    true => self.current += 1,
                    false => std::mem::swap(&mut self.round, &mut self.ring[place]),
                }
                continue;
            };
            self.waiting -= 1;
            let distance = row[state.index()];
            if self.taken_at[state.index()] != distance {
                self.taken_at[state.index()] = distance;
                return Some((distance, state));
            }
        }
        self.current = 0;
        self.taken_at.fill(Nats::MAX);
        None
    }
}
