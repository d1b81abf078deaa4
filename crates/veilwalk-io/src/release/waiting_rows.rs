//! Rows that wait: in blocks until their block is full, with a lag until so many more rows of their walk
//! were read, or until their walk is over.
//!
//! What waits is held with its walk: the real states (with a lag what was observed of them), and the
//! kept values of their rows. A row comes out when its state is released, so the order of the output is
//! that of the rows that bring others out. Rows that wait for others to come out first would keep whole
//! files in memory.

use veilwalk::random::Forked;
use veilwalk::session::{Released, Releaser, Walk};

use super::batch::{Batch, WalkId, WalkRun};
use super::shard::{PartPlace, Refused, reals_of};

/// A walk of which rows wait.
#[derive(Debug)]
pub(super) struct WaitingRows {
    pub(super) id: WalkId,
    name: Box<str>,
    pub(super) walk: Walk,
    /// The kept values of the rows that wait, row by row.
    kept: Vec<Box<str>>,
    /// Where the first row that waits is: the number of its part, and of its run in it.
    pub(super) since: (u64, u32),
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
    pub(super) released: Released,
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

impl WaitingRows {
    pub(super) fn new(id: WalkId, name: &str, walk: Walk) -> Self {
        Self { id, name: name.into(), walk, kept: Vec::new(), since: (0, 0) }
    }

    /// Takes the rows of a run, and gives those that come out.
    pub(super) fn take_run(
        &mut self,
        batch: &Batch,
        place: PartPlace<'_>,
        number: u32,
        releaser: &mut Releaser,
    ) -> Result<Option<Emission>, Refused> {
        let mut released = Released::default();
        for &real in reals_of(batch, place, number) {
            if self.walk.waiting() == 0 {
                self.since = (place.part, number);
            }
            let pushed = releaser.push(&mut self.walk, real, &mut released);
            pushed.map_err(|error| Refused::walk(number, &error))?;
        }
        self.hold_kept(batch, place, number);
        if released.is_empty() {
            return Ok(None);
        }
        // All values belong to rows that come out or that wait.
        let columns = self.kept.len() / (released.len() + self.rows());
        let rest = self.kept.split_off(released.len() * columns);
        Ok(Some(Emission {
            run: number,
            order: Order::Own,
            id: self.id,
            name: self.name.clone(),
            first_step: self.walk.released() - released.len() as u64,
            kept: std::mem::replace(&mut self.kept, rest),
            released,
        }))
    }

    /// Holds the kept values of a run's rows until they come out.
    fn hold_kept(&mut self, batch: &Batch, place: PartPlace<'_>, number: u32) {
        let places = batch.kept_texts();
        let rows = batch.states.len();
        if rows == 0 || places.is_empty() {
            return;
        }
        let columns = places.len() / rows;
        let first = place.first_states[number as usize] as usize;
        let WalkRun { states, .. } = batch.runs[number as usize];
        let values = &places[first * columns..(first + states as usize) * columns];
        self.kept.extend(values.iter().map(|&place| Box::from(batch.text_at(place))));
    }

    /// The rest of the walk, which is over with this run.
    pub(super) fn finish(
        self,
        run: u32,
        releaser: &mut Releaser,
    ) -> Result<Option<Emission>, Forked> {
        let Self { id, name, walk, kept, .. } = self;
        let first_step = walk.released();
        let mut released = Released::default();
        releaser.finish(walk, &mut released)?;
        let emission = Emission { run, order: Order::Own, id, name, first_step, released, kept };
        Ok((!emission.released.is_empty()).then_some(emission))
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
pub(super) fn chunks(waiting: Vec<WaitingRows>, rows: usize) -> Vec<Vec<WaitingRows>> {
    let mut pieces: Vec<Vec<WaitingRows>> = Vec::new();
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
