//! Positions to walks along the streets of a map.
//!
//! Positions are sorted as events are, then matched to streets one person after another, and what is found makes walks as events do.
//! Without a clock a walk has a state for every street that was passed, and every one of its moves is a move of the chain: where
//! nobody knows how somebody went on, or somebody turned back in the middle of a street, another walk begins. With a clock the
//! state of a tick is the street at that moment.

use veilwalk::StateId;
use veilwalk::chain::{Coordinates, CoordinatesError};
use veilwalk_roads::{Found, MatchSettings, Matcher, Position, Streets};

use crate::error::{EventError, PrepareError};
use crate::moment::{Moment, SECOND, shortened};
use crate::names::Names;
use crate::preparation::{AddError, Entry, EventAt};
use crate::settings::Settings;
use crate::shape::{Output, Shaper};
use crate::sorter::{InOrder, Positioned, Sorter};

/// Takes positions in any order.
#[derive(Debug)]
pub(crate) struct Positions<'s> {
    pub(crate) map: Map<'s>,
    sorter: Sorter<Positioned>,
}

/// The streets that positions are matched to.
#[derive(Debug)]
pub(crate) struct Map<'s> {
    pub(crate) streets: &'s Streets,
    matching: MatchSettings,
    /// The state of whoever is on no street.
    pub(crate) away: Option<String>,
    /// How many positions lie between the outermost points of the map once their two angles are exchanged. Those that are a
    /// little off a street at the edge need not.
    swapped: u64,
}

impl<'s> Positions<'s> {
    pub(crate) fn new(
        settings: &Settings,
        streets: &'s Streets,
        matching: MatchSettings,
        away: Option<String>,
    ) -> Self {
        let map = Map { streets, matching, away, swapped: 0 };
        Self { map, sorter: Sorter::new(settings.limits.memory) }
    }

    pub(crate) fn add(
        &mut self,
        at: EventAt<'_>,
        Entry { time, order, person }: Entry,
    ) -> Result<(), AddError> {
        let place = match at {
            EventAt::Position { latitude, longitude } => place(latitude, longitude)?,
            EventAt::State(_) => {
                return Err(EventError::OtherPlace { found: "a state", before: "positions" }.into());
            }
        };
        let (latitude, longitude) = (place.latitude(), place.longitude());
        let swapped = Coordinates::new(longitude, latitude);
        self.map.swapped += u64::from(swapped.is_ok_and(|place| self.map.streets.surround(place)));
        let position = Positioned { time: time.0, order, person, latitude, longitude, unused: 0 };
        self.sorter.push(position).map_err(PrepareError::from)?;
        Ok(())
    }

    /// The map, the labels of its states, and the positions in order.
    pub(crate) fn finish(self) -> Result<(Map<'s>, Names, InOrder<Positioned>), PrepareError> {
        let chain = self.map.streets.chain();
        let mut labels = Names::default();
        for state in chain.states() {
            labels.number(chain.label(state));
        }
        Ok((self.map, labels, self.sorter.finish()?))
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

impl Map<'_> {
    /// Makes walks of positions in order. Whoever is on no street is in the state `away`.
    pub(crate) fn shape<E: From<PrepareError>>(
        &self,
        positions: InOrder<Positioned>,
        away: Option<StateId>,
        gap: Option<u64>,
        shaper: &mut Shaper,
        out: &mut Output<'_, E>,
    ) -> Result<(), E> {
        let microseconds = |seconds| i64::try_from(seconds).ok()?.checked_mul(SECOND);
        let matching = MatchSettings { gap: gap.and_then(microseconds), ..self.matching };
        let mut matcher = Matcher::new(self.streets, matching);
        let mut found = Vec::new();
        let mut before: Option<Positioned> = None;
        for position in positions {
            let position = position.map_err(PrepareError::from)?;
            if before.is_some_and(|last| last.person != position.person) {
                matcher.finish(&mut found);
                shape_found(&mut found, away, shaper, out)?;
                shaper.person_over(out)?;
            }
            out.person = position.person;
            let same = |last: Positioned| Positioned { order: position.order, ..last } == position;
            if before.replace(position).is_some_and(same) {
                out.summary.repeats += 1;
                continue;
            }
            let place = Coordinates::new(position.latitude, position.longitude).unwrap_or_default();
            matcher.push(Position { moment: position.time, place }, &mut found);
            shape_found(&mut found, away, shaper, out)?;
        }
        if before.is_some() {
            matcher.finish(&mut found);
            shape_found(&mut found, away, shaper, out)?;
            shaper.person_over(out)?;
        }
        let counts = matcher.counts();
        if out.summary.events > 0 && counts.pieces == 0 {
            let (positions, within) = (out.summary.events, matching.radius);
            let swapped = 2 * self.swapped > positions;
            return Err(PrepareError::NothingOnTheMap { positions, within, swapped }.into());
        }
        (out.summary.outliers, out.summary.off_the_map) = (counts.outliers, counts.off_the_map);
        // Streets are passed between ticks all the time; what was left out there is no position.
        out.summary.between_ticks = 0;
        Ok(())
    }
}

/// Makes events of what was found.
fn shape_found<E>(
    found: &mut Vec<Found>,
    away: Option<StateId>,
    shaper: &mut Shaper,
    out: &mut Output<'_, E>,
) -> Result<(), E> {
    for found in found.drain(..) {
        let by_events = matches!(shaper, Shaper::Events(_));
        match found {
            Found::Begins { state, moment } => {
                let goes_on = shaper.last_state().is_some_and(|last| Some(last) == away);
                if !goes_on {
                    shaper.interrupt(out)?;
                }
                shaper.event(Moment(moment), state, out)?;
            }
            Found::TurnsBack { state, moment } => {
                shaper.interrupt(out)?;
                shaper.event(Moment(moment), state, out)?;
            }
            Found::Enters { state, moment } => {
                shaper.event(Moment(moment), state, out)?;
            }
            Found::Stays { state, moment } if !by_events => {
                shaper.event(Moment(moment), state, out)?;
            }
            Found::Stays { .. } => {}
            Found::Leaves { moment } => {
                if let Some(away) = away {
                    shaper.event(Moment(moment), away, out)?;
                }
            }
        }
    }
    Ok(())
}
