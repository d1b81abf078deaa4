//! What is known of a part of the input once it is parsed: which walks, and their real states.
//!
//! Consecutive rows of one walk are a *run*: its name is looked up once. States are numbers of the
//! chain already, so everything that can be wrong with a row has been found.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;

use arrow_array::ArrayRef;
use hashbrown::HashMap;
use siphasher::sip128::{Hasher128, SipHasher13};
use veilwalk::{Chain, StateId};

use crate::columns::Shape;
use crate::read_error::Place;

/// A walk's name in 128 bits of a hash with a secret key: two names that share them are not met by
/// accident (once in 10²² runs over a hundred million walks), nor can they be sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    pub(super) fn of(&self, name: &[u8]) -> WalkId {
        let mut hasher = self.0;
        hasher.write(name);
        let hash = hasher.finish128();
        WalkId { low: hash.h1, high: hash.h2 }
    }
}

/// Consecutive rows of one walk.
#[derive(Clone, Debug)]
pub(super) struct Run {
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
    Columns(Vec<ArrayRef>),
}

/// A part of the input.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) text: String,
    pub(super) runs: Vec<Run>,
    /// The real states of all runs, one after another.
    pub(super) states: Vec<StateId>,
    pub(super) kept: Kept,
    pub(super) shape: Shape,
    /// Rows that were left out.
    pub(super) skipped: u64,
}

impl Batch {
    pub(super) fn with_text(text: String, rows: usize) -> Self {
        Self {
            text,
            runs: Vec::new(),
            states: Vec::with_capacity(rows),
            kept: Kept::Text(Vec::new()),
            shape: Shape::Long,
            skipped: 0,
        }
    }

    pub(super) fn name(&self, run: &Run) -> &str {
        self.text_at(run.name)
    }

    pub(super) fn text_at(&self, (start, end): (u32, u32)) -> &str {
        &self.text[start as usize..end as usize]
    }

    /// Adds a state of the walk whose name is at this place in the text.
    #[inline]
    pub(super) fn push(&mut self, ids: &Ids, name: Range<usize>, state: StateId, place: Place) {
        self.states.push(state);
        let text = self.text.as_bytes();
        if let Some(run) = self.runs.last_mut()
            && text[run.name.0 as usize..run.name.1 as usize] == text[name.clone()]
        {
            run.states += 1;
            return;
        }
        let id = ids.of(&text[name.clone()]);
        let name = (name.start as u32, name.end as u32);
        self.runs.push(Run { id, name, states: 1, place });
    }
}

impl Batch {
    /// Adds a state of the walk of this name, which is not in the text yet unless it is the last.
    pub(super) fn push_named(&mut self, ids: &Ids, name: &str, state: StateId, place: Place) {
        match self.runs.last() {
            Some(run) if self.name(run) == name => {
                self.states.push(state);
                let last = self.runs.len() - 1;
                self.runs[last].states += 1;
            }
            _ => {
                self.push_run(ids, name, [state], place);
            }
        }
    }

    /// Adds a run.
    pub(super) fn push_run(
        &mut self,
        ids: &Ids,
        name: &str,
        states: impl IntoIterator<Item = StateId>,
        place: Place,
    ) {
        let before = self.states.len();
        self.states.extend(states);
        let start = self.text.len() as u32;
        self.text.push_str(name);
        let name_at = (start, self.text.len() as u32);
        let states = (self.states.len() - before) as u32;
        self.runs.push(Run { id: ids.of(name.as_bytes()), name: name_at, states, place });
    }
}

/// The labels of a chain, for quick lookup.
#[derive(Debug)]
pub(super) struct Labels(HashMap<Box<[u8]>, StateId>);

impl Labels {
    pub(super) fn new(chain: &Chain) -> Self {
        Self(chain.states().map(|s| (chain.label(s).as_bytes().into(), s)).collect())
    }

    #[inline]
    pub(super) fn get(&self, label: &[u8]) -> Option<StateId> {
        self.0.get(label).copied()
    }
}
