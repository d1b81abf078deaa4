//! Events or positions, taken one by one, and in order.

use veilwalk_prepare::{
    AddError, Event, PositionPreparation, Preparation, PrepareError, Settings, SortedPositions,
    Summary, Walk,
};
use veilwalk_roads::{MatchSettings, Streets};

/// Takes events, or positions on a map.
pub(super) enum Taking<'s> {
    Events(Box<Preparation>),
    Positions(Box<PositionPreparation<'s>>, &'s Streets),
}

/// All of them, by person and time.
pub(super) enum Sorted<'s> {
    Events(Box<veilwalk_prepare::Sorted>),
    Positions(Box<SortedPositions<'s>>, &'s Streets),
}

impl<'s> Taking<'s> {
    pub(super) fn new(
        settings: Settings,
        map: Option<(&'s Streets, MatchSettings)>,
        away: Option<String>,
    ) -> Self {
        match map {
            None => Self::Events(Box::new(Preparation::new(settings))),
            Some((streets, matching)) => {
                let taking = PositionPreparation::new(settings, streets, matching, away);
                Self::Positions(Box::new(taking), streets)
            }
        }
    }

    pub(super) fn add(&mut self, event: Event<'_>) -> Result<(), AddError> {
        match self {
            Self::Events(events) => events.add(event),
            Self::Positions(positions, _) => positions.add(event),
        }
    }

    pub(super) fn finish(self) -> Result<Sorted<'s>, PrepareError> {
        Ok(match self {
            Self::Events(events) => Sorted::Events(Box::new(events.finish()?)),
            Self::Positions(positions, streets) => {
                Sorted::Positions(Box::new(positions.finish()?), streets)
            }
        })
    }
}

impl Sorted<'_> {
    pub(super) fn labels(&self) -> &[String] {
        match self {
            Self::Events(events) => events.labels(),
            Self::Positions(positions, _) => positions.labels(),
        }
    }

    /// What people call each state; nothing for those that are on no map.
    pub(super) fn names(&self) -> Vec<String> {
        match self {
            Self::Events(events) => vec![String::new(); events.labels().len()],
            Self::Positions(positions, streets) => {
                let chain = streets.chain();
                let mut names: Vec<String> =
                    chain.states().map(|state| streets.name(state).to_owned()).collect();
                names.resize(positions.labels().len(), String::new());
                names
            }
        }
    }

    pub(super) fn persons(&self) -> u64 {
        match self {
            Self::Events(events) => events.persons(),
            Self::Positions(positions, _) => positions.persons(),
        }
    }

    pub(super) fn each_walk<E: From<PrepareError>>(
        self,
        take: impl FnMut(Walk<'_>) -> Result<(), E>,
    ) -> Result<Summary, E> {
        match self {
            Self::Events(events) => events.each_walk(take),
            Self::Positions(positions, _) => positions.each_walk(take),
        }
    }
}
