//! The labels of the states: one text, where each label ends in it, and a hash table from labels to
//! states.
//!
//! The table is our own so that it can be kept in a file with the rest of a chain: a million labels
//! are ready without being looked at.

use super::StateId;

/// Labels of states, each once.
#[derive(Clone, Debug, Default)]
pub struct StateLabels {
    text: String,
    ends: Vec<usize>,
    /// Open addressing with linear probing, at most half full; a power of two of places.
    slots: Vec<u32>,
}

const FREE: u32 = u32::MAX;

impl StateLabels {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The label at this place.
    #[inline]
    #[must_use]
    pub fn get(&self, place: usize) -> &str {
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.text[start..self.ends[place]]
    }

    /// All labels in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|place| self.get(place))
    }

    /// The state with this label.
    #[inline]
    #[must_use]
    pub fn find(&self, label: &str) -> Option<StateId> {
        let found = *self.slots.get(self.slot(label)?)?;
        (found != FREE).then(|| StateId::new(found as usize))
    }

    /// Adds a label; the state that has it already, if there is one.
    pub(super) fn add(&mut self, label: &str) -> Result<StateId, StateId> {
        if 2 * (self.len() + 1) > self.slots.len() {
            self.grow();
        }
        let slot = self.slot(label).expect("there are slots");
        if self.slots[slot] != FREE {
            return Err(StateId::new(self.slots[slot] as usize));
        }
        let state = StateId::new(self.len());
        self.slots[slot] = state.index() as u32;
        self.text.push_str(label);
        self.ends.push(self.text.len());
        Ok(state)
    }

    /// Where a label is in the table, or the free slot where it belongs; `None` without slots.
    #[inline]
    fn slot(&self, label: &str) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = hash(label) as usize & mask;
        while self.slots[slot] != FREE && self.get(self.slots[slot] as usize) != label {
            slot = (slot + 1) & mask;
        }
        Some(slot)
    }

    fn grow(&mut self) {
        let size = (2 * self.slots.len()).max(16);
        self.slots = vec![FREE; size];
        let mask = size - 1;
        for place in 0..self.len() {
            // They are all different, so the first free slot will do.
            let mut slot = hash(self.get(place)) as usize & mask;
            while self.slots[slot] != FREE {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = place as u32;
        }
    }

    /// The text of all labels, where each ends, and the table that finds them.
    #[must_use]
    pub fn parts(&self) -> (&str, &[usize], &[u32]) {
        (&self.text, &self.ends, &self.slots)
    }

    /// Labels from their [parts](Self::parts). `None` if they do not go together; that the table
    /// finds every label is taken for granted.
    #[must_use]
    pub fn from_parts(text: String, ends: Vec<usize>, slots: Vec<u32>) -> Option<Self> {
        let whole = ends.is_sorted()
            && ends.last().copied().unwrap_or(0) == text.len()
            && ends.iter().all(|&end| text.is_char_boundary(end));
        let used = slots.iter().filter(|&&slot| slot != FREE);
        let known = used.clone().all(|&place| (place as usize) < ends.len());
        // A search for what is not there ends at a free slot.
        let sized = slots.len().is_power_of_two() && slots.len() >= 2 * ends.len();
        (whole && known && sized && used.count() == ends.len()).then_some(Self {
            text,
            ends,
            slots,
        })
    }
}

/// The same on every machine and in every version: files rely on it.
fn hash(label: &str) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = label.len() as u64;
    for chunk in label.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR);
        hash ^= hash >> 32;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn the_hash_is_what_files_were_written_with() {
        assert_eq!(hash(""), 0);
        assert_eq!(hash("r12c7"), 0x058b_69a2_cdf2_db61);
        assert_eq!(hash("a label of more than eight bytes"), 0x5aec_bb8c_2b59_35bd);
    }

    proptest! {
        #[test]
        fn labels_are_found_as_in_a_map(words in proptest::collection::vec(".{0,10}", 0..300)) {
            let (mut labels, mut map) = (StateLabels::default(), HashMap::new());
            for word in &words {
                let next = StateId::new(map.len());
                let expected = *map.entry(word.clone()).or_insert(next);
                let added = labels.add(word);
                prop_assert_eq!(added, if expected == next { Ok(next) } else { Err(expected) });
            }
            let (text, ends, slots) = labels.parts();
            let parts = (text.to_owned(), ends.to_vec(), slots.to_vec());
            let again = StateLabels::from_parts(parts.0, parts.1, parts.2);
            // Without a single label there is no table yet.
            let again = again.unwrap_or_default();
            for (word, &state) in &map {
                prop_assert_eq!(labels.find(word), Some(state));
                prop_assert_eq!(again.find(word), Some(state));
                prop_assert_eq!(labels.get(state.index()), word);
            }
            prop_assert_eq!(labels.find("nothing that was put in"), None);
            prop_assert_eq!(labels.len(), map.len());
        }
    }
}
