//! How a feasible walk is made from observations: public choices, at no cost in privacy.

use std::fmt;
use std::str::FromStr;

use super::design::{UnknownName, named};
use crate::rational::Rational;

/// What a tracked walk is to be good at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TrackAim {
    /// Little distance between the released and the real state: the symmetric distance, in nats.
    #[default]
    Distance,
    /// Few released states that are not the real one.
    States,
}

named!(TrackAim, "track aim",
    Distance => "distance",
    States => "states",
);

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

impl Default for Tracking {
    /// For little distance, without a lag.
    fn default() -> Self {
        Self { aim: TrackAim::Distance, gamma: Self::DEFAULT_GAMMA, lag: 0 }
    }
}
