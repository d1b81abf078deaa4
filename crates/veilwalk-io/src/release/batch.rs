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

use super::UnknownStates;
use crate::columns::Shape;
use crate::read_error::Place;

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
    /// The walks that those rows belong to.
    pub(super) skipped_walks: Vec<WalkId>,
    /// Rows whose state was replaced.
    pub(super) replaced: u64,
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
            skipped_walks: Vec::new(),
            replaced: 0,
        }
    }

    /// The state that replaces an unknown one, counted.
    pub(super) fn replacement(&mut self, unknown: UnknownStates) -> Option<StateId> {
        let UnknownStates::Replace(state) = unknown else { return None };
        self.replaced += 1;
        Some(state)
    }

    /// Leaves out some rows of the walk of this name.
    pub(super) fn skip(&mut self, ids: &Ids, name: &[u8], rows: u64) {
        self.skipped += rows;
        let id = ids.of(name);
        if self.skipped_walks.last() != Some(&id) {
            self.skipped_walks.push(id);
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
pub(super) struct Labels {
    /// Short labels as numbers, each in the first free slot from its own on; zero where a slot is free.
    /// At least half of them are.
    slots: Vec<(u64, StateId)>,
    long: HashMap<Box<[u8]>, StateId>,
}

impl Labels {
    /// Labels of up to this many bytes are looked up as one number.
    const SHORT: usize = 7;

    pub(super) fn new(chain: &Chain) -> Self {
        let slots = vec![(0, StateId::new(0)); (2 * chain.len()).next_power_of_two()];
        let mut labels = Self { slots, long: HashMap::new() };
        for state in chain.states() {
            let label = chain.label(state).as_bytes();
            if let 1..=Self::SHORT = label.len() {
                let number = Self::number(label, 0..label.len());
                let slot = labels.slot(number);
                labels.slots[slot] = (number, state);
            } else {
                labels.long.insert(label.into(), state);
            }
        }
        labels
    }

    #[inline]
    pub(super) fn get(&self, label: &[u8]) -> Option<StateId> {
        self.get_at(label, 0..label.len())
    }

    /// The state whose label is at this place in a text.
    #[inline(always)]
    pub(super) fn get_at(&self, text: &[u8], label: Range<usize>) -> Option<StateId> {
        if let 1..=Self::SHORT = label.len() {
            let number = Self::number(text, label);
            let (found, state) = self.slots[self.slot(number)];
            (found == number).then_some(state)
        } else {
            self.get_long(&text[label])
        }
    }

    /// Apart from the quick way, so that there is little to that.
    #[inline(never)]
    fn get_long(&self, label: &[u8]) -> Option<StateId> {
        self.long.get(label).copied()
    }

    /// The slot of a short label, or the free one where it would be.
    #[inline(always)]
    fn slot(&self, number: u64) -> usize {
        // An odd number without a pattern; the highest bits of the product depend on all bytes.
        const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
        let last = self.slots.len() - 1;
        let mut slot = number.wrapping_mul(MIX).rotate_left(u64::BITS / 2) as usize & last;
        while self.slots[slot].0 != number && self.slots[slot].0 != 0 {
            slot = (slot + 1) & last;
        }
        slot
    }

    /// A short label as a number: its bytes, and above them how many there are.
    #[inline(always)]
    fn number(text: &[u8], label: Range<usize>) -> u64 {
        let length = label.len();
        let bytes = match text[label.start..].first_chunk() {
            // What follows the label is cut off.
            Some(&bytes) => u64::from_le_bytes(bytes) & ((1 << (8 * length)) - 1),
            None => {
                let mut bytes = [0; 8];
                bytes[..length].copy_from_slice(&text[label]);
                u64::from_le_bytes(bytes)
            }
        };
        bytes | (length as u64) << (8 * Self::SHORT)
    }
}

#[cfg(test)]
mod tests {
    use veilwalk::chain::{ChainBuilder, Entries};

    use super::*;

    #[test]
    fn labels_are_found_wherever_they_stand() {
        let labels =
            ["a", "b", "a\0", "aaaaaaa", "aaaaaaaa", "aaaaaab", "é", "a longer label than any"];
        let mut builder = ChainBuilder::new(Entries::Counts);
        let ids: Vec<_> = labels.iter().map(|label| builder.state(label)).collect();
        for (i, &from) in ids.iter().enumerate() {
            builder.transition(from, ids[(i + 1) % ids.len()], 1.0).unwrap();
        }
        let chain = builder.build(Default::default()).unwrap().0;
        let known = Labels::new(&chain);
        for label in labels {
            let expected = chain.states().find(|&state| chain.label(state) == label);
            assert!(expected.is_some());
            assert_eq!(known.get(label.as_bytes()), expected, "{label:?}");
            for (before, after) in [("", "aa"), ("a", "aaaaaaaaaaaaaaaa"), ("a,", "\n")] {
                let text = format!("{before}{label}{after}");
                let place = before.len()..before.len() + label.len();
                assert_eq!(known.get_at(text.as_bytes(), place), expected, "{label:?} in {text:?}");
            }
        }
        for other in ["", "c", "a\0\0", "aa", "aaaaaac", "aaaaaaaaa", "\0"] {
            assert_eq!(known.get(other.as_bytes()), None, "{other:?}");
        }
    }
}
