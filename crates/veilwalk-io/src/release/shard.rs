//! Where each walk stands, and its release.
//!
//! Walks are dealt out to shards by their id. A shard is worked on by one thread at a time and takes
//! its runs in the order of the input, so every walk is released in order, whatever the number of
//! threads. All that is kept of a walk between two of its runs is a [`Standing`] of 32 bytes, and what
//! waits of it for a block to fill or for a lag to pass ([`WaitingRows`]). Where real states are observed,
//! what is believed of the walk is kept with it.

use std::sync::Mutex;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use veilwalk::random::Forked;
use veilwalk::session::{Released, Releaser, Walk};
use veilwalk::{Chain, Mechanism, StateId};

use super::Grouping;
use super::batch::{Batch, WalkId};
use super::waiting_rows::{Emission, Order, WaitingRows};
use crate::walks::Shape;

/// Where a walk stands.
#[derive(Clone, Copy, Debug)]
struct Standing {
    id: WalkId,
    released: u64,
    /// The last released state and the last real one, or anything at the beginning.
    last: StateId,
    last_real: StateId,
}

/// Some of the walks.
#[derive(Debug, Default)]
pub(super) struct Shard {
    standings: HashTable<Standing>,
    /// Walks of which rows wait, or of which more is known than their standing says.
    waiting: HashTable<Box<WaitingRows>>,
    pub(super) infeasible: u64,
}

/// What a shard released for its runs in one batch.
#[derive(Debug, Default)]
pub(super) struct ReleasedRuns {
    /// For each run, the number of its first step.
    pub(super) first_steps: Vec<u64>,
    /// What was released for all its runs, one after another.
    pub(super) released: Released,
    /// In place of both, what came out, where rows wait.
    pub(super) emissions: Vec<Emission>,
}

/// Which real moves a chain has, for quick lookup.
#[derive(Debug)]
pub(super) enum Moves<'a> {
    /// A bit for each pair of states.
    Bits { states: usize, bits: Vec<u64> },
    /// Where that would be too large.
    Chain(&'a Chain),
}

impl<'a> Moves<'a> {
    /// Up to this many states, the bits take no more than half a megabyte.
    const MOST_STATES: usize = 2048;

    pub(super) fn new(chain: &'a Chain) -> Self {
        let states = chain.len();
        if states > Self::MOST_STATES {
            return Self::Chain(chain);
        }
        let mut bits = vec![0; (states * states).div_ceil(64)];
        for from in chain.states() {
            for to in chain.successors(from) {
                let place = from.index() * states + to.index();
                bits[place / 64] |= 1 << (place % 64);
            }
        }
        Self::Bits { states, bits }
    }

    /// How many of these moves the chain does not have, the one from the state before included.
    pub(super) fn infeasible(&self, before: Option<StateId>, reals: &[StateId]) -> u64 {
        let first = before.zip(reals.first().copied());
        let others = reals.windows(2).map(|pair| (pair[0], pair[1]));
        match self {
            Self::Bits { states, bits } => {
                let allows = |(from, to): (StateId, StateId)| {
                    let place = from.index() * states + to.index();
                    bits[place / 64] >> (place % 64) & 1
                };
                let moves = reals.len().saturating_sub(1) + usize::from(first.is_some());
                moves as u64 - first.map_or(0, allows) - others.map(allows).sum::<u64>()
            }
            Self::Chain(chain) => {
                let infeasible = |&(from, to): &(StateId, StateId)| !chain.allows(from, to);
                first.into_iter().chain(others).filter(infeasible).count() as u64
            }
        }
    }
}

impl Shard {
    /// How many walks there are.
    pub(super) fn walks(&self) -> usize {
        self.standings.len()
    }

    /// Whether a walk has been met before.
    pub(super) fn knows(&self, id: WalkId) -> bool {
        self.standings.find(id.low, |standing| standing.id == id).is_some()
    }

    /// The names among these runs that are met for the first time. They are at their beginning from
    /// here on.
    pub(super) fn new_names<'a>(&mut self, batch: &'a Batch, runs: &[u32]) -> Vec<&'a str> {
        let mut names = Vec::new();
        for run in runs.iter().map(|&run| &batch.runs[run as usize]) {
            if run.states == 0 {
                continue;
            }
            if let Entry::Vacant(place) = entry(&mut self.standings, run.id) {
                place.insert(Standing::at_the_beginning(run.id));
                names.push(batch.name(run));
            }
        }
        names
    }

    /// The walks of which rows wait.
    pub(super) fn take_waiting(&mut self) -> Vec<WaitingRows> {
        let waiting = self.waiting.drain().filter(|waiting| waiting.rows() > 0);
        waiting.map(|waiting| *waiting).collect()
    }

    /// Releases a shard's runs of a part, as far as they are due.
    pub(super) fn release(
        &mut self,
        batch: &Batch,
        place: PartPlace<'_>,
        releaser: &mut Releaser,
        moves: &Moves<'_>,
    ) -> Result<ReleasedRuns, Refused> {
        let mut out = ReleasedRuns::default();
        out.first_steps.reserve(place.runs.len());
        let (rows_wait, held) = (rows_wait(batch, releaser), is_held(batch, releaser));
        if held && let Some(before) = place.ended_before(batch) {
            let rest = self.finish(before, releaser).map_err(|error| Refused::walk(0, &error))?;
            let first = |rest| Emission { run: 0, order: Order::WalkBefore, ..rest };
            out.emissions.extend(rest.map(first));
        }
        for &number in place.runs {
            let run = &batch.runs[number as usize];
            let reals = reals_of(batch, place, number);
            let Some(&last_real) = reals.last() else {
                out.first_steps.push(0);
                continue;
            };
            let standing = match entry(&mut self.standings, run.id) {
                Entry::Occupied(place) => place.into_mut(),
                Entry::Vacant(place) => place.insert(Standing::at_the_beginning(run.id)).into_mut(),
            };
            let under_way = standing.under_way();
            if under_way && place.must_be_new(batch, number) {
                return Err(Refused::again(number));
            }
            let before = under_way.then_some(standing.last_real);
            self.infeasible += moves.infeasible(before, reals);
            standing.last_real = last_real;
            let last = (standing.released > 0).then_some(standing.last);
            let walk = || releaser.walk_at(batch.name(run), standing.released, last);
            if held {
                let found = self.waiting.find_entry(run.id.low, |waiting| waiting.id == run.id);
                let mut waiting = match found {
                    Ok(found) => found.remove().0,
                    Err(_) => Box::new(WaitingRows::new(run.id, batch.name(run), walk())),
                };
                if rows_wait {
                    out.emissions.extend(waiting.take_run(batch, place, number, releaser)?);
                } else {
                    out.first_steps.push(standing.released);
                    push_all(&mut waiting.walk, reals, number, releaser, &mut out.released)?;
                }
                standing.stand_at(&waiting.walk);
                if place.ends_walk(batch, number) {
                    let rest = waiting.finish(number, releaser);
                    out.emissions.extend(rest.map_err(|error| Refused::walk(number, &error))?);
                } else if !waiting.walk.is_at_rest() {
                    self.waiting.insert_unique(run.id.low, waiting, |waiting| waiting.id.low);
                }
                continue;
            }
            let mut walk = walk();
            out.first_steps.push(standing.released);
            push_all(&mut walk, reals, number, releaser, &mut out.released)?;
            standing.stand_at(&walk);
            if batch.shape == Shape::Lists {
                let finished = releaser.finish(walk, &mut out.released);
                finished.map_err(|error| Refused::walk(number, &error))?;
            }
        }
        Ok(out)
    }

    /// What waits of a walk that was over before a part began.
    fn finish(&mut self, id: WalkId, releaser: &mut Releaser) -> Result<Option<Emission>, Forked> {
        match self.waiting.find_entry(id.low, |waiting| waiting.id == id) {
            Ok(found) => found.remove().0.finish(0, releaser),
            Err(_) => Ok(None),
        }
    }
}

/// Releases a run.
fn push_all(
    walk: &mut Walk,
    reals: &[StateId],
    number: u32,
    releaser: &mut Releaser,
    out: &mut Released,
) -> Result<(), Refused> {
    out.states.reserve(reals.len());
    for &real in reals {
        let pushed = releaser.push(walk, real, out);
        pushed.map_err(|error| Refused::walk(number, &error))?;
    }
    Ok(())
}

/// Whether rows come out later than they are read. Walks in lists are whole.
fn rows_wait(batch: &Batch, releaser: &Releaser) -> bool {
    batch.shape == Shape::Long && answers_later(releaser.mechanism())
}

/// Whether walks are kept between their runs.
fn is_held(batch: &Batch, releaser: &Releaser) -> bool {
    batch.shape == Shape::Long && holds_walks(releaser.mechanism())
}

/// Whether a real state may be answered later than it is read: in blocks, and with a lag.
pub(super) fn answers_later(mechanism: &Mechanism) -> bool {
    let lag = mechanism.observation().map_or(0, |observation| observation.tracking().lag);
    mechanism.blocks().is_some() || lag > 0
}

/// Whether there is more to keep of a walk than how many states were released and the last of them.
pub(super) fn holds_walks(mechanism: &Mechanism) -> bool {
    mechanism.blocks().is_some() || mechanism.observation().is_some()
}

fn entry(standings: &mut HashTable<Standing>, id: WalkId) -> Entry<'_, Standing> {
    standings.entry(id.low, |standing| standing.id == id, |standing| standing.id.low)
}

impl Standing {
    fn at_the_beginning(id: WalkId) -> Self {
        let none = Self::no_state();
        Self { id, released: 0, last: none, last_real: none }
    }

    /// In place of a state, before there is one: no chain has so many.
    fn no_state() -> StateId {
        StateId::new(u32::MAX as usize)
    }

    /// Whether a real state was taken. It may wait: then nothing was released.
    fn under_way(&self) -> bool {
        self.last_real != Self::no_state()
    }

    fn stand_at(&mut self, walk: &Walk) {
        self.released = walk.released();
        self.last = walk.last().unwrap_or(self.last);
    }
}

/// The real states of a run.
pub(super) fn reals_of<'a>(batch: &'a Batch, place: PartPlace<'_>, run: u32) -> &'a [StateId] {
    let first = place.first_states[run as usize] as usize;
    &batch.states[first..first + batch.runs[run as usize].states as usize]
}

/// What a shard has to know of a part beside the batch itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartPlace<'a> {
    /// The number of the part.
    pub(super) part: u64,
    /// The runs of the shard.
    pub(super) runs: &'a [u32],
    /// For each run of the batch, where its states start.
    pub(super) first_states: &'a [u32],
    pub(super) grouping: Grouping,
    /// The walk of the last run before the part.
    pub(super) before: Option<WalkId>,
}

impl PartPlace<'_> {
    /// Whether a run must not belong to a walk that was met before.
    pub(super) fn must_be_new(self, batch: &Batch, run: u32) -> bool {
        match (batch.shape, self.grouping) {
            (Shape::Lists, _) => true,
            (Shape::Long, Grouping::Together) => {
                run > 0 || self.before != Some(batch.runs[run as usize].id)
            }
            (Shape::Long, Grouping::Alternating) => false,
        }
    }

    /// Whether a walk is over after a run.
    pub(super) fn ends_walk(self, batch: &Batch, run: u32) -> bool {
        self.grouping == Grouping::Together && run as usize + 1 < batch.runs.len()
    }

    /// The walk before the part, if the part shows that it is over.
    pub(super) fn ended_before(self, batch: &Batch) -> Option<WalkId> {
        let goes_on = |id| batch.runs.first().is_none_or(|run| run.id == id);
        self.before.filter(|&id| self.grouping == Grouping::Together && !goes_on(id))
    }
}

/// A run that cannot be released.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) run: u32,
    /// What is wrong with its walk; nothing if it goes on after its end.
    pub(super) problem: Option<String>,
}

impl Refused {
    pub(super) fn again(run: u32) -> Self {
        Self { run, problem: None }
    }

    pub(super) fn walk(run: u32, problem: &impl ToString) -> Self {
        Self { run, problem: Some(problem.to_string()) }
    }
}

/// Which runs of a batch belong to which shard.
#[derive(Clone, Debug)]
pub(super) struct Deal {
    /// For each shard, the numbers of its runs, ascending.
    pub(super) runs: Vec<Vec<u32>>,
    /// For each run, where its states start.
    pub(super) first_states: Vec<u32>,
}

impl Deal {
    pub(super) fn new(batch: &Batch, shards: usize) -> Self {
        let mut runs = vec![Vec::with_capacity(batch.runs.len() / shards + 8); shards];
        let mut first_states = Vec::with_capacity(batch.runs.len());
        let mut states = 0;
        for (number, run) in batch.runs.iter().enumerate() {
            first_states.push(states);
            states += run.states;
            runs[shard_of(run.id, shards)].push(number as u32);
        }
        Self { runs, first_states }
    }
}

/// The shard of a walk. The table inside the shard uses the other half of the id.
pub(super) fn shard_of(id: WalkId, shards: usize) -> usize {
    (id.high % shards as u64) as usize
}

/// Something for each thread.
#[derive(Debug)]
pub(super) struct PerThread<T>(Vec<Mutex<T>>);

impl<T> PerThread<T> {
    pub(super) fn new(each: Vec<T>) -> Self {
        Self(each.into_iter().map(Mutex::new).collect())
    }

    /// Works with what this thread has.
    pub(super) fn with<U>(&self, work: impl FnOnce(&mut T) -> U) -> U {
        let thread = rayon::current_thread_index().unwrap_or(0);
        let mut own = self.0[thread].lock().unwrap_or_else(|broken| broken.into_inner());
        work(&mut own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infeasible_moves_are_counted_alike() {
        let chain = Chain::credit();
        let bits = Moves::new(&chain);
        assert!(matches!(bits, Moves::Bits { .. }));
        let reals: Vec<StateId> =
            (0..60).map(|i| StateId::new(i * i * 7 / 3 % chain.len())).collect();
        for length in [0, 1, 2, 60] {
            for before in [None, Some(StateId::new(0)), Some(StateId::new(7))] {
                let walk: Vec<StateId> =
                    before.into_iter().chain(reals[..length].to_vec()).collect();
                let moves = walk.windows(2).filter(|pair| !chain.allows(pair[0], pair[1]));
                let expected = if length == 0 { 0 } else { moves.count() as u64 };
                assert_eq!(bits.infeasible(before, &reals[..length]), expected);
                assert_eq!(Moves::Chain(&chain).infeasible(before, &reals[..length]), expected);
            }
        }
        assert!(bits.infeasible(None, &reals) > 0);
    }
}
