//! Distances in sixteen bits, for a first look.
//!
//! A step reads the distances of some dozens of candidates, scattered over one row of a table that no
//! cache holds, and waits for them longer than it computes. Nearly always a rounded distance decides
//! as much as the exact one. So each row that is asked for gets a copy: rounded down to sixteen bits,
//! and ordered so that the states which are candidates most often lie side by side. What a rounded
//! distance does not decide is left to the exact one (see [`random`](crate::random)).

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, Ordering};

use bytemuck::allocation::zeroed_slice_box;

use super::DistanceTable;
use crate::chain::{Chain, StateId};
use crate::nats::Nats;
use crate::random::COINS;

/// Copies of the rows of a table, each made when it is first asked for.
#[derive(Debug)]
pub(crate) struct RoundedRows {
    table: Arc<DistanceTable>,
    /// The states, those that are candidates most often first.
    order: Box<[StateId]>,
    /// Where the successors of each state are among `places`.
    starts: Box<[u32]>,
    /// For the successors of each state, their places in `order`. The last sixteen of a state are
    /// filled up with one of them, so that all are read sixteen at a time.
    places: Box<[[u16; COINS]]>,
    /// One row after the other, each in the order of the places: memory that the system hands out when
    /// it is first written. Several threads may write a row at once, all of them the same numbers.
    distances: Box<[AtomicU16]>,
    /// For each row that is written, one more than the bits its distances were shifted by.
    shifts: Box<[AtomicU8]>,
}

/// The distances of a step's candidates, shifted to the right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounded<'a> {
    /// By how many bits.
    pub(crate) shift: u32,
    row: &'a [AtomicU16],
    places: &'a [[u16; COINS]],
    table: &'a DistanceTable,
    real: StateId,
    candidates: &'a [StateId],
}

impl RoundedRows {
    /// The rows of a table of this chain's distances. `None` if it has too many states.
    pub(crate) fn new(chain: &Chain, table: Arc<DistanceTable>) -> Option<Self> {
        let states = chain.len();
        u16::try_from(states - 1).ok()?;
        let mut predecessors = vec![0u32; states];
        for state in chain.states() {
            chain.successors(state).iter().for_each(|to| predecessors[to.index()] += 1);
        }
        // A state is a candidate as often as its predecessors are released, and that is the more often
        // the more predecessors they have.
        let mut candidate = vec![0u64; states];
        for state in chain.states() {
            let often = u64::from(predecessors[state.index()]);
            chain.successors(state).iter().for_each(|to| candidate[to.index()] += often);
        }
        let mut order: Box<[StateId]> = chain.states().collect();
        order.sort_by_key(|state| Reverse(candidate[state.index()]));
        let mut place_of = vec![0; states];
        for (place, state) in order.iter().enumerate() {
            place_of[state.index()] = place as u16;
        }
        let (mut starts, mut places) = (vec![0], Vec::new());
        for state in chain.states() {
            for sixteen in chain.successors(state).chunks(COINS) {
                let place = |i: usize| place_of[sixteen[i.min(sixteen.len() - 1)].index()];
                places.push(std::array::from_fn(place));
            }
            starts.push(places.len() as u32);
        }
        Some(Self {
            table,
            order,
            starts: starts.into(),
            places: places.into(),
            distances: zeroed_slice_box(states * states),
            shifts: zeroed_slice_box(states),
        })
    }

    /// The rounded distances from the successors of `previous`, which are the candidates, to the real
    /// state.
    #[inline]
    pub(crate) fn at<'a>(
        &'a self,
        previous: StateId,
        candidates: &'a [StateId],
        real: StateId,
    ) -> Rounded<'a> {
        let states = self.order.len();
        let row = &self.distances[real.index() * states..][..states];
        // Whoever sees this number sees all that was written before it.
        let shift = match self.shifts[real.index()].load(Ordering::Acquire) {
            0 => self.write(real, row),
            more => u32::from(more) - 1,
        };
        let (start, end) = (self.starts[previous.index()], self.starts[previous.index() + 1]);
        let places = &self.places[start as usize..end as usize];
        Rounded { shift, row, places, table: &self.table, real, candidates }
    }

    /// Writes the row of this state, and gives its shift.
    #[cold]
    #[inline(never)]
    fn write(&self, target: StateId, rounded: &[AtomicU16]) -> u32 {
        let row = self.table.to(target);
        let largest = row.iter().fold(0, |largest, nats| nats.units().max(largest));
        let shift = (u32::BITS - largest.leading_zeros()).saturating_sub(u16::BITS);
        for (slot, state) in rounded.iter().zip(&self.order) {
            slot.store((row[state.index()].units() >> shift) as u16, Ordering::Relaxed);
        }
        self.shifts[target.index()].store(1 + shift as u8, Ordering::Release);
        shift
    }
}

impl Rounded<'_> {
    /// How many candidates there are.
    pub(crate) fn len(&self) -> usize {
        self.candidates.len()
    }

    /// As many sixteens as [`Rounded::read`] reads.
    #[inline]
    pub(crate) fn sixteens(&self) -> usize {
        self.places.len()
    }

    /// The exact distance of one of them.
    pub(crate) fn exact(&self, place: usize) -> Nats {
        self.table.between(self.candidates[place], self.real)
    }

    /// Reads the distances into the first places of `out`, sixteen at a time. The last sixteen may be
    /// fewer: one of them is repeated.
    #[inline(always)]
    pub(crate) fn read(&self, out: &mut Vec<[u16; COINS]>) {
        // As for coins, it is never made smaller.
        if out.len() < self.places.len() {
            out.resize(self.places.len(), [0; COINS]);
        }
        for (slots, places) in out.iter_mut().zip(self.places) {
            for (slot, &place) in slots.iter_mut().zip(places) {
                *slot = self.row[usize::from(place)].load(Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{ChainBuilder, Entries};
    use crate::model::Model;

    /// A state with no, one, many successors more than sixteen; distances from tiny to huge.
    fn fan() -> Chain {
        let mut builder = ChainBuilder::new(Entries::Counts);
        let ids: Vec<_> = (0..60).map(|i| builder.state(&i.to_string())).collect();
        for from in 0..60 {
            builder.transition(ids[from], ids[(from + 1) % 60], 1.0).unwrap();
            for to in (1..from).step_by(1 + from % 3) {
                builder.transition(ids[from], ids[to], 10f64.powi(-(to as i32) * 2)).unwrap();
            }
        }
        builder.build(Default::default()).unwrap().0
    }

    /// Every distance, read by several threads at once, is the exact one shifted.
    #[test]
    fn rounded_distances_are_exact_ones_shifted() {
        let model = Model::new(fan()).unwrap();
        let chain = model.chain();
        for table in [model.directed(), model.symmetric()] {
            let rows = RoundedRows::new(chain, table.clone()).unwrap();
            let check = || {
                let mut out = Vec::new();
                for previous in chain.states() {
                    let candidates = chain.successors(previous);
                    for real in chain.states() {
                        let rounded = rows.at(previous, candidates, real);
                        rounded.read(&mut out);
                        let out = &out[..candidates.len().div_ceil(COINS)];
                        assert_eq!(out.len(), rounded.sixteens());
                        let shifted = |place| rounded.exact(place).units() >> rounded.shift;
                        for (place, &number) in out.as_flattened().iter().enumerate() {
                            let place = place.min(rounded.len() - 1);
                            assert_eq!(u32::from(number), shifted(place));
                            let exact = table.between(candidates[place], real);
                            assert_eq!(rounded.exact(place), exact);
                        }
                    }
                }
            };
            std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(check))));
            let shifted = |shift: &AtomicU8| shift.load(Ordering::Relaxed) > 1;
            assert!(rows.shifts.iter().all(shifted), "these distances do not fit unshifted");
        }
    }
}
