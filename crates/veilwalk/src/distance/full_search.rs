//! A full search: the distances from every state to one target.
//!
//! # Literature
//!
//! Dial (1969) for the buckets; Denardo and Fox (1979) for buckets wider than one.

use super::Edges;
use crate::nats::Nats;
use crate::state::StateId;

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
        let heaviest = incoming.heaviest().units();
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
