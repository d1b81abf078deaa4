//! Where walks begin and end: the posterior of the first and the last state together.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::Sample;
use super::expected::Weights;
use crate::belief::{Moves, Seen};
use crate::chain::StateId;
use crate::inference::posterior::InferenceSpace;
use crate::inference::{Inference, Law};
use crate::outcome::Outcome;
use crate::watch::{Stage, Stopped, Watch, report};

/// The expected number of walks from each first state to each last one.
pub type Trips = BTreeMap<(StateId, StateId), f64>;

/// First states with less than this part of the largest probability are left out on chains that are not small.
const LEAST_ORIGIN: f64 = 1e-4;

/// The expected number of walks from each first state to each last one, under this law of real walks. Each walk counts as
/// often as its weight says.
///
/// # Errors
///
/// If the watcher asks to stop.
///
/// # Panics
///
/// If there is not one weight for each walk.
///
/// # Complexity
///
/// As many passes over each walk as it has likely first states.
pub fn trips(
    samples: &[Sample<'_>],
    weights: &Weights,
    law: &Law,
    watch: Watch<'_>,
) -> Result<Trips, Stopped> {
    weights.check(samples);
    const WALKS_AT_A_TIME: usize = 256;
    let total: usize = samples.iter().map(|sample| sample.walks.len()).sum();
    let (mut all, mut done) = (Trips::new(), 0);
    for (sample, weights) in samples.iter().zip(&weights.of_walks) {
        let groups = sample.walks.chunks(WALKS_AT_A_TIME).zip(weights.chunks(WALKS_AT_A_TIME));
        for (walks, weights) in groups {
            report(watch, Stage::Inference, done, total)?;
            let of_walk = |space: &mut InferenceSpace, (drawn, &weight): (&Vec<_>, &u32)| {
                if weight == 0 { Vec::new() } else { of_walk(sample.inference, law, drawn, space) }
            };
            let found: Vec<Vec<((StateId, StateId), f64)>> =
                walks.par_iter().zip(weights).map_init(InferenceSpace::default, of_walk).collect();
            for (trips, &weight) in found.into_iter().zip(weights) {
                for (ends, probability) in trips {
                    *all.entry(ends).or_default() += f64::from(weight) * probability;
                }
            }
            done += walks.len();
        }
    }
    Ok(all)
}

fn of_walk(
    inference: &Inference,
    law: &Law,
    drawn: &[Outcome],
    space: &mut InferenceSpace,
) -> Vec<((StateId, StateId), f64)> {
    let seen = inference.filter(law, drawn, space).seen;
    let mut smoothed = seen.clone();
    crate::belief::smooth(law, &mut smoothed, &mut space.beliefs, |_, _, _| ());
    let first = &smoothed[0].belief;
    let largest = first.masses().iter().copied().fold(0.0, f64::max);
    let least = if law.states() <= Inference::SMALL { 0.0 } else { LEAST_ORIGIN * largest };
    let origins = first.states().iter().zip(first.masses());
    let origins: Vec<_> = origins.filter(|(_, mass)| **mass > least).collect();
    let kept: f64 = origins.iter().map(|(_, mass)| **mass).sum();
    let mut trips = Vec::new();
    let mut sums = vec![0.0; law.states()];
    for (&origin, &mass) in origins {
        let last = ends_from(law, &seen, origin, &mut sums);
        trips.extend(last.into_iter().map(|(end, share)| ((origin, end), share * mass / kept)));
    }
    trips
}

/// The law of the last state of a walk that began at this one, given what was released.
fn ends_from(law: &Law, seen: &[Seen], origin: StateId, sums: &mut [f64]) -> Vec<(StateId, f64)> {
    // Forward from one state; what was dropped for the whole walk stays dropped.
    let mut here = vec![(origin, 1.0)];
    for (earlier, step) in seen.iter().zip(&seen[1..]) {
        debug_assert!(!earlier.belief.states().is_empty());
        for &(from, mass) in &here {
            for (to, probability) in law.targets(from).iter().zip(law.probabilities(from)) {
                sums[to.index()] += mass * probability;
            }
        }
        let weighed = step.belief.states().iter().zip(&step.factors);
        let next: Vec<(StateId, f64)> = weighed
            .map(|(&state, factor)| (state, sums[state.index()] * factor))
            .filter(|(_, mass)| *mass > 0.0)
            .collect();
        for &(from, _) in &here {
            law.targets(from).iter().for_each(|to| sums[to.index()] = 0.0);
        }
        let total: f64 = next.iter().map(|(_, mass)| mass).sum();
        if next.is_empty() {
            return Vec::new();
        }
        here = next.into_iter().map(|(state, mass)| (state, mass / total)).collect();
    }
    here
}
