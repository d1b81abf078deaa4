//! A walk's public state in plain numbers, for saving it.
//!
//! Numbers come back as they were, to the last bit, so a walk that is taken up again goes on as if it
//! had never stopped. What is read is checked: numbers that no walk could have led to are refused.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use super::filter::Belief;
use super::track::{Standing, Track};
use super::tracker::Tracker;
use super::window::Seen;
use crate::chain::StateId;

/// A [`Track`] in numbers.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub(crate) struct TrackParts {
    /// What the belief is about.
    pub(crate) standing: Standing,
    /// The states that have mass.
    pub(crate) states: Vec<u32>,
    /// Their masses.
    pub(crate) masses: Vec<f64>,
    /// The steps that wait for their answer.
    pub(crate) window: Vec<SeenParts>,
    /// The last released state.
    pub(crate) last: Option<u32>,
    /// The shares of the mass that were dropped, added up.
    pub(crate) dropped: f64,
    /// How many observations could not be explained.
    pub(crate) surprises: u64,
}

/// One step that waits for its answer, in numbers.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub(crate) struct SeenParts {
    /// The states that have mass.
    pub(crate) states: Vec<u32>,
    /// Their masses.
    pub(crate) masses: Vec<f64>,
    /// How likely the observation was for each of them, up to a factor.
    pub(crate) factors: Vec<f64>,
}

impl Track {
    /// The walk in numbers.
    pub(crate) fn to_parts(&self) -> TrackParts {
        let window = self.window.iter().map(|seen| SeenParts {
            states: numbers(seen.belief.states()),
            masses: seen.belief.masses().to_vec(),
            factors: seen.factors.clone(),
        });
        TrackParts {
            standing: self.standing,
            states: numbers(self.belief.states()),
            masses: self.belief.masses().to_vec(),
            window: window.collect(),
            last: self.last.map(number),
            dropped: self.dropped,
            surprises: self.surprises,
        }
    }

    /// The walk with these numbers; `None` if they are not those of a walk that this tracker follows.
    pub(crate) fn from_parts(parts: TrackParts, tracker: &Tracker) -> Option<Self> {
        let TrackParts { standing, states, masses, window, last, dropped, surprises } = parts;
        let track = Self {
            standing,
            belief: match standing {
                Standing::Fresh if states.is_empty() && masses.is_empty() => Belief::default(),
                Standing::Fresh => return None,
                Standing::Observed | Standing::Predicted => belief(states, masses, tracker)?,
            },
            window: window.into_iter().map(|seen| seen.check(tracker)).collect::<Option<_>>()?,
            last: last.map(state),
            dropped,
            surprises,
        };
        track.is_possible(tracker).then_some(track)
    }

    /// Whether its parts, each of them right, can be together.
    fn is_possible(&self, tracker: &Tracker) -> bool {
        let states = tracker.model().chain().len();
        let last_known = self.last.is_none_or(|last| last.index() < states);
        let dropped = self.dropped >= 0.0 && self.dropped.is_finite();
        let untouched = self.dropped == 0.0 && self.surprises == 0;
        // Who has released nothing has observed nothing, or waits from the first step on.
        let start = match (self.last, self.window.front(), self.standing) {
            (None, None, Standing::Fresh) => untouched,
            (None, None, Standing::Predicted) => untouched && self.belief == *tracker.initial(),
            (None, None, Standing::Observed) | (_, _, Standing::Fresh) => false,
            (None, Some(first), _) => {
                let starts = tracker.initial().states();
                first.belief.states().iter().all(|state| starts.binary_search(state).is_ok())
            }
            (Some(_), _, _) => true,
        };
        // The last observed step is the one that the belief is about, until it moves on.
        let same = match (self.window.back(), self.standing) {
            (Some(seen), Standing::Observed) => seen.belief == self.belief,
            _ => true,
        };
        last_known && dropped && start && same && self.window.len() <= tracker.lag()
    }
}

impl SeenParts {
    fn check(self, tracker: &Tracker) -> Option<Seen> {
        let likely = self.factors.iter().all(|&factor| factor > 0.0 && factor <= 1.0);
        let fits = likely && self.factors.len() == self.states.len();
        let belief = belief(self.states, self.masses, tracker)?;
        fits.then_some(Seen { belief, factors: self.factors })
    }
}

fn belief(states: Vec<u32>, masses: Vec<f64>, tracker: &Tracker) -> Option<Belief> {
    let states = states.into_iter().map(state).collect();
    Belief::from_parts(states, masses, tracker.model().chain().len())
}

fn number(state: StateId) -> u32 {
    // A chain has fewer than 2³² states.
    state.index() as u32
}

fn numbers(states: &[StateId]) -> Vec<u32> {
    states.iter().copied().map(number).collect()
}

fn state(number: u32) -> StateId {
    StateId::new(number as usize)
}
