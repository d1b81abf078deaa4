//! All of it in order: events are taken as they come, sorted, and made into walks.

use std::fmt::Write;

use hashbrown::HashSet;
use veilwalk::StateId;

use crate::clock::{FARTHEST, Ticks};
use crate::error::{EventError, PrepareError};
use crate::moment::{self, Moment, TimeKind, shortened};
use crate::names::Names;
use crate::places::PlaceNumbers;
use crate::settings::{Limits, Settings, Shaping};
use crate::shape::{ByClock, ByEvents, Shaper, Which};
use crate::sorter::{InOrder, Numbered, Sorter};
use crate::summary::Summary;

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
pub struct Preparation {
    settings: Settings,
    persons: Names,
    places: PlaceNumbers,
    sorter: Sorter<Numbered>,
    events: u64,
    times: Times,
}

/// How the times of a file are written, and the first and the last of them.
#[derive(Debug)]
pub(crate) struct Times {
    kind: Option<TimeKind>,
    first: Moment,
    last: Moment,
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

impl Preparation {
    /// Starts, with settings that [`Settings::check`] takes.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let most = settings.limits.states.unwrap_or(Limits::STATES);
        Self {
            persons: Names::default(),
            places: PlaceNumbers::new(settings.places, most),
            sorter: Sorter::new(settings.limits.memory),
            events: 0,
            times: Times::default(),
            settings,
        }
    }

    /// Takes an event.
    ///
    /// # Errors
    ///
    /// If there is something wrong with it, or the temporary file in which events wait cannot be written.
    pub fn add(&mut self, event: Event<'_>) -> Result<(), AddError> {
        let time = self.times.read(event.time, &self.settings)?;
        let person = self.persons.number(event.person).ok_or(EventError::TooManyPersons)?;
        if let Shaping::Events { padding: Some(padding), .. } = &self.settings.shaping
            && event.at == EventAt::State(&padding.end)
        {
            return Err(EventError::EndIsAState(padding.end.clone()).into());
        }
        let state = self.places.number(event.at)?;
        self.times.include(time);
        let event = Numbered { time: time.0, order: self.events, person, state };
        self.events += 1;
        self.sorter.push(event).map_err(PrepareError::from)?;
        Ok(())
    }

    /// Puts all events in order.
    ///
    /// # Errors
    ///
    /// If there are more states than make sense, or the temporary file cannot be used.
    pub fn finish(self) -> Result<Sorted, PrepareError> {
        let states = self.places.len();
        let shared = self.settings.limits.states.is_some()
            || states <= Limits::FEW_STATES
            || 2 * states as u64 <= self.events;
        if !shared {
            let (events, are) = (self.events, self.settings.places.states_are());
            return Err(PrepareError::EveryEventAState { states, events, are });
        }
        let mut labels = self.places.into_labels();
        let mut label =
            |name: &str| labels.number(name).map(|number| StateId::new(number as usize));
        let gap = self.settings.gap.map(|gap| gap.seconds());
        let shaper = match self.settings.shaping {
            Shaping::Events { stays, padding } => {
                let padding = padding.and_then(|p| Some((label(&p.end)?, p.length.get())));
                Shaper::Events(ByEvents::new(gap, stays, padding))
            }
            Shaping::Clock(clock) => {
                let away = clock.away.as_deref().and_then(label);
                let within = self.times.range();
                let ticks = Ticks::new(&clock, self.settings.zone);
                Shaper::Clock(Box::new(ByClock::new(ticks, away, gap, clock.days, within)))
            }
        };
        let events = self.sorter.finish()?;
        let summary = Summary {
            events: self.events,
            persons: self.persons.len() as u64,
            states: states as u64,
            spilled: events.was_spilled(),
            ..Summary::default()
        };
        Ok(Sorted { persons: self.persons, labels: labels.to_vec(), events, shaper, summary })
    }
}

impl Default for Times {
    fn default() -> Self {
        Self { kind: None, first: Moment(i64::MAX), last: Moment(i64::MIN) }
    }
}

impl Times {
    /// What a time means, if it is written like those before it.
    pub(crate) fn read(&mut self, time: &str, settings: &Settings) -> Result<Moment, EventError> {
        let (kind, read) = moment::read(time)?;
        match self.kind {
            Some(before) if before != kind => {
                return Err(EventError::MixedTimes { found: kind, before });
            }
            Some(_) => {}
            None => {
                let on_a_clock = matches!(settings.shaping, Shaping::Clock(_));
                if on_a_clock && kind != TimeKind::Local && settings.zone.is_none() {
                    return Err(EventError::NoZone { kind });
                }
                self.kind = Some(kind);
            }
        }
        let moment = match (&settings.zone, kind) {
            (Some(zone), TimeKind::Local) => zone.moment_of(read),
            _ => Some(read),
        };
        let near = moment.filter(|moment| (-FARTHEST..=FARTHEST).contains(&moment.0));
        near.ok_or_else(|| EventError::FarAway { found: shortened(time) })
    }

    pub(crate) fn include(&mut self, time: Moment) {
        (self.first, self.last) = (self.first.min(time), self.last.max(time));
    }

    /// The first and the last time.
    pub(crate) fn range(&self) -> (Moment, Moment) {
        if self.first > self.last { (Moment(0), Moment(0)) } else { (self.first, self.last) }
    }
}

/// All events, by person and time.
pub struct Sorted {
    persons: Names,
    labels: Vec<String>,
    events: InOrder<Numbered>,
    shaper: Shaper,
    summary: Summary,
}

impl std::fmt::Debug for Sorted {
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

impl Sorted {
    /// How many persons there are.
    #[must_use]
    pub fn persons(&self) -> u64 {
        self.summary.persons
    }

    /// The labels of all states: those of events as they came, then the one that marks an end or an absence.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Gives out every walk: those of one person after another, as persons first came, in the order of time.
    ///
    /// # Errors
    ///
    /// If `take` fails, or the temporary file cannot be read.
    pub fn each_walk<E: From<PrepareError>>(
        self,
        mut take: impl FnMut(Walk<'_>) -> Result<(), E>,
    ) -> Result<Summary, E> {
        let Self { persons, events, mut shaper, mut summary, .. } = self;
        let (mut walks, mut rows) = (0, 0);
        let mut name = String::new();
        let mut give = |person: u32, which: Which, states: &[StateId]| {
            let person = persons.get(person);
            name.clear();
            name.push_str(person);
            // Writing to a string does not fail.
            let _ = write!(name, "{which}");
            walks += 1;
            rows += states.len() as u64;
            take(Walk { name: &name, person, states })
        };
        let mut same_time = SameTime::default();
        let mut person = None;
        for event in events {
            let event = event.map_err(PrepareError::from)?;
            if let Some(before) = person.filter(|before| *before != event.person) {
                shaper
                    .person_over(&mut summary, &mut |which, states| give(before, which, states))?;
            }
            person = Some(event.person);
            match same_time.look(&event) {
                Seen::Before => {
                    summary.repeats += 1;
                    continue;
                }
                Seen::Elsewhere => summary.at_one_time += 1,
                Seen::Never => {}
            }
            let (moment, state) = (Moment(event.time), StateId::new(event.state as usize));
            shaper.event(moment, state, &mut summary, &mut |which, states| {
                give(event.person, which, states)
            })?;
        }
        if let Some(last) = person {
            shaper.person_over(&mut summary, &mut |which, states| give(last, which, states))?;
        }
        (summary.walks, summary.rows) = (walks, rows);
        Ok(summary)
    }
}

/// The states of a person's events at one time.
#[derive(Default)]
struct SameTime {
    of: Option<(u32, i64)>,
    first: u32,
    others: HashSet<u32>,
}

enum Seen {
    /// Nothing of this person at this time.
    Never,
    /// The person in another state.
    Elsewhere,
    /// The same event.
    Before,
}

impl SameTime {
    fn look(&mut self, event: &Numbered) -> Seen {
        if self.of.replace((event.person, event.time)) != Some((event.person, event.time)) {
            self.first = event.state;
            self.others.clear();
            return Seen::Never;
        }
        let known = self.first == event.state || !self.others.insert(event.state);
        if known { Seen::Before } else { Seen::Elsewhere }
    }
}
