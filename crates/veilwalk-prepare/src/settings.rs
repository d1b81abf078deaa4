//! What to make of events.

use std::num::NonZeroUsize;

use thiserror::Error;
use veilwalk::internal::request::Span;

use crate::clock::{Clock, ClockError};
use crate::places::Places;
use crate::zone::Zone;

/// What to make of events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What becomes of where events were.
    pub places: Places,
    /// How events make walks.
    pub shaping: Shaping,
    /// The longest time without an event over which something is known: without a clock, a walk is over after it and another
    /// begins; with a clock, a person is away.
    pub gap: Option<Span>,
    /// The zone of days, and of times without one.
    pub zone: Option<Zone>,
    /// How much is taken.
    pub limits: Limits,
}

/// How the events of a person make walks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shaping {
    /// A state for every event.
    Events {
        /// What becomes of an event with the state of the one before it.
        stays: Stays,
        /// How all walks get one length, if they do.
        padding: Option<Padding>,
    },
    /// A state for every tick.
    Clock(Clock),
}

impl Default for Shaping {
    fn default() -> Self {
        Self::Events { stays: Stays::default(), padding: None }
    }
}

/// What becomes of an event with the state of the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stays {
    /// It is a step of the walk like any other.
    #[default]
    Keep,
    /// It is left out.
    Merge,
}

/// One length for all walks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Padding {
    /// The state that fills up walks which are shorter.
    pub end: String,
    /// The length; what is longer is cut.
    pub length: NonZeroUsize,
}

/// How much is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most states. If it is left open, [`Limits::STATES`], and no more than half as many as there are events once
    /// they are over [`Limits::FEW_STATES`].
    pub states: Option<usize>,
    /// The most memory for events, in bytes; more wait in a temporary file.
    pub memory: usize,
}

impl Limits {
    /// The most states if nobody says otherwise.
    pub const STATES: usize = 100_000;
    /// So many states are never too many.
    pub const FEW_STATES: usize = 1_000;
    /// The memory for events if nobody says otherwise: 22 million of them.
    pub const MEMORY: usize = 512 << 20;
}

impl Default for Limits {
    fn default() -> Self {
        Self { states: None, memory: Self::MEMORY }
    }
}

/// Settings that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A clock that cannot be.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// A state without a name.
    #[error("the name of the state {0} is empty; give it one")]
    NoName(&'static str),
}

impl Settings {
    /// Refuses settings that contradict each other.
    ///
    /// # Errors
    ///
    /// If they do.
    pub fn check(&self) -> Result<(), SettingsError> {
        match &self.shaping {
            Shaping::Clock(clock) if self.gap.is_some() && clock.away.is_none() => {
                Err(ClockError::GapWithoutAway.into())
            }
            Shaping::Clock(clock) if clock.away.as_deref() == Some("") => {
                Err(SettingsError::NoName("for where nothing is known"))
            }
            Shaping::Events { padding: Some(padding), .. } if padding.end.is_empty() => {
                Err(SettingsError::NoName("at the end of walks"))
            }
            _ => Ok(()),
        }
    }
}
