//! Texts by number: each text that is new gets the next one.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// Texts in the order in which they came, one after another in one piece of memory.
#[derive(Debug, Default)]
pub(crate) struct Names {
    text: String,
    ends: Vec<usize>,
    places: HashTable<u32>,
    hasher: DefaultHashBuilder,
    last: u32,
}

impl Names {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, number: u32) -> &str {
        text_at(&self.text, &self.ends, number)
    }

    /// The number of this text; `None` if it is new and there are no more numbers.
    pub(crate) fn number(&mut self, name: &str) -> Option<u32> {
        // Rows of one person often stand together.
        if !self.ends.is_empty() && self.get(self.last) == name {
            return Some(self.last);
        }
        let Self { text, ends, places, hasher, last } = self;
        let hash = hasher.hash_one(name);
        if let Some(&known) = places.find(hash, |&number| text_at(text, ends, number) == name) {
            *last = known;
            return Some(known);
        }
        let number = u32::try_from(ends.len()).ok()?;
        text.push_str(name);
        ends.push(text.len());
        let hash_of = |&number: &u32| hasher.hash_one(text_at(text, ends, number));
        places.insert_unique(hash, number, hash_of);
        *last = number;
        Some(number)
    }

    pub(crate) fn to_vec(&self) -> Vec<String> {
        (0..self.len()).map(|number| self.get(number as u32).to_owned()).collect()
    }
}

fn text_at<'a>(text: &'a str, ends: &[usize], number: u32) -> &'a str {
    let number = number as usize;
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    &text[start..ends[number]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_places_among_the_first(texts in vec("[ab]{0,3}", 0..200)) {
            let (mut names, mut seen) = (Names::default(), Vec::<String>::new());
            for text in &texts {
                let place = seen.iter().position(|other| other == text).unwrap_or(seen.len());
                if place == seen.len() {
                    seen.push(text.clone());
                }
                prop_assert_eq!(names.number(text), Some(place as u32));
                prop_assert_eq!(names.get(place as u32), text);
            }
            prop_assert_eq!(names.to_vec(), seen);
        }
    }
}
