//! One person's events, in the order of time, to walks.

mod by_clock;
mod by_events;

use std::fmt;

use veilwalk::StateId;

use crate::moment::Moment;
use crate::summary::Summary;
use crate::zone::Day;

pub(crate) use by_clock::ByClock;
pub(crate) use by_events::ByEvents;

/// Makes walks of the events of one person after another.
pub(crate) enum Shaper {
    /// A state for every event.
    Events(ByEvents),
    /// A state for every tick.
    Clock(Box<ByClock>),
}

/// Which of a person's walks it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The only one there can be.
    Only,
    /// By number, from one.
    Number(u64),
    /// That of a day.
    Day(Day),
}

impl fmt::Display for Which {
    /// What stands behind the person's name. No two walks have one name: it ends in a number or a day, or no name does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Only => Ok(()),
            Self::Number(number) => write!(f, "/{number}"),
            Self::Day(day) => write!(f, "/{day}"),
        }
    }
}

/// Where walks go, and what is counted on the way.
pub(crate) struct Output<'a, E> {
    /// Whose events these are.
    pub(crate) person: u32,
    pub(crate) summary: &'a mut Summary,
    pub(crate) take: &'a mut TakeWalk<'a, E>,
}

/// Takes a walk of a person.
pub(crate) type TakeWalk<'a, E> = dyn FnMut(u32, Which, &[StateId]) -> Result<(), E> + 'a;

impl<E> Output<'_, E> {
    fn give(&mut self, which: Which, states: &[StateId]) -> Result<(), E> {
        (self.take)(self.person, which, states)
    }
}

impl Shaper {
    /// Takes the next event of the person, and gives out walks that are over.
    pub(crate) fn event<E>(
        &mut self,
        moment: Moment,
        state: StateId,
        out: &mut Output<'_, E>,
    ) -> Result<(), E> {
        match self {
            Self::Events(shaper) => shaper.event(moment, state, out),
            Self::Clock(shaper) => shaper.event(moment, state, out),
        }
    }

    /// That nobody knows how the person got to the next event: without a clock, a walk ends here.
    pub(crate) fn interrupt<E>(&mut self, out: &mut Output<'_, E>) -> Result<(), E> {
        match self {
            Self::Events(shaper) => shaper.give_walk(out),
            Self::Clock(_) => Ok(()),
        }
    }

    /// Without a clock, the last state of the walk that is under way.
    pub(crate) fn last_state(&self) -> Option<StateId> {
        match self {
            Self::Events(shaper) => shaper.last_state(),
            Self::Clock(_) => None,
        }
    }

    /// That the person has no more events.
    pub(crate) fn person_over<E>(&mut self, out: &mut Output<'_, E>) -> Result<(), E> {
        match self {
            Self::Events(shaper) => shaper.person_over(out),
            Self::Clock(shaper) => shaper.person_over(out),
        }
    }
}
