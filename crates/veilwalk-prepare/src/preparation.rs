//! From events to walks: events are taken as they come, sorted, and made into walks.

use std::fmt::Write;

use veilwalk::StateId;
use veilwalk_roads::{MatchSettings, Streets};

use crate::clock::Ticks;
use crate::error::{EventError, PrepareError};
use crate::moment::Moment;
use crate::names::Names;
use crate::positions::{Map, Positions};
use crate::settings::{Settings, Shaping, Stays};
use crate::shape::{ByClock, ByEvents, Output, Shaper, Which};
use crate::sorter::{InOrder, Numbered, Positioned};
use crate::states::{self, StateEvents};
use crate::summary::Summary;
use crate::times::Times;

/// An event as it stands in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// Whose it is.
    pub person: &'a str,
    /// When it was: ISO 8601, or seconds since 1970.
    pub time: &'a str,
    /// Where it was.
    pub at: EventAt<'a>,
}

/// Where a person was, or what happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventAt<'a> {
    /// The label of a state.
    State(&'a str),
    /// A position on the earth, in degrees.
    Position {
        /// How far north.
        latitude: &'a str,
        /// How far east.
        longitude: &'a str,
    },
}

/// Takes events in any order.
#[derive(Debug)]
pub struct Preparation<'s> {
    settings: Settings,
    persons: Names,
    events: u64,
    times: Times,
    waiting: Waiting<'s>,
}

/// Events that wait to be sorted.
#[derive(Debug)]
enum Waiting<'s> {
    States(StateEvents),
    Positions(Positions<'s>),
}

/// When an event was, its place in the input, and whose it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) time: Moment,
    pub(crate) order: u64,
    pub(crate) person: u32,
}

/// Why an event was not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// Something is wrong with it.
    #[error(transparent)]
    Event(#[from] EventError),
    /// Something else is in the way.
    #[error(transparent)]
    Other(#[from] PrepareError),
}

impl<'s> Preparation<'s> {
    /// Starts, with settings that [`Settings::check`] takes.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let waiting = Waiting::States(StateEvents::new(&settings));
        Self::of(settings, waiting)
    }

    /// Starts, for positions that are matched to the streets of a map. Whoever is on no street gets the state `away`; if that
    /// is left open, a walk ends there, or with a clock the last street stays.
    #[must_use]
    pub fn on_streets(
        settings: Settings,
        streets: &'s Streets,
        matching: MatchSettings,
        away: Option<String>,
    ) -> Self {
        let waiting = Waiting::Positions(Positions::new(&settings, streets, matching, away));
        Self::of(settings, waiting)
    }

    fn of(settings: Settings, waiting: Waiting<'s>) -> Self {
        let (persons, times) = (Names::default(), Times::default());
        Self { settings, persons, events: 0, times, waiting }
    }

    /// Takes an event.
    ///
    /// # Errors
    ///
    /// If there is something wrong with it, or the temporary file in which events wait cannot be written.
    pub fn add(&mut self, event: Event<'_>) -> Result<(), AddError> {
        let time = self.times.read(event.time, &self.settings)?;
        let person = self.persons.number(event.person).ok_or(EventError::TooManyPersons)?;
        let entry = Entry { time, order: self.events, person };
        match &mut self.waiting {
            Waiting::States(states) => states.add(event.at, entry, &self.settings)?,
            Waiting::Positions(positions) => positions.add(event.at, entry)?,
        }
        self.times.include(time);
        self.events += 1;
        Ok(())
    }

    /// Puts all events in order.
    ///
    /// # Errors
    ///
    /// If there are more states than make sense, or the temporary file cannot be used.
    pub fn finish(self) -> Result<Sorted<'s>, PrepareError> {
        let Self { settings, persons, events, times, waiting } = self;
        let (source, mut labels) = match waiting {
            Waiting::States(waiting) => {
                let (labels, events) = waiting.finish(&settings, events)?;
                (Source::States(events), labels)
            }
            Waiting::Positions(waiting) => {
                let (map, labels, positions) = waiting.finish()?;
                (Source::Positions(map, positions), labels)
            }
        };
        let (on_streets, spilled) = match &source {
            Source::States(events) => (None, events.was_spilled()),
            Source::Positions(map, positions) => (Some(map), positions.was_spilled()),
        };
        let summary = Summary {
            events,
            persons: persons.len() as u64,
            states: labels.len() as u64,
            spilled,
            ..Summary::default()
        };
        let mut number =
            |label: &str| labels.number(label).map(|number| StateId::new(number as usize));
        let away = match &settings.shaping {
            Shaping::Clock(clock) => clock.away.as_deref(),
            Shaping::Events { .. } => None,
        };
        let away = away.or(on_streets.and_then(|map| map.away.as_deref())).and_then(&mut number);
        let gap = settings.gap.map(|gap| gap.seconds());
        let shaper = match settings.shaping {
            Shaping::Events { stays, padding } => {
                let padding = padding.and_then(|p| Some((number(&p.end)?, p.length.get())));
                // The matcher knows where pieces end, so no time is too long here; but walks have numbers.
                let (gap, stays) = match on_streets {
                    Some(_) => (Some(u64::MAX), Stays::Keep),
                    None => (gap, stays),
                };
                Shaper::Events(ByEvents::new(gap, stays, padding))
            }
            Shaping::Clock(clock) => {
                let ticks = Ticks::new(&clock, settings.zone);
                let within = times.range();
                Shaper::Clock(Box::new(ByClock::new(ticks, away, gap, clock.days, within)))
            }
        };
        let labels = labels.to_vec();
        Ok(Sorted { persons, labels, away, gap, source, shaper, summary })
    }
}

/// All events, by person and time.
pub struct Sorted<'s> {
    persons: Names,
    labels: Vec<String>,
    away: Option<StateId>,
    gap: Option<u64>,
    source: Source<'s>,
    shaper: Shaper,
    summary: Summary,
}

/// Events in order.
enum Source<'s> {
    States(InOrder<Numbered>),
    Positions(Map<'s>, InOrder<Positioned>),
}

impl std::fmt::Debug for Sorted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sorted").field("summary", &self.summary).finish_non_exhaustive()
    }
}

/// A walk of a person.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Walk<'a> {
    /// The person's name, and behind it the number or the day if there may be more than one.
    pub name: &'a str,
    /// Whose it is.
    pub person: &'a str,
    /// Its states, by their places in [`Sorted::labels`].
    pub states: &'a [StateId],
}

impl Sorted<'_> {
    /// How many persons there are.
    #[must_use]
    pub fn persons(&self) -> u64 {
        self.summary.persons
    }

    /// The labels of all states: those of events as they came, or of the map, then those that mark an end or an absence.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// What people call each state; nothing for those that are on no map.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        if let Source::Positions(map, _) = &self.source {
            let states = map.streets.chain().states();
            names.extend(states.map(|state| map.streets.name(state).to_owned()));
        }
        names.resize(self.labels.len(), String::new());
        names
    }

    /// Gives out every walk: those of one person after another, as persons first came, in the order of time.
    ///
    /// # Errors
    ///
    /// If `take` fails, the temporary file cannot be read, or there are positions and not one is on the map.
    pub fn each_walk<E: From<PrepareError>>(
        self,
        mut take: impl FnMut(Walk<'_>) -> Result<(), E>,
    ) -> Result<Summary, E> {
        let Self { persons, labels, away, gap, source, mut shaper, mut summary } = self;
        let (mut walks, mut rows) = (0, 0);
        let mut name = String::new();
        let mut take = |person: u32, which: Which, states: &[StateId]| {
            let person = persons.get(person);
            name.clear();
            name.push_str(person);
            // Writing to a string does not fail.
            let _ = write!(name, "{which}");
            walks += 1;
            rows += states.len() as u64;
            take(Walk { name: &name, person, states })
        };
        let mut out = Output { person: 0, summary: &mut summary, take: &mut take };
        match source {
            Source::States(events) => states::shape(events, &mut shaper, &mut out)?,
            Source::Positions(map, positions) => {
                map.shape(positions, away, gap, &mut shaper, &mut out)?;
                summary.states = labels.len() as u64;
            }
        }
        (summary.walks, summary.rows) = (walks, rows);
        Ok(summary)
    }
}
