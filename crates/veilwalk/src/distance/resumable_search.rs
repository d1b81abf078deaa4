//! A search that goes only as far as it is asked to, and can be resumed.
//!
//! A step needs the distances of a few candidates that are mostly near. So the search keeps what it
//! has seen in a small hash table instead of a row for all states: its cost, and that of starting
//! anew, depends on how far it went and not on the size of the chain.
//!
//! # Literature
//!
//! Dijkstra (1959).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Edges;
use crate::chain::StateId;
use crate::nats::Nats;

/// The distances around one state, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct ResumableSearch {
    seen: Seen,
    /// Distance and state in one number, so that comparing is cheap. A state whose distance has
    /// improved is in here more than once; the later ones are ignored.
    queue: BinaryHeap<Reverse<u64>>,
}

fn queued(distance: Nats, state: StateId) -> Reverse<u64> {
    Reverse(u64::from(distance.units()) << 32 | state.index() as u64)
}

impl ResumableSearch {
    /// Forgets everything and starts from another state.
    pub(super) fn restart(&mut self, origin: StateId) {
        self.seen.clear();
        self.queue.clear();
        self.seen.lower(origin, Nats::ZERO);
        self.queue.push(queued(Nats::ZERO, origin));
    }

    /// How many states it has seen.
    pub(super) fn len(&self) -> usize {
        self.seen.len
    }

    /// How far the next state is. What is known of states closer than that, or as close, is final;
    /// with no next one, everything is.
    #[inline]
    pub(super) fn next(&self) -> Option<Nats> {
        self.queue.peek().map(|Reverse(next)| Nats::from_units((next >> 32) as u32))
    }

    /// The distance of a state, searching on if it is not known yet. What cannot be reached below the
    /// ceiling is at the ceiling, as in a table.
    #[inline]
    pub(super) fn distance(&mut self, edges: &Edges, state: StateId) -> Nats {
        loop {
            // Whatever is still to come is at least as far as the next in the queue.
            match (self.seen.get(state), self.next()) {
                (Some(distance), Some(next)) if distance <= next => return distance,
                (known, None) => return known.unwrap_or(Nats::MAX),
                _ => self.settle_next(edges),
            };
        }
    }

    /// Takes the nearest state that is not settled, and looks at its neighbours. Answers with it,
    /// unless it had been taken before.
    #[inline]
    pub(super) fn settle_next(&mut self, edges: &Edges) -> Option<(Nats, StateId)> {
        let Reverse(next) = self.queue.pop()?;
        let (distance, state) =
            (Nats::from_units((next >> 32) as u32), StateId::new(next as u32 as usize));
        if self.seen.get(state) != Some(distance) {
            return None;
        }
        for (neighbour, weight) in edges.of(state) {
            let through = weight.saturating_add(distance);
            if through < Nats::MAX && self.seen.lower(neighbour, through) {
                self.queue.push(queued(through, neighbour));
            }
        }
        Some((distance, state))
    }

    /// Searches until everything within `reach` is final.
    pub(super) fn reach(&mut self, edges: &Edges, reach: Nats) {
        while self.next().is_some_and(|next| next <= reach) {
            self.settle_next(edges);
        }
    }

    /// What was seen, final or not, in no particular order.
    pub(super) fn seen(&self) -> impl Iterator<Item = (StateId, Nats)> {
        self.seen.entries()
    }

    /// The distance of a state, if it is final already.
    pub(super) fn known(&self, state: StateId) -> Option<Nats> {
        let so_far = self.seen.get(state)?;
        self.next().is_none_or(|next| so_far <= next).then_some(so_far)
    }
}

/// A hash table from states to distances: open addressing, linear probing, at most half full.
#[derive(Debug, Default)]
struct Seen {
    slots: Vec<(u32, Nats)>,
    len: usize,
}

const FREE: u32 = u32::MAX;

impl Seen {
    const SMALLEST: usize = 64;

    fn clear(&mut self) {
        // A table that was far too large for its last use would make the next one slow.
        let roomy = self.slots.len() > Self::SMALLEST && self.slots.len() > 16 * self.len;
        if self.slots.is_empty() || roomy {
            let size = (4 * self.len).next_power_of_two().max(Self::SMALLEST);
            self.slots = vec![(FREE, Nats::MAX); size];
        } else {
            self.slots.fill((FREE, Nats::MAX));
        }
        self.len = 0;
    }

    /// The slot of a state, or the free one where it belongs.
    #[inline]
    fn slot(&self, state: u32) -> usize {
        let mask = self.slots.len() - 1;
        // Multiplied by an odd constant, neighbouring numbers are spread; the high bits are best.
        let hash = u64::from(state).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let mut place = hash as usize & mask;
        while self.slots[place].0 != state && self.slots[place].0 != FREE {
            place = (place + 1) & mask;
        }
        place
    }

    #[inline]
    fn get(&self, state: StateId) -> Option<Nats> {
        let state = state.index() as u32;
        let (key, distance) = self.slots[self.slot(state)];
        (key == state).then_some(distance)
    }

    /// Puts in a distance unless a smaller or equal one is known.
    #[inline]
    fn lower(&mut self, state: StateId, distance: Nats) -> bool {
        let state = state.index() as u32;
        let place = self.slot(state);
        let (key, known) = self.slots[place];
        if key == state {
            let lower = distance < known;
            if lower {
                self.slots[place].1 = distance;
            }
            return lower;
        }
        self.slots[place] = (state, distance);
        self.len += 1;
        if 2 * self.len > self.slots.len() {
            self.grow();
        }
        true
    }

    #[cold]
    fn grow(&mut self) {
        let doubled = vec![(FREE, Nats::MAX); 2 * self.slots.len()];
        let before = std::mem::replace(&mut self.slots, doubled);
        for (state, distance) in before.into_iter().filter(|slot| slot.0 != FREE) {
            let place = self.slot(state);
            self.slots[place] = (state, distance);
        }
    }

    fn entries(&self) -> impl Iterator<Item = (StateId, Nats)> {
        let full = self.slots.iter().filter(|slot| slot.0 != FREE);
        full.map(|&(state, distance)| (StateId::new(state as usize), distance))
    }
}
