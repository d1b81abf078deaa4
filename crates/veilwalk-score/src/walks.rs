//! Walks as numbers of states, one after another in memory.

use veilwalk::StateId;

/// Some walks, each with at least one state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walks {
    ends: Vec<usize>,
    states: Vec<StateId>,
}

impl Walks {
    /// Adds a walk. One without states is left out.
    pub fn push(&mut self, walk: &[StateId]) {
        if !walk.is_empty() {
            self.states.extend_from_slice(walk);
            self.ends.push(self.states.len());
        }
    }

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

    /// How many states all of them have.
    #[must_use]
    pub fn states(&self) -> usize {
        self.states.len()
    }

    /// All walks, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[StateId]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.states[start..end])
    }
}

impl<'a> FromIterator<&'a [StateId]> for Walks {
    fn from_iter<T: IntoIterator<Item = &'a [StateId]>>(walks: T) -> Self {
        let mut all = Self::default();
        walks.into_iter().for_each(|walk| all.push(walk));
        all
    }
}
