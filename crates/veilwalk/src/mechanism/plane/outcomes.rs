//! How outcomes are written and read.

use std::borrow::Cow;

use super::Chart;
use crate::chain::{Chain, StateId};
use crate::distance::GroundError;
use crate::mechanism::{Candidates, Mechanism, Observation};
use crate::outcome::{Outcome, Sight};

/// The words for what a mechanism draws: labels of states, or places on the earth.
#[derive(Clone, Copy, Debug)]
pub struct Outcomes<'c> {
    chain: &'c Chain,
    chart: Option<Chart>,
}

impl<'c> Outcomes<'c> {
    /// Those of mechanisms with these candidates on a chain.
    ///
    /// # Errors
    ///
    /// If they are points on a plane, and the states of the chain have no places.
    pub fn of(chain: &'c Chain, candidates: Candidates) -> Result<Self, GroundError> {
        let chart = match candidates {
            Candidates::Plane => Some(Chart::of(chain)?),
            Candidates::Moves | Candidates::States(_) | Candidates::Believed(_) => None,
        };
        Ok(Self { chain, chart })
    }

    /// Where points lie on the earth, where points are drawn.
    #[must_use]
    pub fn chart(&self) -> Option<&Chart> {
        self.chart.as_ref()
    }

    /// An outcome as it is written.
    ///
    /// # Panics
    ///
    /// If it is none of the mechanism's.
    #[must_use]
    pub fn text(&self, outcome: Outcome) -> Cow<'c, str> {
        match (outcome.sight(), self.chart) {
            (Sight::State(state), _) => self.chain.label(state).into(),
            (Sight::Point(point), Some(chart)) => chart.text(point).into(),
            (Sight::Point(_), None) => panic!("a point where states are drawn"),
        }
    }

    /// The outcome that a text stands for; `None` if it stands for none. Where points are drawn it may be a state as
    /// well, as a first one that was not observed.
    #[must_use]
    pub fn read(&self, text: &str) -> Option<Outcome> {
        let point = self.chart.and_then(|chart| chart.read(text)).map(Outcome::of_point);
        point.or_else(|| self.chain.state(text).map(Outcome::from))
    }

    /// Latitude and longitude of an outcome in degrees; `None` for a state without coordinates.
    #[must_use]
    pub fn degrees(&self, outcome: Outcome) -> Option<(f64, f64)> {
        match outcome.sight() {
            Sight::State(state) => self.degrees_of(state),
            Sight::Point(point) => self.chart.map(|chart| chart.degrees(point)),
        }
    }

    fn degrees_of(&self, state: StateId) -> Option<(f64, f64)> {
        let coordinates = self.chain.places()?.coordinates.as_ref()?;
        Some(coordinates.get(state.index())?.degrees())
    }
}

impl Mechanism {
    /// How what it draws is written and read.
    #[must_use]
    pub fn outcomes(&self) -> Outcomes<'_> {
        Outcomes { chain: self.model().chain(), chart: self.chart() }
    }

    /// Where the points that it draws lie on the earth, if it draws points.
    #[must_use]
    pub fn chart(&self) -> Option<Chart> {
        self.observation().and_then(Observation::plane).map(|plane| plane.chart())
    }
}
