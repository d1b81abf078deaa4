//! What the tests of beliefs share: random chains, and random likelihoods, sensible and not.

mod answers;
mod dense;
mod enumeration;
mod odd;
mod pinned;
mod pruning;
mod saving;
mod whole;

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::filter::Belief;
use super::parts::TrackParts;
use super::track::{Standing, Track};
use super::{BeliefSpace, Tracker};
use crate::chain::{Chain, ChainBuilder, Entries, Initial, StateId};
use crate::mechanism::{TrackAim, Tracking};
use crate::model::Model;

/// How different the probabilities of a random chain may be.
#[derive(Clone, Copy, Debug)]
enum Contrast {
    /// None is so small that products of six of them come near the end of what doubles hold.
    Moderate,
    /// Some are next to nothing.
    Extreme,
}

/// Irreducible chains of 2 to `most` states with any initial distribution: a random cycle, then more
/// moves, among them self-loops. States with a single successor occur.
fn chains(most: usize, contrast: Contrast) -> impl Strategy<Value = Arc<Model>> {
    let entry = match contrast {
        Contrast::Moderate => prop_oneof![4 => 0.05f64..1.0, 1 => Just(1e-9)].boxed(),
        Contrast::Extreme => {
            prop_oneof![3 => 0.05f64..1.0, 1 => Just(1e-200), 1 => Just(1e-300), 1 => Just(1e9)]
                .boxed()
        }
    };
    (2..=most)
        .prop_flat_map(move |n| {
            let order = Just((0..n).collect::<Vec<_>>()).prop_shuffle();
            let extra = vec((0..n, 0..n, entry.clone()), 0..3 * n);
            let start = vec(prop_oneof![2 => Just(0.0), 3 => 0.01f64..1.0], n);
            (order, vec(entry.clone(), n), extra, start)
        })
        .prop_map(|(order, along, extra, start)| {
            let n = order.len();
            let mut moves: BTreeMap<(usize, usize), f64> =
                (0..n).map(|i| ((order[i], order[(i + 1) % n]), along[i])).collect();
            moves.extend(extra.into_iter().map(|(i, j, entry)| ((i, j), entry)));
            let mut builder = ChainBuilder::new(Entries::Counts);
            let states: Vec<_> = (0..n).map(|i| builder.state(&format!("s{i}"))).collect();
            for ((i, j), entry) in moves {
                builder.transition(states[i], states[j], entry).unwrap();
            }
            let chain = builder.build(Default::default()).unwrap().0;
            model_starting(chain, &start)
        })
}

/// A model of the chain that starts in proportion to these numbers, or anywhere if all are zero.
fn model_starting(chain: Chain, start: &[f64]) -> Arc<Model> {
    let total: f64 = start.iter().sum();
    let shares: Vec<_> = start.iter().map(|share| share / total).collect();
    let initial = match total > 0.0 {
        true => Initial::from_probabilities(&chain, &shares).unwrap(),
        false => Initial::uniform(chain.len()),
    };
    Arc::new(Model::new(chain.with_initial(initial)).unwrap())
}

fn credit() -> Arc<Model> {
    model_starting(Chain::credit(), &[1.0; 9])
}

/// Log-likelihoods of up to six observations for states below `most`; some of them impossible.
fn sensible(most: usize) -> impl Strategy<Value = Vec<Vec<f64>>> {
    let log = prop_oneof![6 => -20.0f64..5.0, 1 => Just(f64::NEG_INFINITY)];
    vec(vec(log, most), 1..=6)
}

/// Whatever may come: mostly impossible, beyond what an exponential can hold, not even numbers.
fn senseless(most: usize) -> impl Strategy<Value = Vec<Vec<f64>>> {
    let log = prop_oneof![
        6 => Just(f64::NEG_INFINITY),
        3 => -1000.0f64..1000.0,
        1 => prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(1e308), Just(-1e308)],
    ];
    vec(vec(log, most), 1..=20)
}

/// The entries for these states.
fn of(states: &[StateId], dense: &[f64]) -> Vec<f64> {
    states.iter().map(|state| dense[state.index()]).collect()
}

/// Follows one walk by log-likelihoods for all states.
struct Run {
    tracker: Tracker,
    track: Track,
    space: BeliefSpace,
    released: Vec<StateId>,
}

impl Run {
    fn new(model: &Arc<Model>, tracking: Tracking, threshold: f64) -> Self {
        let tracker = Tracker::new(model.clone(), tracking).with_threshold(threshold);
        let (track, space) = (Track::new(), BeliefSpace::default());
        Self { tracker, track, space, released: Vec::new() }
    }

    /// One step. Gives what was predicted.
    fn observe(&mut self, logs: &[f64]) -> Belief {
        let predicted = self.track.predicted(&self.tracker, &mut self.space).clone();
        let logs = of(predicted.states(), logs);
        self.track.observe(&self.tracker, &logs, &mut self.space, &mut self.released);
        predicted
    }

    fn finish(&mut self) {
        self.track.finish(&self.tracker, &mut self.space, &mut self.released);
    }
}

fn with_lag(lag: u32) -> Tracking {
    Tracking { lag, ..Tracking::default() }
}

/// A chain of 150 states with some twenty moves each, whose counts are made of numbers in [0, 1).
fn scattered_by(count: impl Fn(f64) -> f64) -> Arc<Model> {
    let mut next = numbers(4);
    let mut builder = ChainBuilder::new(Entries::Counts);
    let ids: Vec<_> = (0..150).map(|i| builder.state(&i.to_string())).collect();
    for i in 0..150 {
        for j in 0..150 {
            if j == (i + 1) % 150 || next() < 0.15 {
                builder.transition(ids[i], ids[j], count(next())).unwrap();
            }
        }
    }
    model_starting(builder.build(Default::default()).unwrap().0, &[1.0; 150])
}

/// Numbers without pattern in [0, 1), the same everywhere.
fn numbers(mut seed: u64) -> impl FnMut() -> f64 {
    move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    }
}
