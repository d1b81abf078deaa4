//! Against every real walk there can be, for every mechanism and start.

mod estimates;
mod posteriors;
mod refining;

use std::sync::Arc;

use proptest::prelude::*;

use super::estimate::{EstimateSettings, IntervalSettings, Sample, WithTrips};
use super::*;
use crate::belief::smooth;
use crate::chain::{ChainBuilder, Entries, StateId};
use crate::mechanism::{Candidates, LeastShare, Preset, Promise, Tracking};
use crate::model::Model;
use crate::outcome::Outcome;
use crate::random::{Source, Words};
use crate::session::follower::log_law_of_observations;
use crate::session::{Releaser, Walker};
use crate::watch::unwatched;

fn credit() -> Arc<Model> {
    Arc::new(Model::new(Chain::credit()).unwrap())
}

fn within(epsilon: &str, radius: &str) -> Promise {
    Promise::within_radius(epsilon.parse().unwrap(), radius.parse().unwrap())
}

fn words(seed: u64) -> impl Words {
    Source::seeded(seed).words_for_tests()
}

/// A walk of a chain, from this state or from a state of its initial distribution.
fn own_walk(
    chain: &Chain,
    from: Option<StateId>,
    steps: usize,
    words: &mut impl Words,
) -> Vec<StateId> {
    let mut walk = vec![from.unwrap_or_else(|| chain.initial().draw(words))];
    for _ in 0..steps {
        let last = walk[walk.len() - 1];
        let mut left = (words.word() >> 11) as f64 * 2f64.powi(-53);
        let moves = chain.successors(last).iter().zip(chain.probabilities(last));
        let drawn = moves.map(|(&to, p)| (to, p)).find(|(_, p)| {
            left -= **p;
            left < 0.0
        });
        walk.push(drawn.map_or(chain.successors(last)[0], |(to, _)| to));
    }
    walk
}

fn drawn_for(mechanism: &Mechanism, start: Start, real: &[StateId], seed: u64) -> Vec<StateId> {
    let mut walker = Walker::new(mechanism);
    let released = walker.release(start, real, &mut words(seed));
    let observes = mechanism.observation().is_some();
    match observes {
        true => released.observed.iter().map(|outcome| outcome.state().unwrap()).collect(),
        false => released.states.clone(),
    }
}

/// Random chains of up to four states, any of the mechanisms.
fn small_chains() -> impl Strategy<Value = Arc<Model>> {
    (2usize..=4).prop_flat_map(|n| {
        let entry = prop_oneof![2 => Just(0.0), 3 => 0.02f64..1.0];
        proptest::collection::vec(entry, n * n).prop_map(move |entries| {
            let mut builder = ChainBuilder::new(Entries::Counts);
            let states: Vec<_> = (0..n).map(|i| builder.state(&format!("s{i}"))).collect();
            for i in 0..n {
                for j in 0..n {
                    let ring = if j == (i + 1) % n { 0.3 } else { 0.0 };
                    let entry = entries[i * n + j] + ring;
                    if entry > 0.0 {
                        builder.transition(states[i], states[j], entry).unwrap();
                    }
                }
            }
            Arc::new(Model::new(builder.build(Default::default()).unwrap().0).unwrap())
        })
    })
}

fn scattered(states: usize, degree: usize) -> Chain {
    let mut stream = words(17);
    let mut builder = ChainBuilder::new(Entries::Counts);
    let ids: Vec<_> = (0..states).map(|i| builder.state(&format!("s{i}"))).collect();
    for i in 0..states {
        builder.transition(ids[i], ids[(i + 1) % states], 1.0).unwrap();
        let mut taken = vec![(i + 1) % states];
        for _ in 1..degree {
            let j = (stream.word() % states as u64) as usize;
            if !taken.contains(&j) {
                taken.push(j);
                let u = (stream.word() >> 11) as f64 * 2f64.powi(-53);
                builder.transition(ids[i], ids[j], 0.2 + u).unwrap();
            }
        }
    }
    builder.build(Default::default()).unwrap().0
}

/// The probability of what was drawn, given a real walk, by the mechanism's own kernels.
fn log_law(mechanism: &Mechanism, start: Start, drawn: &[StateId], real: &[StateId]) -> f64 {
    let chain = mechanism.model().chain();
    let first = match start {
        Start::Private if mechanism.observation().is_some() => 0.0,
        Start::Private => mechanism.first_law(real[0]).unwrap()[drawn[0].index()].ln(),
        Start::Initial => chain.initial().probability(drawn[0]).ln(),
        Start::First if drawn[0] == real[0] => 0.0,
        Start::First => f64::NEG_INFINITY,
        Start::At(state) if drawn[0] == state => 0.0,
        Start::At(_) => f64::NEG_INFINITY,
    };
    let from = usize::from(!(start == Start::Private && mechanism.observation().is_some()));
    let steps = (from..drawn.len()).map(|t| {
        // The law of an observation over all states does not depend on the last one.
        let last = drawn[t.saturating_sub(1)];
        let candidates = mechanism.candidates(last);
        let place = candidates.binary_search(&drawn[t]).unwrap();
        mechanism.log_kernel(last, real[t])[place]
    });
    first + steps.sum::<f64>()
}

/// Every real walk with its share of the posterior.
fn every_walk(
    chain: &Chain,
    steps: usize,
    log_law: impl Fn(&[StateId]) -> f64,
) -> Vec<(Vec<StateId>, f64)> {
    let mut walks: Vec<(Vec<StateId>, f64)> =
        chain.states().map(|x| (vec![x], chain.initial().probability(x))).collect();
    for _ in 1..steps {
        let longer = walks.iter().flat_map(|(walk, weight)| {
            let last = *walk.last().unwrap();
            let moves = chain.successors(last).iter().zip(chain.probabilities(last));
            moves.map(move |(&to, p)| (walk.iter().copied().chain([to]).collect(), weight * p))
        });
        walks = longer.filter(|(_, weight): &(Vec<_>, f64)| *weight > 0.0).collect();
    }
    let logs: Vec<f64> = walks.iter().map(|(walk, _)| log_law(walk)).collect();
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for ((_, weight), log) in walks.iter_mut().zip(logs) {
        *weight *= (log - top).exp();
    }
    let total: f64 = walks.iter().map(|(_, weight)| weight).sum();
    walks.iter_mut().for_each(|(_, weight)| *weight /= total);
    walks
}
