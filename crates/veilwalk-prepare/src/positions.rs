//! Positions to walks along the streets of a map.
//!
//! Positions are sorted as events are, then matched to streets one person after another, and what is found makes walks as events do.
//! Without a clock a walk has a state for every street that was passed, and every one of its moves is a move of the chain: where
//! nobody knows how somebody went on, or somebody turned back in the middle of a street, another walk begins. With a clock the
//! state of a tick is the street at that moment.

use std::fmt::Write;

use veilwalk::StateId;
use veilwalk::chain::{Coordinates, CoordinatesError};
use veilwalk_roads::{Found, MatchSettings, Matcher, Position, Streets};

use crate::clock::Ticks;
use crate::error::{EventError, PrepareError};
use crate::moment::{Moment, SECOND, shortened};
use crate::names::Names;
use crate::preparation::{AddError, Event, EventAt, Times, Walk};
use crate::settings::{Settings, Shaping, Stays};
use crate::shape::{ByClock, ByEvents, Shaper, Which};
use crate::sorter::{InOrder, Positioned, Sorter};
use crate::summary::Summary;

/// Takes positions in any order.
#[derive(Debug)]
pub struct PositionPreparation<'s> {
    settings: Settings,
    streets: &'s Streets,
    matching: MatchSettings,
    /// The state of whoever is on no street.
    away: Option<String>,
    persons: Names,
    sorter: Sorter<Positioned>,
    events: u64,
    times: Times,
    /// How many positions lie between the outermost points of the map once their two angles are exchanged. Those that are a
    /// little off a street at the edge need not.
    swapped: u64,
}

impl<'s> PositionPreparation<'s> {
    /// Starts, with settings that [`Settings::check`] takes, for the streets of a map. Whoever is on no street gets the state
    /// `away`; if that is left open, a walk ends there, or with a clock the last street stays.
    #[must_use]
    pub fn new(
        settings: Settings,
        streets: &'s Streets,
        matching: MatchSettings,
        away: Option<String>,
    ) -> Self {
        Self {
            sorter: Sorter::new(settings.limits.memory),
            settings,
            streets,
            matching,
            away,
            persons: Names::default(),
            events: 0,
            times: Times::default(),
            swapped: 0,
        }
    }

    /// Takes a position.
    ///
    /// # Errors
    ///
    /// If there is something wrong with it, or the temporary file in which positions wait cannot be written.
    pub fn add(&mut self, event: Event<'_>) -> Result<(), AddError> {
        let time = self.times.read(event.time, &self.settings)?;
        let person = self.persons.number(event.person).ok_or(EventError::TooManyPersons)?;
        let place = match event.at {
            EventAt::Position { latitude, longitude } => place(latitude, longitude)?,
            EventAt::State(_) => {
                return Err(EventError::OtherPlace { found: "a state", before: "positions" }.into());
            }
        };
        self.times.include(time);
        let (latitude, longitude) = (place.latitude(), place.longitude());
        let swapped = Coordinates::new(longitude, latitude);
        self.swapped += u64::from(swapped.is_ok_and(|place| self.streets.surround(place)));
        let order = self.events;
        let position = Positioned { time: time.0, order, person, latitude, longitude, unused: 0 };
        self.events += 1;
        self.sorter.push(position).map_err(PrepareError::from)?;
        Ok(())
    }

    /// Puts all positions in order.
    ///
    /// # Errors
    ///
    /// If the temporary file cannot be used.
    pub fn finish(self) -> Result<SortedPositions<'s>, PrepareError> {
        let chain = self.streets.chain();
        let mut labels: Vec<String> =
            chain.states().map(|state| chain.label(state).to_owned()).collect();
        let gap = self.settings.gap.map(|gap| gap.seconds());
        let away = match &self.settings.shaping {
            Shaping::Clock(clock) => clock.away.clone().or(self.away),
            Shaping::Events { .. } => self.away,
        };
        let mut number = |label: &str| {
            chain.state(label).unwrap_or_else(|| {
                let known = labels[chain.len()..].iter().position(|known| known == label);
                let at = known.unwrap_or_else(|| {
                    labels.push(label.to_owned());
                    labels.len() - 1 - chain.len()
                });
                StateId::new(chain.len() + at)
            })
        };
        let away = away.as_deref().map(&mut number);
        let shaper = match self.settings.shaping {
            Shaping::Events { padding, .. } => {
                let padding = padding.map(|padding| (number(&padding.end), padding.length.get()));
                // The matcher knows where pieces end, so no time is too long here; but walks have numbers.
                Shaper::Events(ByEvents::new(Some(u64::MAX), Stays::Keep, padding))
            }
            Shaping::Clock(clock) => {
                let ticks = Ticks::new(&clock, self.settings.zone);
                let within = self.times.range();
                Shaper::Clock(Box::new(ByClock::new(ticks, away, gap, clock.days, within)))
            }
        };
        let events = self.sorter.finish()?;
        let summary = Summary {
            events: self.events,
            persons: self.persons.len() as u64,
            spilled: events.was_spilled(),
            ..Summary::default()
        };
        let microseconds = |seconds: u64| {
            i64::try_from(seconds).ok().and_then(|seconds| seconds.checked_mul(SECOND))
        };
        let matching = MatchSettings { gap: gap.and_then(microseconds), ..self.matching };
        Ok(SortedPositions {
            streets: self.streets,
            matching,
            away,
            persons: self.persons,
            labels,
            events,
            shaper,
            summary,
            swapped: 2 * self.swapped > self.events,
        })
    }
}

/// A position on the earth, in degrees.
fn place(latitude: &str, longitude: &str) -> Result<Coordinates, EventError> {
    Coordinates::parse(latitude, longitude).map_err(|error| match error {
        CoordinatesError::NotANumber { axis, found } => {
            EventError::NotDegrees { axis, found: shortened(&found) }
        }
        CoordinatesError::Swapped { latitude, longitude } => {
            EventError::Swapped { latitude: shortened(&latitude), longitude: shortened(&longitude) }
        }
        CoordinatesError::OffTheEarth { axis, found, most } => {
            EventError::OffTheEarth { axis, found: shortened(&found), most }
        }
        _ => EventError::NotDegrees { axis: "latitude", found: shortened(latitude) },
    })
}

/// All positions, by person and time.
pub struct SortedPositions<'s> {
    streets: &'s Streets,
    matching: MatchSettings,
    away: Option<StateId>,
    persons: Names,
    labels: Vec<String>,
    events: InOrder<Positioned>,
    shaper: Shaper,
    summary: Summary,
    swapped: bool,
}

impl std::fmt::Debug for SortedPositions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SortedPositions").field("summary", &self.summary).finish_non_exhaustive()
    }
}

impl SortedPositions<'_> {
    /// How many persons there are.
    #[must_use]
    pub fn persons(&self) -> u64 {
        self.summary.persons
    }

    /// The labels of all states: those of the chain, then the ones that mark an end or an absence.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Gives out every walk: those of one person after another, as persons first came, in the order of time.
    ///
    /// # Errors
    ///
    /// If `take` fails, the temporary file cannot be read, or not one position is on the map.
    pub fn each_walk<E: From<PrepareError>>(
        self,
        mut take: impl FnMut(Walk<'_>) -> Result<(), E>,
    ) -> Result<Summary, E> {
        let Self { streets, matching, away, persons, events, mut shaper, mut summary, .. } = self;
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
        let mut matcher = Matcher::new(streets, matching);
        let mut found = Vec::new();
        let mut before: Option<Positioned> = None;
        for event in events {
            let event = event.map_err(PrepareError::from)?;
            if let Some(last) = before.filter(|last| last.person != event.person) {
                matcher.finish(&mut found);
                let mut give = |which: Which, states: &[StateId]| give(last.person, which, states);
                shape(&mut found, away, &mut shaper, &mut summary, &mut give)?;
                shaper.person_over(&mut summary, &mut give)?;
            }
            let same = |last: &Positioned| Positioned { order: event.order, ..*last } == event;
            if before.replace(event).is_some_and(|last| same(&last)) {
                summary.repeats += 1;
                continue;
            }
            let place = Coordinates::new(event.latitude, event.longitude).unwrap_or_default();
            matcher.push(Position { moment: event.time, place }, &mut found);
            let mut give = |which: Which, states: &[StateId]| give(event.person, which, states);
            shape(&mut found, away, &mut shaper, &mut summary, &mut give)?;
        }
        if let Some(last) = before {
            matcher.finish(&mut found);
            let mut give = |which: Which, states: &[StateId]| give(last.person, which, states);
            shape(&mut found, away, &mut shaper, &mut summary, &mut give)?;
            shaper.person_over(&mut summary, &mut give)?;
        }
        let counts = matcher.counts();
        if summary.events > 0 && counts.pieces == 0 {
            let (positions, within, swapped) = (summary.events, matching.radius, self.swapped);
            return Err(PrepareError::NothingOnTheMap { positions, within, swapped }.into());
        }
        (summary.walks, summary.rows) = (walks, rows);
        (summary.outliers, summary.off_the_map) = (counts.outliers, counts.off_the_map);
        summary.states = self.labels.len() as u64;
        // Streets are passed between ticks all the time; what was left out there is no position.
        summary.between_ticks = 0;
        Ok(summary)
    }
}

/// Makes events of what was found.
fn shape<E>(
    found: &mut Vec<Found>,
    away: Option<StateId>,
    shaper: &mut Shaper,
    summary: &mut Summary,
    give: &mut impl FnMut(Which, &[StateId]) -> Result<(), E>,
) -> Result<(), E> {
    for found in found.drain(..) {
        let by_events = matches!(shaper, Shaper::Events(_));
        match found {
            Found::Begins { state, moment } => {
                let goes_on = shaper.last_state().is_some_and(|last| Some(last) == away);
                if !goes_on {
                    shaper.interrupt(summary, give)?;
                }
                shaper.event(Moment(moment), state, summary, give)?;
            }
            Found::TurnsBack { state, moment } => {
                shaper.interrupt(summary, give)?;
                shaper.event(Moment(moment), state, summary, give)?;
            }
            Found::Enters { state, moment } => {
                shaper.event(Moment(moment), state, summary, give)?;
            }
            Found::Stays { state, moment } if !by_events => {
                shaper.event(Moment(moment), state, summary, give)?;
            }
            Found::Stays { .. } => {}
            Found::Leaves { moment } => {
                if let Some(away) = away {
                    shaper.event(Moment(moment), away, summary, give)?;
                }
            }
        }
    }
    Ok(())
}
