//! What is known of a part of the input once it is parsed: which walks, and their real states.
//!
//! Consecutive rows of one walk are a *run*: its name is looked up once. States are numbers of the
//! chain already, so everything that can be wrong with a row has been found.

use std::hash::{BuildHasher, Hasher, RandomState};

#[cfg(feature = "arrow")]
use arrow_array::ArrayRef;
use siphasher::sip128::{Hasher128, SipHasher13};
use veilwalk::{Outcome, StateId};

use crate::read_error::Place;
use crate::walks::Shape;

/// A walk's name in 128 bits of a hash with a secret key: two names that share them are not met by
/// accident (once in 10²² runs over a hundred million walks), nor can they be sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct WalkId {
    pub(super) low: u64,
    pub(super) high: u64,
}

/// Makes the ids of one run of the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids(SipHasher13);

impl Ids {
    pub(super) fn new() -> Self {
        let random = || RandomState::new().build_hasher().finish();
        Self(SipHasher13::new_with_keys(random(), random()))
    }

    pub(super) fn of(&self, name: &str) -> WalkId {
        let mut hasher = self.0;
        hasher.write(name.as_bytes());
        let hash = hasher.finish128();
        WalkId { low: hash.h1, high: hash.h2 }
    }
}

/// Consecutive rows of one walk.
#[derive(Clone, Debug)]
pub(super) struct WalkRun {
    pub(super) id: WalkId,
    /// The name, as a place in the batch's text.
    pub(super) name: (u32, u32),
    /// How many states.
    pub(super) states: u32,
    /// Where the run starts in the file, for messages.
    pub(super) place: Place,
}

/// The values of kept columns.
#[derive(Clone, Debug)]
pub(super) enum Kept {
    /// As text: places in the batch's text, row by row.
    Text(Vec<(u32, u32)>),
    /// As columns, with a value for each row: for each state, or for each run if these are lists.
    #[cfg(feature = "arrow")]
    Columns(Vec<ArrayRef>),
}

/// A part of the input.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) text: String,
    pub(super) runs: Vec<WalkRun>,
    /// The real states of all runs, one after another.
    pub(super) states: Vec<StateId>,
    /// After the release, what was observed for each of them, if anything was.
    pub(super) observed: Vec<Outcome>,
    pub(super) kept: Kept,
    pub(super) shape: Shape,
    /// Rows that were left out.
    pub(super) skipped: u64,
    /// The walks that those rows belong to.
    pub(super) skipped_walks: Vec<WalkId>,
    /// Rows whose state was replaced.
    pub(super) replaced: u64,
}

impl Batch {
    /// A batch with room for so many states.
    pub(super) fn new(shape: Shape, states: usize) -> Self {
        Self {
            text: String::new(),
            runs: Vec::new(),
            states: Vec::with_capacity(states),
            observed: Vec::new(),
            kept: Kept::Text(Vec::new()),
            shape,
            skipped: 0,
            skipped_walks: Vec::new(),
            replaced: 0,
        }
    }

    /// Leaves out some rows of the walk of this name.
    pub(super) fn skip(&mut self, ids: &Ids, name: &str, rows: u64) {
        self.skipped += rows;
        let id = ids.of(name);
        if self.skipped_walks.last() != Some(&id) {
            self.skipped_walks.push(id);
        }
    }

    pub(super) fn name(&self, run: &WalkRun) -> &str {
        self.text_at(run.name)
    }

    pub(super) fn text_at(&self, (start, end): (u32, u32)) -> &str {
        &self.text[start as usize..end as usize]
    }

    /// The places of kept values that are text; none if they are columns.
    pub(super) fn kept_texts(&self) -> &[(u32, u32)] {
        match &self.kept {
            Kept::Text(places) => places,
            #[cfg(feature = "arrow")]
            Kept::Columns(_) => &[],
        }
    }

    /// Adds a text, and gives its place.
    pub(super) fn add_text(&mut self, text: &str) -> (u32, u32) {
        let start = self.text.len() as u32;
        self.text.push_str(text);
        (start, self.text.len() as u32)
    }

    /// Adds a kept value of the last row, which is text.
    pub(super) fn keep_text(&mut self, value: &str) {
        let place = self.add_text(value);
        match &mut self.kept {
            Kept::Text(places) => places.push(place),
            #[cfg(feature = "arrow")]
            Kept::Columns(_) => {}
        }
    }

    /// Adds a state of the walk of this name: to the last run if that is the same walk.
    pub(super) fn push_state(&mut self, ids: &Ids, name: &str, state: StateId, place: Place) {
        let last = self.runs.last().is_some_and(|run| self.name(run) == name);
        match self.runs.last_mut().filter(|_| last) {
            Some(run) => {
                run.states += 1;
                self.states.push(state);
            }
            None => self.push_run(ids, name, &[state], place),
        }
    }

    /// Adds a run.
    pub(super) fn push_run(&mut self, ids: &Ids, name: &str, states: &[StateId], place: Place) {
        let (id, name) = (ids.of(name), self.add_text(name));
        self.states.extend_from_slice(states);
        self.runs.push(WalkRun { id, name, states: states.len() as u32, place });
    }
}
