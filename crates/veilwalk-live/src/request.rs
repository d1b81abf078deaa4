//! What is asked of the engine, and what it answers.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;
use veilwalk::chain::UnknownState;
use veilwalk::{Outcome, StateId};

/// The name of a walk: 1 to 256 bytes without control characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WalkName(Arc<str>);

/// A text that cannot name a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the name of a walk has 1 to {} bytes, and no control characters such as line breaks",
    WalkName::LONGEST
)]
pub struct NotAName;

impl WalkName {
    /// The most bytes.
    pub const LONGEST: usize = 256;

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for WalkName {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        let fits = (1..=Self::LONGEST).contains(&text.len());
        if fits && !text.chars().any(char::is_control) {
            Ok(Self(text.into()))
        } else {
            Err(NotAName)
        }
    }
}

impl fmt::Display for WalkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A real state at its place in the walk.
#[derive(Clone)]
pub struct Step {
    /// The number of the step; the first is 0.
    pub number: u64,
    /// The real state. One that the chain does not have is refused only if the step is new: what was
    /// answered is answered again, whatever comes with it.
    pub real: Result<StateId, UnknownState>,
}

/// The real state is not shown.
impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step").field("number", &self.number).finish_non_exhaustive()
    }
}

/// What is asked for one walk.
#[derive(Clone, Debug)]
pub enum Ask {
    /// Answers to these steps: to all of them or to none.
    Steps(Vec<Step>),
    /// The walk is over.
    End,
}

/// A message about one walk.
#[derive(Clone, Debug)]
pub struct Request {
    /// The walk.
    pub walk: WalkName,
    /// Whose walk it is, for a ledger: looked at when the walk starts. The walk is its own person if not given.
    pub person: Option<String>,
    /// What is asked.
    pub ask: Ask,
}

impl Request {
    /// Asks for the answer to one step.
    #[must_use]
    pub fn step(walk: &WalkName, number: u64, real: Result<StateId, UnknownState>) -> Self {
        let steps = vec![Step { number, real }];
        Self { walk: walk.clone(), person: None, ask: Ask::Steps(steps) }
    }

    /// Says that a walk is over.
    #[must_use]
    pub fn end(walk: &WalkName) -> Self {
        Self { walk: walk.clone(), person: None, ask: Ask::End }
    }

    /// How much work it is, in steps.
    pub(crate) fn weight(&self) -> usize {
        match &self.ask {
            Ask::Steps(steps) => steps.len(),
            Ask::End => 1,
        }
    }
}

/// The answer to a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number of the step.
    pub number: u64,
    /// The released state.
    pub state: StateId,
    /// What was observed, under a mechanism that observes. The promise covers both.
    pub observed: Option<Outcome>,
    /// Whether this was answered before: it is what was answered then.
    pub replayed: bool,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// The answers that came with the steps, in their order: one for each, or with a [delay](crate::Delay) those that
    /// became due.
    Answered(Vec<Answer>),
    /// The walk is over, after so many steps. It may have been over before.
    Ended {
        /// How many steps were taken in all.
        steps: u64,
        /// With a delay, the answers that had not come yet.
        rest: Vec<Answer>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_lines() {
        for good in ["a", "firm 12", "été", &"x".repeat(256)] {
            assert_eq!(good.parse::<WalkName>().unwrap().as_str(), good);
        }
        for bad in ["", "a\nb", "a\0", "\u{85}", &"x".repeat(257)] {
            assert_eq!(bad.parse::<WalkName>(), Err(NotAName), "{bad:?}");
        }
    }

    #[test]
    fn a_real_state_is_not_shown() {
        let real = Ok(StateId::new(41));
        let shown = format!("{:?}", Request::step(&"a".parse().unwrap(), 7, real));
        assert!(shown.contains('7') && !shown.contains("41"), "{shown}");
    }
}
