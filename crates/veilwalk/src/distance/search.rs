//! One search: the distances from every state to one target.
//!
//! # Literature
//!
//! Dial (1969) for the buckets; Denardo and Fox (1979) for buckets wider than one.

use crate::chain::{Chain, StateId};
use crate::nats::Nats;

/// The transitions of a chain as lists of neighbours: for each state, who is one move away, and at
/// what weight. Self-loops are left out, since no shortest path takes one.
#[derive(Debug)]
pub(super) struct Edges {
    starts: Vec<usize>,
    edges: Vec<(StateId, Nats)>,
}

impl Edges {
    /// For each state, those that can move to it.
    pub(super) fn incoming(chain: &Chain) -> Self {
        let mut starts = vec![0; chain.len() + 1];
        for from in chain.states() {
            moves(chain, from).for_each(|(to, _)| starts[to.index() + 1] += 1);
        }
        for i in 0..chain.len() {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut edges = vec![(StateId::new(0), Nats::ZERO); starts[chain.len()]];
        for from in chain.states() {
            for (to, weight) in moves(chain, from) {
                edges[next[to.index()]] = (from, weight);
                next[to.index()] += 1;
            }
        }
        Self { starts, edges }
    }

    /// For each state, those that it can move to.
    pub(super) fn outgoing(chain: &Chain) -> Self {
        let mut starts = Vec::with_capacity(chain.len() + 1);
        let mut edges = Vec::with_capacity(chain.transitions());
        starts.push(0);
        for from in chain.states() {
            edges.extend(moves(chain, from));
            starts.push(edges.len());
        }
        Self { starts, edges }
    }

    pub(super) fn states(&self) -> usize {
        self.starts.len() - 1
    }

    #[inline]
    pub(super) fn of(&self, state: StateId) -> &[(StateId, Nats)] {
        &self.edges[self.starts[state.index()]..self.starts[state.index() + 1]]
    }
}

fn moves(chain: &Chain, from: StateId) -> impl Iterator<Item = (StateId, Nats)> {
    let row = chain.successors(from).iter().copied().zip(chain.weights(from).iter().copied());
    row.filter(move |(to, _)| *to != from)
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
        for &(source, weight) in incoming.of(state) {
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
        let heaviest = incoming.edges.iter().map(|(_, weight)| weight.units()).max().unwrap_or(0);
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
