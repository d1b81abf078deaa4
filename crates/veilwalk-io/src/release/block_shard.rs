//! Walks that are released in blocks: rows wait until their block is full or their walk is over.
//!
//! What waits is held with its walk: the real states, and the kept values of their rows. A row comes
//! out when its block is released, so the order of the output is that of the rows that fill a block.
//! Rows that wait for others to come out first would keep whole files in memory.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use veilwalk::StateId;
use veilwalk::random::Forked;
use veilwalk::session::{BlockReleaser, BlockWalk};

use super::batch::{Batch, Kept, Run, WalkId};
use super::shard::{Moves, PartPlace, Refused, Released, reals_of};
use crate::columns::Shape;

/// A walk under way.
#[derive(Debug)]
pub(super) struct Waiting {
    id: WalkId,
    name: Box<str>,
    walk: BlockWalk,
    last_real: Option<StateId>,
    /// The kept values of the rows that wait, row by row.
    kept: Vec<Box<str>>,
    /// Where the first row that waits is: the number of its part, and of its run in it.
    pub(super) since: (u64, u32),
}

/// Some of the walks.
#[derive(Debug, Default)]
pub(super) struct BlockShard {
    open: HashTable<Box<Waiting>>,
    /// Walks that are over, where walks do not alternate.
    ended: HashTable<WalkId>,
    pub(super) infeasible: u64,
}

/// Rows of one walk that come out together.
#[derive(Debug)]
pub(super) struct Emission {
    /// The run that brought them out, and whether they come before its own.
    pub(super) run: u32,
    pub(super) order: Order,
    pub(super) id: WalkId,
    pub(super) name: Box<str>,
    pub(super) first_step: u64,
    pub(super) states: Vec<StateId>,
    pub(super) kept: Vec<Box<str>>,
}

/// Which of two emissions at the same run comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    /// The rest of the walk before.
    WalkBefore,
    /// The run's own rows.
    Own,
}

/// What a shard gives for its runs of a part.
#[derive(Debug)]
pub(super) enum BlockReleased {
    /// Every run is a whole walk.
    Walks(Released),
    Rows(Vec<Emission>),
}

impl BlockShard {
    /// How many walks there are.
    pub(super) fn walks(&self) -> usize {
        self.open.len() + self.ended.len()
    }

    /// The walks that are not over.
    pub(super) fn take_open(&mut self) -> Vec<Waiting> {
        self.open.drain().map(|waiting| *waiting).collect()
    }

    /// Whether a walk has been met before.
    pub(super) fn knows(&self, id: WalkId) -> bool {
        self.open.find(id.low, |waiting| waiting.id == id).is_some()
            || self.ended.find(id.low, |&ended| ended == id).is_some()
    }

    /// The names among these runs that are met for the first time. To be asked once for each part,
    /// before it is released.
    pub(super) fn new_names<'a>(
        &self,
        batch: &'a Batch,
        runs: &[u32],
        named: &mut HashTable<WalkId>,
    ) -> Vec<&'a str> {
        let mut names = Vec::new();
        for run in runs.iter().map(|&run| &batch.runs[run as usize]) {
            if run.states == 0 || self.knows(run.id) {
                continue;
            }
            let entry = named.entry(run.id.low, |&id| id == run.id, |id| id.low);
            if let Entry::Vacant(place) = entry {
                place.insert(run.id);
                names.push(batch.name(run));
            }
        }
        names
    }

    /// Releases what is due after these runs of a part.
    pub(super) fn release(
        &mut self,
        batch: &Batch,
        place: PartPlace<'_>,
        releaser: &mut BlockReleaser,
        moves: &Moves<'_>,
    ) -> Result<BlockReleased, Refused> {
        match batch.shape {
            Shape::Lists => self.release_walks(batch, place, releaser, moves),
            Shape::Long => self.release_rows(batch, place, releaser, moves),
        }
    }

    fn release_walks(
        &mut self,
        batch: &Batch,
        place: PartPlace<'_>,
        releaser: &mut BlockReleaser,
        moves: &Moves<'_>,
    ) -> Result<BlockReleased, Refused> {
        let mut out = Released::default();
        for &number in place.runs {
            let run = &batch.runs[number as usize];
            out.first_steps.push(0);
            if run.states == 0 {
                continue;
            }
            self.end(run.id).map_err(|()| Refused::again(number))?;
            let reals = reals_of(batch, place, number);
            self.infeasible += moves.infeasible(None, reals);
            let released = releaser.release(batch.name(run), reals);
            out.states.extend(released.map_err(|error| Refused::walk(number, &error))?);
        }
        Ok(BlockReleased::Walks(out))
    }

    /// Notes that a walk is over. An error if it was before.
    fn end(&mut self, id: WalkId) -> Result<(), ()> {
        match self.ended.entry(id.low, |&ended| ended == id, |ended| ended.low) {
            Entry::Occupied(_) => Err(()),
            Entry::Vacant(place) => {
                place.insert(id);
                Ok(())
            }
        }
    }

    fn release_rows(
        &mut self,
        batch: &Batch,
        place: PartPlace<'_>,
        releaser: &mut BlockReleaser,
        moves: &Moves<'_>,
    ) -> Result<BlockReleased, Refused> {
        let mut emissions = Vec::new();
        if let Some(before) = place.ended_before(batch) {
            let rest = self.finish(before, releaser).map_err(|error| Refused::walk(0, &error))?;
            emissions.extend(rest.map(|rest| Emission {
                run: 0,
                order: Order::WalkBefore,
                ..rest
            }));
        }
        for &number in place.runs {
            let run = &batch.runs[number as usize];
            if place.must_be_new(batch, number) && self.knows(run.id) {
                return Err(Refused::again(number));
            }
            let emission = self.take_run(batch, place, number, releaser, moves)?;
            emissions.extend(emission);
            if place.ends_walk(batch, number) {
                let rest = self.finish(run.id, releaser);
                let rest = rest.map_err(|error| Refused::walk(number, &error))?;
                emissions.extend(rest.map(|rest| Emission { run: number, ..rest }));
            }
        }
        Ok(BlockReleased::Rows(emissions))
    }

    fn take_run(
        &mut self,
        batch: &Batch,
        place: PartPlace<'_>,
        number: u32,
        releaser: &mut BlockReleaser,
        moves: &Moves<'_>,
    ) -> Result<Option<Emission>, Refused> {
        let run = &batch.runs[number as usize];
        let reals = reals_of(batch, place, number);
        let since = (place.part, number);
        let entry = self.open.entry(run.id.low, |w| w.id == run.id, |w| w.id.low);
        let waiting = match entry {
            Entry::Occupied(place) => place.into_mut(),
            Entry::Vacant(vacant) => {
                let walk = releaser.walk(batch.name(run));
                let (name, kept) = (batch.name(run).into(), Vec::new());
                let new = Waiting { id: run.id, name, walk, last_real: None, kept, since };
                vacant.insert(Box::new(new)).into_mut()
            }
        };
        self.infeasible += moves.infeasible(waiting.last_real, reals);
        waiting.last_real = reals.last().copied().or(waiting.last_real);
        let mut states = Vec::new();
        for &real in reals {
            if waiting.walk.waiting() == 0 {
                waiting.since = since;
            }
            let pushed = releaser.push(&mut waiting.walk, real, &mut states);
            pushed.map_err(|error| Refused::walk(number, &error))?;
        }
        hold_kept(waiting, batch, place, number);
        Ok(waiting.emission(number, waiting.walk.released(), states))
    }

    /// The rest of a walk, which is over.
    fn finish(
        &mut self,
        id: WalkId,
        releaser: &mut BlockReleaser,
    ) -> Result<Option<Emission>, Forked> {
        let found = self.open.find_entry(id.low, |waiting| waiting.id == id);
        let Ok(found) = found else { return Ok(None) };
        let (waiting, _) = found.remove();
        // It was open, so it has not ended before.
        let _ = self.end(id);
        waiting.finish(releaser)
    }
}

/// Holds the kept values of a run's rows until they come out.
fn hold_kept(waiting: &mut Waiting, batch: &Batch, place: PartPlace<'_>, number: u32) {
    let Kept::Text(places) = &batch.kept else { return };
    let rows = batch.states.len();
    if rows == 0 || places.is_empty() {
        return;
    }
    let columns = places.len() / rows;
    let first = place.first_states[number as usize] as usize;
    let Run { states, .. } = batch.runs[number as usize];
    let values = &places[first * columns..(first + states as usize) * columns];
    waiting.kept.extend(values.iter().map(|&place| Box::from(batch.text_at(place))));
}

impl Waiting {
    /// The rows of these states, which have just been released.
    fn emission(&mut self, run: u32, released: u64, states: Vec<StateId>) -> Option<Emission> {
        if states.is_empty() {
            return None;
        }
        // All values belong to rows that came out or that wait.
        let rows = states.len() + self.walk.waiting();
        let columns = self.kept.len() / rows;
        let rest = self.kept.split_off(states.len() * columns);
        Some(Emission {
            run,
            order: Order::Own,
            id: self.id,
            name: self.name.clone(),
            first_step: released - states.len() as u64,
            kept: std::mem::replace(&mut self.kept, rest),
            states,
        })
    }

    /// The rest of the walk, which is over.
    pub(super) fn finish(self, releaser: &mut BlockReleaser) -> Result<Option<Emission>, Forked> {
        let Self { id, name, walk, kept, .. } = self;
        let first_step = walk.released();
        let mut states = Vec::with_capacity(walk.waiting());
        releaser.finish(walk, &mut states)?;
        let (run, order) = (0, Order::Own);
        let emission = Emission { run, order, id, name, first_step, states, kept };
        Ok((!emission.states.is_empty()).then_some(emission))
    }

    /// How many rows wait.
    pub(super) fn rows(&self) -> usize {
        self.walk.waiting()
    }
}

/// Emissions of all shards in the order in which they came out.
pub(super) fn in_order(mut emissions: Vec<Emission>) -> Vec<Emission> {
    // The rest of a walk that ends with a run stands behind the run's own, and stays there.
    emissions.sort_by_key(|emission| (emission.run, emission.order));
    emissions
}

/// Cuts a list into pieces of about so many rows.
pub(super) fn chunks(waiting: Vec<Waiting>, rows: usize) -> Vec<Vec<Waiting>> {
    let mut pieces: Vec<Vec<Waiting>> = Vec::new();
    let mut room = 0;
    for walk in waiting {
        let count = walk.rows();
        if count > room || pieces.is_empty() {
            pieces.push(Vec::new());
            room = rows.max(count);
        }
        room -= count;
        if let Some(piece) = pieces.last_mut() {
            piece.push(walk);
        }
    }
    pieces
}
