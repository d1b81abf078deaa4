//! How a feasible walk is made from observations: public choices, at no cost in privacy.

use std::fmt;
use std::str::FromStr;

use super::design::{UnknownName, named};
use crate::model::{LookAheadError, Model};
use crate::rational::Rational;
use crate::watch::Watch;

/// What a tracked walk is to be good at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TrackAim {
    /// Little distance between the released and the real state: the symmetric distance, in nats.
    #[default]
    Distance,
    /// Few released states that are not the real one.
    States,
    /// Little distance at this step and those to come: no answers from where the walk cannot be followed.
    DistanceAhead,
    /// The same for few wrong states.
    StatesAhead,
}

named!(TrackAim, "track aim",
    Distance => "distance",
    States => "states",
    DistanceAhead => "distance-ahead",
    StatesAhead => "states-ahead",
);

impl TrackAim {
    /// The same with a look ahead.
    #[must_use]
    pub const fn ahead(self) -> Self {
        match self {
            Self::Distance | Self::DistanceAhead => Self::DistanceAhead,
            Self::States | Self::StatesAhead => Self::StatesAhead,
        }
    }

    /// Whether answers are judged by the steps to come as well.
    #[must_use]
    pub const fn looks_ahead(self) -> bool {
        matches!(self, Self::DistanceAhead | Self::StatesAhead)
    }
}

/// How a feasible walk is made from what was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tracking {
    /// What it is to be good at.
    pub aim: TrackAim,
    /// What one nat of a move's own weight `-ln P` counts for, in nats of distance or in wrong states:
    /// the more, the more typical the walk is.
    pub gamma: Rational,
    /// How many more steps are observed before a step is answered.
    pub lag: u32,
}

impl Tracking {
    /// The typicality that walks are given unless someone says otherwise: one part in a hundred.
    pub const DEFAULT_GAMMA: Rational = match Rational::new(1, 100) {
        Some(gamma) => gamma,
        None => Rational::ZERO,
    };
}

impl Tracking {
    /// Makes what answers that look ahead go by, unless the model has it.
    ///
    /// # Errors
    ///
    /// If the chain is too large, or the watcher asks to stop.
    pub(crate) fn prepare(self, model: &Model, watch: Watch<'_>) -> Result<(), LookAheadError> {
        match self.aim {
            TrackAim::Distance | TrackAim::States => Ok(()),
            TrackAim::DistanceAhead => model.distance_ahead(watch).map(drop),
            TrackAim::StatesAhead => model.states_ahead(watch).map(drop),
        }
    }
}

impl Default for Tracking {
    /// For little distance, without a lag.
    fn default() -> Self {
        Self { aim: TrackAim::Distance, gamma: Self::DEFAULT_GAMMA, lag: 0 }
    }
}
