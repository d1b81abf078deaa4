//! Distances in sixteen bits, for a first look.
//!
//! A step reads the distances of some dozens of candidates, scattered over one row of a table that no
//! cache holds, and waits for them longer than it computes. Nearly always a rounded distance decides
//! as much as the exact one. So each row that is asked for often gets a copy: rounded down to sixteen
//! bits, and ordered so that the states which are candidates most often lie side by side. What a
//! rounded distance does not decide is left to the exact one (see [`random`](crate::random)).

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, Ordering};

use bytemuck::allocation::zeroed_slice_box;

use super::DistanceTable;
use crate::chain::{Chain, StateId};
use crate::nats::Nats;
use crate::random::COINS;

/// Copies of the rows of a table, each made when it has been asked for often.
#[derive(Debug)]
pub(crate) struct RoundedRows {
    table: Arc<DistanceTable>,
    /// The states, those that are candidates most often first.
    order: Box<[StateId]>,
    /// Where the successors of each state begin among `places`, and how many there are.
    spans: Box<[(u32, u32)]>,
    /// For the successors of each state, their places in `order`. The last sixteen of a state are
    /// filled up with one of them, so that all are read sixteen at a time.
    places: Box<[[u16; COINS]]>,
    /// One row after the other, each in the order of the places: memory that the system hands out when
    /// it is first written. Several threads may write a row at once, all of them the same numbers.
    /// After the last row there is more of it, so that from each on there is a [`Row`].
    distances: Box<[AtomicU16]>,
    /// For each row, how often it was asked for; once it is written, [`WRITTEN`] and the bits its
    /// distances were shifted by.
    rows: Box<[AtomicU8]>,
}

/// A row and whatever follows it: a distance at any place there can be.
type Row = [AtomicU16; ROW];
const ROW: usize = 1 << 16;

/// How often a row is asked for before it is written, which takes about as long as it saves in as many
/// steps: so never much more than twice the least time is spent.
const OFTEN: u8 = 40;
const WRITTEN: u8 = 128;

/// The distances of a step's candidates, shifted to the right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounded<'a> {
    /// By how many bits.
    pub(crate) shift: u32,
    /// How many candidates there are.
    pub(crate) len: usize,
    row: &'a Row,
    places: &'a [[u16; COINS]],
    rows: &'a RoundedRows,
    real: StateId,
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
        let (mut spans, mut places) = (Vec::new(), Vec::new());
        for state in chain.states() {
            let successors = chain.successors(state);
            spans.push((places.len() as u32, successors.len() as u32));
            for sixteen in successors.chunks(COINS) {
                let place = |i: usize| place_of[sixteen[i.min(sixteen.len() - 1)].index()];
                places.push(std::array::from_fn(place));
            }
        }
        Some(Self {
            table,
            order,
            spans: spans.into(),
            places: places.into(),
            distances: zeroed_slice_box((states - 1) * states + ROW),
            rows: zeroed_slice_box(states),
        })
    }

    /// The rounded distances from the successors of `previous`, which are the candidates, to the real
    /// state. `None` if its row has not been asked for often enough.
    #[inline(always)]
    pub(crate) fn at(&self, previous: StateId, real: StateId) -> Option<Rounded<'_>> {
        // Whoever sees that a row is written sees all that was written before.
        let seen = self.rows[real.index()].load(Ordering::Acquire);
        let shift = match seen.checked_sub(WRITTEN) {
            Some(shift) => shift.into(),
            None => self.count(real, seen)?,
        };
        let (start, len) = self.spans[previous.index()];
        let len = len as usize;
        let places = &self.places[start as usize..][..len.div_ceil(COINS)];
        Some(Rounded { shift, len, row: self.row(real), places, rows: self, real })
    }

    #[inline(always)]
    fn row(&self, of: StateId) -> &Row {
        self.distances[of.index() * self.order.len()..].first_chunk().expect("there is more of it")
    }

    /// Counts that this row was asked for, and writes it if that was often enough.
    #[cold]
    #[inline(never)]
    fn count(&self, real: StateId, seen: u8) -> Option<u32> {
        if seen >= OFTEN {
            return Some(self.write(real));
        }
        // Another thread may have counted, which will do, or written the row.
        let row = &self.rows[real.index()];
        let _ = row.compare_exchange(seen, seen + 1, Ordering::Relaxed, Ordering::Relaxed);
        None
    }

    /// Writes the row of this state, and gives its shift.
    fn write(&self, target: StateId) -> u32 {
        let row = self.table.to(target);
        let largest = row.iter().fold(0, |largest, nats| nats.units().max(largest));
        let shift = (u32::BITS - largest.leading_zeros()).saturating_sub(u16::BITS);
        for (slot, state) in self.row(target).iter().zip(&self.order) {
            slot.store((row[state.index()].units() >> shift) as u16, Ordering::Relaxed);
        }
        self.rows[target.index()].store(WRITTEN + shift as u8, Ordering::Release);
        shift
    }
}

impl Rounded<'_> {
    /// Reads the distances into the first places of `out`, sixteen at a time, and gives the least of
    /// them. The last sixteen may be fewer: one of them is repeated.
    #[inline(always)]
    pub(crate) fn read(&self, out: &mut Vec<[u16; COINS]>) -> u16 {
        // As for coins, it is never made smaller.
        if out.len() < self.places.len() {
            out.resize(self.places.len(), [0; COINS]);
        }
        let mut least = [u16::MAX; COINS];
        for (slots, places) in out.iter_mut().zip(self.places) {
            let mut distances = [0; COINS];
            for i in 0..COINS {
                distances[i] = self.row[usize::from(places[i])].load(Ordering::Relaxed);
            }
            for i in 0..COINS {
                least[i] = least[i].min(distances[i]);
            }
            *slots = distances;
        }
        least.into_iter().fold(u16::MAX, u16::min)
    }

    /// One of them.
    #[inline(always)]
    pub(crate) fn candidate(&self, number: usize) -> StateId {
        self.rows.order[usize::from(self.places.as_flattened()[number])]
    }

    /// The exact distance of one of them.
    pub(crate) fn exact(&self, number: usize) -> Nats {
        self.rows.table.between(self.candidate(number), self.real)
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
                let mut space = Vec::new();
                for previous in chain.states() {
                    let candidates = chain.successors(previous);
                    for real in chain.states() {
                        let mut asked = std::iter::repeat_with(|| rows.at(previous, real));
                        let rounded = asked.find_map(|found| found).unwrap();
                        assert_eq!(rounded.len, candidates.len());
                        let least = rounded.read(&mut space);
                        let out = &space[..candidates.len().div_ceil(COINS)];
                        assert_eq!(Some(&least), out.as_flattened().iter().min());
                        for (number, &distance) in out.as_flattened().iter().enumerate() {
                            let number = number.min(candidates.len() - 1);
                            assert_eq!(rounded.candidate(number), candidates[number]);
                            let exact = table.between(candidates[number], real);
                            assert_eq!(rounded.exact(number), exact);
                            assert_eq!(u32::from(distance), exact.units() >> rounded.shift);
                        }
                    }
                }
            };
            std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(check))));
            let shifted = |row: &AtomicU8| row.load(Ordering::Relaxed) > WRITTEN;
            assert!(rows.rows.iter().all(shifted), "these distances do not fit unshifted");
        }
    }

    /// A row is written when it has been asked for often, and only that one.
    #[test]
    fn rows_are_written_once_they_pay() {
        let model = Model::new(fan()).unwrap();
        let rows = RoundedRows::new(model.chain(), model.directed().clone()).unwrap();
        let (previous, real) = (StateId::new(40), StateId::new(7));
        let asked = (0..).take_while(|_| rows.at(previous, real).is_none()).count();
        assert_eq!(asked, usize::from(OFTEN));
        assert!(rows.at(StateId::new(3), real).is_some(), "for every last state");
        let written = rows.rows.iter().filter(|row| row.load(Ordering::Relaxed) >= WRITTEN);
        assert_eq!(written.count(), 1);
    }
}
