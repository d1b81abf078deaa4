//! What the behaviour tests share: random chains, and a test of sampled counts that keeps rare
//! outcomes.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::sync::Arc;

use proptest::prelude::*;
use veilwalk::chain::{ChainBuilder, Entries};
use veilwalk::mechanism::{Epsilon, Promise};
use veilwalk::{Chain, Design, Distance, Mechanism, Model, Preset, Rule, StateId};

pub(crate) fn credit() -> Arc<Model> {
    Arc::new(Model::new(Chain::credit()).unwrap())
}

pub(crate) fn state(model: &Model, label: &str) -> StateId {
    model.chain().require(label).unwrap()
}

/// A preset on the credit chain, in the unit it was published with.
pub(crate) fn preset(model: &Arc<Model>, preset: Preset, epsilon: &str, radius: &str) -> Mechanism {
    Mechanism::new(model.clone(), preset.design(), promise(preset, epsilon, radius)).unwrap()
}

pub(crate) fn promise(preset: Preset, epsilon: &str, radius: &str) -> Promise {
    let epsilon: Epsilon = epsilon.parse().unwrap();
    if preset.counts_substitutions() {
        Promise::for_substitutions(epsilon, 1.try_into().unwrap())
    } else {
        Promise::within_radius(epsilon, radius.parse().unwrap())
    }
}

pub(crate) fn radius(epsilon: &str, radius: &str) -> Promise {
    Promise::within_radius(epsilon.parse().unwrap(), radius.parse().unwrap())
}

/// A design with the exponential rule, the one of blocks.
pub(crate) fn exponential(distance: Distance, chain_weight: &str) -> Design {
    Design::of_moves(distance, Rule::Exponential, chain_weight.parse().unwrap())
}

pub(crate) fn blocks(
    model: &Arc<Model>,
    design: Design,
    promise: Promise,
    length: &str,
) -> Mechanism {
    Mechanism::in_blocks(model.clone(), design, promise, length.parse().unwrap()).unwrap()
}

/// Irreducible chains with 2 to `most` states: a random cycle through all of them, then extra
/// transitions, among them self-loops, near-certain moves and near-impossible ones. States with a
/// single successor have probability one, and so distance zero to it.
pub(crate) fn random_chain(most: usize) -> impl Strategy<Value = Chain> {
    (2..=most)
        .prop_flat_map(|n| {
            let order = Just((0..n).collect::<Vec<_>>()).prop_shuffle();
            let entry = prop_oneof![
                4 => 0.05f64..1.0,
                1 => Just(1e-9),
                1 => Just(1e-300),
                1 => 1e3f64..1e9,
            ];
            let extra = proptest::collection::vec((0..n, 0..n, entry.clone()), 0..3 * n);
            (order, proptest::collection::vec(entry, n), extra)
        })
        .prop_map(|(order, along, extra)| {
            let n = order.len();
            let mut edges: std::collections::BTreeMap<(usize, usize), f64> =
                (0..n).map(|i| ((order[i], order[(i + 1) % n]), along[i])).collect();
            extra.into_iter().for_each(|(i, j, entry)| {
                edges.insert((i, j), entry);
            });
            let mut builder = ChainBuilder::new(Entries::Counts);
            let states: Vec<_> = (0..n).map(|i| builder.state(&format!("s{i}"))).collect();
            for ((i, j), entry) in edges {
                builder.transition(states[i], states[j], entry).unwrap();
            }
            builder.build(Default::default()).unwrap().0
        })
}

/// The chance, at most, that `seen` or something as far from the expectation comes up among `n`
/// draws of probability `p`: the Chernoff bound with the relative entropy, which holds for every
/// `p`, however rare.
pub(crate) fn chance_of(seen: u64, n: u64, p: f64) -> f64 {
    let (n, share) = (n as f64, seen as f64 / n as f64);
    let term = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a * (a / b).ln() };
    let exponent = n * (term(share, p) + term(1.0 - share, 1.0 - p));
    (-exponent).exp().min(1.0)
}

/// The mean of a sample, and its standard error.
pub(crate) fn mean_and_error(sample: &[f64]) -> (f64, f64) {
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    let variance = sample.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// A fixed chain without pattern: a cycle through all states, `degree - 1` more transitions from
/// each, and probabilities that differ by up to a factor of a thousand.
pub(crate) fn scattered_chain(states: usize, degree: usize, seed: u64) -> Chain {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    let mut next = move || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize
    };
    let mut builder = ChainBuilder::new(Entries::Counts);
    let ids: Vec<_> = (0..states).map(|i| builder.state(&format!("s{i}"))).collect();
    for i in 0..states {
        let mut to = std::collections::BTreeSet::from([(i + 1) % states]);
        while to.len() < degree {
            to.insert(next() % states);
        }
        for j in to {
            let entry = 10f64.powf((next() % 300) as f64 / 100.0);
            builder.transition(ids[i], ids[j], entry).unwrap();
        }
    }
    builder.build(Default::default()).unwrap().0
}
