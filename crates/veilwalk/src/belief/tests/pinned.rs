//! The bits of beliefs, which decide what is released: the same on every machine and in every version.

use super::*;
use crate::chain::Grid;
use crate::mechanism::{Mechanism, ObservationSpace, Predicted, Preset, Promise};

/// A chain of 150 states with some twenty moves each.
pub(super) fn scattered() -> Arc<Model> {
    scattered_by(|share| 1.0 + (1000.0 * share).floor())
}

fn grid() -> Arc<Model> {
    let side = 17.try_into().unwrap();
    let chain = Chain::grid(Grid { width: side, height: side, seed: 5 }).unwrap();
    let states = chain.len();
    model_starting(chain, &vec![1.0; states])
}

/// A digest of all beliefs and released states of a walk whose observations come without pattern.
fn digest(model: &Arc<Model>, epsilon: &str, tracking: Tracking) -> String {
    let promise = Promise::within_radius(epsilon.parse().unwrap(), "1".parse().unwrap());
    let mechanism = Mechanism::new(model.clone(), Preset::Tight.design(), promise).unwrap();
    let observation = mechanism.observation().unwrap();
    let mut run = Run::new(model, tracking, Tracker::PRUNED_BELOW);
    let mut space = ObservationSpace::default();
    let (mut next, mut logs) = (numbers(6), Vec::new());
    let mut hasher = blake3::Hasher::new();
    for _ in 0..60 {
        let predicted = run.track.predicted(&run.tracker, &mut run.space);
        let predicted = Predicted { states: predicted.states(), masses: predicted.masses() };
        let observed = StateId::new((next() * model.chain().len() as f64) as usize);
        let reals = predicted.states;
        observation.fill_log_likelihoods(predicted, observed.into(), reals, &mut space, &mut logs);
        run.track.observe(&run.tracker, &logs, &mut run.space, &mut run.released);
        let belief = &run.track.belief;
        for (state, mass) in belief.states().iter().zip(belief.masses()) {
            hasher.update(&(state.index() as u64).to_le_bytes());
            hasher.update(&mass.to_bits().to_le_bytes());
        }
    }
    run.finish();
    run.released.iter().for_each(|state| {
        hasher.update(&(state.index() as u64).to_le_bytes());
    });
    hasher.finalize().to_hex()[..16].to_owned()
}

#[test]
fn beliefs_have_the_bits_that_were_pinned() {
    let mut found = Vec::new();
    for model in [credit(), grid(), scattered()] {
        for (epsilon, lag) in [("0.5", 0), ("1", 2), ("3", 0)] {
            found.push(digest(&model, epsilon, with_lag(lag)));
        }
    }
    assert_eq!(found, PINS);
}

/// Beliefs are the same whatever answers are to be good at.
#[test]
fn walks_that_look_ahead_have_the_bits_that_were_pinned() {
    let mut found = Vec::new();
    for model in [credit(), grid(), scattered()] {
        for (aim, lag) in [(TrackAim::StatesAhead, 0), (TrackAim::DistanceAhead, 2)] {
            found.push(digest(&model, "3", Tracking { aim, ..with_lag(lag) }));
        }
    }
    assert_eq!(found, PINS_AHEAD);
}

const PINS_AHEAD: [&str; 6] = [
    "de40b410c28c2139",
    "5f7b4d61956b05b9",
    "959fadaf2e60814f",
    "6c172469af38949b",
    "3858d45ae81e8a76",
    "e97b72b11d807dd6",
];

const PINS: [&str; 9] = [
    "be93ad6eeeb92f9b",
    "6dc1ba1df08db03a",
    "3570ec9fddf9b65c",
    "809e5e0c019ac4ee",
    "6b4f8983843bb493",
    "cbef397f1e0f4344",
    "166be72fde89273d",
    "60bc6d7258fe6673",
    "ff58022163259fb8",
];
