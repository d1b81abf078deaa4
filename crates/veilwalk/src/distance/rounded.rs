//! Distances in sixteen bits, for a first look.
//!
//! A step needs the least distance of all its candidates and the distances of some of them, scattered
//! over one row of a table that no cache holds, and waits for them longer than it computes. Nearly
//! always a rounded distance decides as much as the exact one. So each row that is asked for often gets
//! a copy: rounded down to sixteen bits, ordered so that the states which are candidates most often
//! lie side by side, and with the least distance of the candidates after states that have many.
//! What a rounded distance does not decide is left to the exact one (see [`random`](crate::random)).

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use bytemuck::allocation::{try_zeroed_slice_box, zeroed_slice_box};
use pulp::Arch;

use super::{DistanceTable, huge_pages};
use crate::chain::{Chain, StateId};
use crate::nats::Nats;
use crate::random::COINS;

/// Copies of the rows of a table, each made when it has been asked for often.
#[derive(Debug)]
pub(crate) struct RoundedRows {
    table: Arc<DistanceTable>,
    /// The states, those that are candidates most often first.
    order: Box<[StateId]>,
    /// States after which there are more than sixteen candidates, those that are released most often
    /// first, and only so many that a row is written soon.
    branching: Box<[StateId]>,
    spans: Box<[Span]>,
    /// For the successors of each state, where their distances are in a row. The last sixteen of a state
    /// are filled up with one of them, so that all can be read sixteen at a time. After the last there
    /// is more of it, so that from each on there are places for any number of candidates.
    places: Box<[u16]>,
    /// One row after the other: the least distance of the candidates after each of the `branching`
    /// states, then the distances in `order`. This is memory that the system hands out when it is first
    /// written. Several threads may write a row at once, all of them the same numbers. After the last
    /// row there is more of it, so that from each on there is one of any length.
    distances: Box<[AtomicU16]>,
    /// For each row, how often it was asked for; once it is written, [`WRITTEN`] and the bits its
    /// distances were shifted by.
    rows: Box<[AtomicU16]>,
    /// How often a row is asked for before it is written.
    often: u16,
}

/// What follows a state.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// Where the places of its successors begin.
    start: u32,
    /// How many there are.
    len: u16,
    /// Where in a row their least distance is, or [`NOWHERE`].
    least: u16,
}

const NOWHERE: u16 = u16::MAX;

/// For each state, so many numbers at most are compared for the leasts of a row.
const COMPARED: usize = 64;

/// As many numbers as sixteen bits can tell apart.
type Any<T> = [T; ANY];
const ANY: usize = 1 << 16;

const WRITTEN: u16 = 1 << 15;

/// The distances of a step's candidates, shifted to the right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounded<'a> {
    /// By how many bits.
    pub(crate) shift: u32,
    span: Span,
    row: &'a Any<AtomicU16>,
    places: &'a Any<u16>,
    rows: &'a RoundedRows,
    real: StateId,
}

impl RoundedRows {
    /// The rows of a table of this chain's distances. `None` if it has too many states, or if there is
    /// no room for them: steps do without.
    pub(crate) fn new(chain: &Chain, table: Arc<DistanceTable>) -> Option<Self> {
        let states = chain.len();
        let mut predecessors = vec![0u32; states];
        for state in chain.states() {
            chain.successors(state).iter().for_each(|to| predecessors[to.index()] += 1);
        }
        // A state is released the more often the more predecessors it has, and is a candidate as often
        // as they are released.
        let (branching, compared) = branching(chain, &predecessors);
        u16::try_from(branching.len() + states - 1).ok().filter(|&last| last < NOWHERE)?;
        let mut candidate = vec![0u64; states];
        for state in chain.states() {
            let often = u64::from(predecessors[state.index()]);
            chain.successors(state).iter().for_each(|to| candidate[to.index()] += often);
        }
        let mut order: Box<[StateId]> = chain.states().collect();
        order.sort_by_key(|state| Reverse(candidate[state.index()]));
        let mut place_of = vec![0; states];
        for (place, state) in (branching.len()..).zip(&order) {
            place_of[state.index()] = place as u16;
        }
        let (mut spans, places) = spans(chain, &place_of);
        for (least, state) in branching.iter().enumerate() {
            spans[state.index()].least = least as u16;
        }
        let row = branching.len() + states;
        let distances: Box<[AtomicU16]> = try_zeroed_slice_box((states - 1) * row + ANY).ok()?;
        huge_pages::ask(&distances);
        let mean_candidates = candidate.iter().sum::<u64>() as usize / chain.transitions();
        Some(Self {
            often: often(states, compared, mean_candidates.max(1)),
            table,
            order,
            branching,
            spans,
            places,
            distances,
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
        Some(self.written(previous, real, shift))
    }

    #[inline(always)]
    fn written(&self, previous: StateId, real: StateId, shift: u32) -> Rounded<'_> {
        let span = self.spans[previous.index()];
        let places = self.places[span.start as usize..].first_chunk().expect("there is more of it");
        Rounded { shift, span, row: self.row(real), places, rows: self, real }
    }

    #[inline(always)]
    fn row(&self, of: StateId) -> &Any<AtomicU16> {
        let row = self.branching.len() + self.order.len();
        self.distances[of.index() * row..].first_chunk().expect("there is more of it")
    }

    /// Counts that this row was asked for, and writes it if that was often enough.
    #[cold]
    #[inline(never)]
    fn count(&self, real: StateId, seen: u16) -> Option<u32> {
        if seen >= self.often {
            return Some(self.write(real));
        }
        // Another thread may have counted, which will do, or written the row.
        let row = &self.rows[real.index()];
        let _ = row.compare_exchange(seen, seen + 1, Ordering::Relaxed, Ordering::Relaxed);
        None
    }

    /// Writes the row of this state, and gives its shift.
    fn write(&self, target: StateId) -> u32 {
        let exact = self.table.to(target);
        let largest = exact.iter().fold(0, |largest, nats| nats.units().max(largest));
        let shift = (u32::BITS - largest.leading_zeros()).saturating_sub(u16::BITS);
        let (leasts, distances) = self.row(target).split_at(self.branching.len());
        for (slot, state) in distances.iter().zip(&self.order) {
            slot.store((exact[state.index()].units() >> shift) as u16, Ordering::Relaxed);
        }
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for (slot, &state) in leasts.iter().zip(&self.branching) {
                    let least = self.written(state, target, shift).least_of_all();
                    slot.store(least, Ordering::Relaxed);
                }
            },
        );
        self.rows[target.index()].store(WRITTEN + shift as u16, Ordering::Release);
        shift
    }
}

/// The states whose candidates' least distances are kept, and how many numbers are compared for that.
fn branching(chain: &Chain, predecessors: &[u32]) -> (Box<[StateId]>, usize) {
    let successors = |state: &StateId| chain.successors(*state).len();
    let mut states: Vec<StateId> =
        chain.states().filter(|state| successors(state) > COINS).collect();
    states.sort_by_key(|state| Reverse(predecessors[state.index()]));
    let mut compared = 0;
    states.retain(|state| {
        let fits = compared + successors(state) <= COMPARED * chain.len();
        compared += if fits { successors(state) } else { 0 };
        fits
    });
    (states.into(), compared)
}

/// What follows each state, and the places of all successors.
fn spans(chain: &Chain, place_of: &[u16]) -> (Box<[Span]>, Box<[u16]>) {
    let sixteens = |state| chain.successors(state).len().div_ceil(COINS);
    let sixteens: usize = chain.states().map(sixteens).sum();
    let mut places: Box<[u16]> = zeroed_slice_box(sixteens * COINS + ANY);
    let mut start = 0;
    let span = |state| {
        let successors = chain.successors(state);
        let span = Span { start: start as u32, len: successors.len() as u16, least: NOWHERE };
        let end = start + successors.len().next_multiple_of(COINS);
        let last = successors.len().saturating_sub(1);
        for (i, place) in places[start..end].iter_mut().enumerate() {
            *place = place_of[successors[i.min(last)].index()];
        }
        start = end;
        span
    };
    let spans = chain.states().map(span).collect();
    (spans, places)
}

/// How often a row is asked for before it is written, which takes about as long as it saves in as many
/// steps: so never much more than twice the least time is spent.
///
/// All in the time of reading one number that is near at hand, as measured. To write a row, each state
/// takes four, and each number that is compared for the leasts one. A step saves two for each candidate,
/// and 24 for each line of sixteen exact distances that it would wait for.
fn often(states: usize, compared: usize, candidates: usize) -> u16 {
    let written = 4 * states + compared;
    let saved = 2 * candidates + 24 * candidates.min(states.div_ceil(16));
    u16::try_from(written / saved).unwrap_or(u16::MAX).min(WRITTEN - 1)
}

impl Rounded<'_> {
    /// How many candidates there are.
    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        self.span.len.into()
    }

    /// The least distance.
    #[inline(always)]
    pub(crate) fn least(&self) -> u16 {
        match self.span.least {
            NOWHERE => self.least_of_all(),
            least => self.row[usize::from(least)].load(Ordering::Relaxed),
        }
    }

    /// The least distance, by reading all.
    #[inline(always)]
    fn least_of_all(&self) -> u16 {
        let mut least = self.sixteen(0);
        for sixteen in 1..self.count().div_ceil(COINS) {
            let distances = self.sixteen(sixteen);
            for i in 0..COINS {
                least[i] = least[i].min(distances[i]);
            }
        }
        least.into_iter().fold(u16::MAX, u16::min)
    }

    /// The distance of one of them.
    #[inline(always)]
    pub(crate) fn distance(&self, number: usize) -> u16 {
        self.row[usize::from(self.places[number])].load(Ordering::Relaxed)
    }

    /// The distances of these.
    #[inline(always)]
    pub(crate) fn of(&self, numbers: &[u16; COINS]) -> [u16; COINS] {
        let mut distances = [0; COINS];
        for i in 0..COINS {
            distances[i] = self.distance(numbers[i].into());
        }
        distances
    }

    /// Those from `16·sixteen` on. Where there are fewer, the last is repeated.
    #[inline(always)]
    pub(crate) fn sixteen(&self, sixteen: usize) -> [u16; COINS] {
        let mut distances = [0; COINS];
        for (number, distance) in (sixteen * COINS..).zip(&mut distances) {
            *distance = self.distance(number);
        }
        distances
    }

    /// One of them.
    #[inline(always)]
    pub(crate) fn candidate(&self, number: usize) -> StateId {
        self.rows.order[usize::from(self.places[number]) - self.rows.branching.len()]
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

    /// Every distance and every least one, read by several threads at once, is the exact one shifted.
    #[test]
    fn rounded_distances_are_exact_ones_shifted() {
        let model = Model::new(fan()).unwrap();
        let chain = model.chain();
        for table in [model.directed(), model.symmetric()] {
            let rows = RoundedRows::new(chain, table.clone()).unwrap();
            let check = || {
                for previous in chain.states() {
                    let candidates = chain.successors(previous);
                    for real in chain.states() {
                        let mut asked = std::iter::repeat_with(|| rows.at(previous, real));
                        let rounded = asked.find_map(|found| found).unwrap();
                        assert_eq!(rounded.count(), candidates.len());
                        let exact = |&state: &StateId| table.between(state, real);
                        let shifted = |exact: Nats| exact.units() >> rounded.shift;
                        let least = candidates.iter().map(exact).min().unwrap();
                        assert_eq!(u32::from(rounded.least()), shifted(least));
                        for (number, state) in candidates.iter().enumerate() {
                            assert_eq!(rounded.candidate(number), *state);
                            assert_eq!(rounded.exact(number), exact(state));
                            let distance = rounded.distance(number);
                            assert_eq!(u32::from(distance), shifted(exact(state)));
                            assert_eq!(rounded.of(&[number as u16; COINS]), [distance; COINS]);
                        }
                        for sixteen in 0..candidates.len().div_ceil(COINS) {
                            let number = |i: usize| (sixteen * COINS + i).min(candidates.len() - 1);
                            let all = std::array::from_fn(|i| rounded.distance(number(i)));
                            assert_eq!(rounded.sixteen(sixteen), all);
                        }
                    }
                }
            };
            std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(check))));
            let shifted = |row: &AtomicU16| row.load(Ordering::Relaxed) > WRITTEN;
            assert!(rows.rows.iter().all(shifted), "these distances do not fit unshifted");
            let known = rows.spans.iter().filter(|span| span.least != NOWHERE).count();
            assert!((10..50).contains(&known), "{known} of 60: some have few successors");
        }
    }

    /// In a chain where all moves are possible, only some states can have their least distances kept.
    #[test]
    fn rows_of_dense_chains_are_written_soon() {
        let mut builder = ChainBuilder::new(Entries::Counts);
        let ids: Vec<_> = (0..100).map(|i| builder.state(&i.to_string())).collect();
        for (i, &from) in ids.iter().enumerate() {
            for (j, &to) in ids.iter().enumerate() {
                builder.transition(from, to, (1 + i * j % 17) as f64).unwrap();
            }
        }
        let model = Model::new(builder.build(Default::default()).unwrap().0).unwrap();
        let rows = RoundedRows::new(model.chain(), model.directed().clone()).unwrap();
        assert_eq!(rows.branching.len(), COMPARED);
        for previous in model.chain().states() {
            let mut asked = std::iter::repeat_with(|| rows.at(previous, StateId::new(7)));
            let rounded = asked.find_map(|found| found).unwrap();
            let least = (0..100).map(|number| rounded.distance(number)).min().unwrap();
            assert_eq!(rounded.least(), least);
        }
    }

    /// A row is written when it has been asked for often, and only that one.
    #[test]
    fn rows_are_written_once_they_pay() {
        let model = Model::new(fan()).unwrap();
        let mut rows = RoundedRows::new(model.chain(), model.directed().clone()).unwrap();
        rows.often = 40;
        let (previous, real) = (StateId::new(40), StateId::new(7));
        let asked = (0..).take_while(|_| rows.at(previous, real).is_none()).count();
        assert_eq!(asked, 40);
        assert!(rows.at(StateId::new(3), real).is_some(), "for every last state");
        let written = rows.rows.iter().filter(|row| row.load(Ordering::Relaxed) >= WRITTEN);
        assert_eq!(written.count(), 1);
    }

    /// Rows that take longer, or save less, are written later.
    #[test]
    fn how_often_a_row_is_asked_for_before_it_is_written() {
        assert_eq!(often(8, 0, 7), 0, "a few states are read in no time");
        assert_eq!(often(3_808, 36_614, 55), 36, "clicks");
        assert_eq!(often(10_000, 0, 4), 384, "streets");
        assert_eq!(often(60_000, 64 * 60_000, 1), WRITTEN - 1);
    }
}
