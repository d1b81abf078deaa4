//! An estimate with everything that is asked of it: shares, and how sure they are.

use super::intervals::shares;
use super::{
    Estimate, EstimateError, EstimateSettings, Interval, IntervalSettings, Intervals, Sample,
    Trips, Weights, WithTrips, estimate, intervals, trips,
};
use crate::chain::StateId;
use crate::watch::Watch;

/// What is asked of an estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EstimateInquiry {
    /// How it is made.
    pub settings: EstimateSettings,
    /// Whether first and last states together are wanted.
    pub trips: WithTrips,
    /// How intervals are made, if they are; whether trips get some is up to `trips` above.
    pub intervals: Option<IntervalSettings>,
}

/// The share of something among all of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share<T> {
    /// What it is the share of.
    pub of: T,
    /// The share.
    pub share: f64,
    /// Where the crowd's share probably lies, if that was asked for.
    pub interval: Option<Interval>,
}

/// What a crowd did, in shares.
#[derive(Clone, Debug)]
pub struct Learned {
    /// The estimate they follow from.
    pub estimate: Estimate,
    /// For each state.
    pub visits: Vec<Share<StateId>>,
    /// For each move of the law.
    pub moves: Vec<Share<(StateId, StateId)>>,
    /// For first and last states together, without what less than one walk in a million does.
    pub trips: Vec<Share<(StateId, StateId)>>,
}

/// Shares below this are left out of trips: there may be a square of the states of them.
const LEAST_TRIP: f64 = 1e-6;

/// Learns what the crowd did, beginning with the law of the first sample's inference, and answers what is asked.
///
/// # Errors
///
/// As [`estimate`](fn@estimate).
pub fn learn(
    samples: &[Sample<'_>],
    inquiry: EstimateInquiry,
    watch: Watch<'_>,
) -> Result<Learned, EstimateError> {
    let EstimateInquiry { settings, trips: with_trips, intervals: how } = inquiry;
    let found = estimate(samples, settings, watch)?;
    let ends = match with_trips {
        WithTrips::Yes => trips(samples, &Weights::one_each(samples), found.law(), watch)?,
        WithTrips::No => Trips::new(),
    };
    let how = how.map(|how| IntervalSettings { trips: with_trips, ..how });
    let sure =
        how.map(|how| intervals(samples, &found, &ends, settings, how, watch)).transpose()?;
    Ok(Learned::with(found, &ends, sure))
}

impl Learned {
    /// The shares of an estimate, without trips and intervals.
    #[must_use]
    pub fn of(estimate: Estimate) -> Self {
        Self::with(estimate, &Trips::new(), None)
    }

    fn with(estimate: Estimate, ends: &Trips, sure: Option<Intervals>) -> Self {
        let [visits, moves, trips] = match sure {
            None => [None, None, None],
            Some(Intervals { visits, moves, trips }) => [Some(visits), Some(moves), Some(trips)],
        };
        let states = (0..estimate.expected().visits().len()).map(StateId::new);
        let visits = of(states, estimate.expected().visits(), visits);
        let moves = of(estimate.law().all_moves(), estimate.expected().moves(), moves);
        let counts: Vec<f64> = ends.values().copied().collect();
        let mut trips = of(ends.keys().copied(), &counts, trips);
        trips.retain(|trip| trip.share >= LEAST_TRIP);
        Self { estimate, visits, moves, trips }
    }
}

fn of<T>(
    what: impl Iterator<Item = T>,
    counts: &[f64],
    intervals: Option<Vec<Interval>>,
) -> Vec<Share<T>> {
    let interval = |place: usize| intervals.as_ref().map(|all| all[place]);
    let each = what.zip(shares(counts)).enumerate();
    each.map(|(place, (of, share))| Share { of, share, interval: interval(place) }).collect()
}
