//! Bounds have to hold: on random chains, against the exact figures.

mod common;

use std::sync::Arc;

use common::{credit, preset, random_chain, state};
use proptest::prelude::*;
use veilwalk::analysis::bounds::{EntropyBound, ErrorBound, TypicalityBound};
use veilwalk::analysis::drift::Drift;
use veilwalk::analysis::joint::{JointChain, KernelMemory};
use veilwalk::analysis::long_run::{Effort, chain_mixing_time};
use veilwalk::analysis::simulate::{RealWalks, Simulation, simulate};
use veilwalk::analysis::{Origin, unobserved};
use veilwalk::{Model, Nats, Preset, Start, StateId};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_corrected_lemma_is_never_wrong(
        chain in random_chain(12),
        name in proptest::sample::select(vec![Preset::Paper, Preset::Exponential, Preset::ExponentialHamming]),
        epsilon in proptest::sample::select(vec!["0.1", "1", "3", "10", "60"]),
    ) {
        let model = Arc::new(Model::new(chain).unwrap());
        if model.diameter().distance == Nats::ZERO { return Ok(()) }
        let mechanism = preset(&model, name, epsilon, "1");
        let joint = JointChain::new(&mechanism, KernelMemory::default(), &unobserved).unwrap();
        let drift = Drift::new(&joint, &unobserved).unwrap();
        for x in model.chain().states() {
            for z in model.chain().states() {
                if drift.corrected_lemma(x, z).unwrap() {
                    prop_assert!(drift.is_attractive(x, z) && drift.at(x, z) < 0.0);
                }
            }
        }
    }

    #[test]
    fn the_corrected_error_bound_is_never_below_the_probability(
        chain in random_chain(12),
        name in proptest::sample::select(Preset::ALL.to_vec()),
        epsilon in proptest::sample::select(vec!["0.1", "1", "3", "10"]),
        together: bool,
    ) {
        let model = Arc::new(Model::new(chain).unwrap());
        let largest = model.diameter().distance.as_f64();
        if largest == 0.0 { return Ok(()) }
        let mechanism = preset(&model, name, epsilon, "1");
        let joint = JointChain::new(&mechanism, KernelMemory::default(), &unobserved).unwrap();
        let drift = Drift::new(&joint, &unobserved).unwrap();
        let start = if together {
            joint.start(Origin::At(StateId::new(0)), Start::First)
        } else {
            joint.start(Origin::Initial, Start::Initial)
        };
        let bound = ErrorBound::new(&joint, &drift, &start, &unobserved).unwrap();
        let mut law = start;
        for t in 0..=30 {
            if t > 0 { joint.advance(&mut law) }
            for v in [0.0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0].map(|share| share * largest) {
                let exact = law.exceeds(&model, v);
                let bound = bound.corrected(t, v);
                prop_assert!(bound.probability >= exact * (1.0 - 1e-12), "step {}, {} nats: {:?} below {}", t, v, bound, exact);
                prop_assert!(bound.probability <= 1.0);
            }
        }
    }
}

/// A bound that is always one would pass the test above.
#[test]
fn the_corrected_error_bound_says_something_on_credit() {
    let model = credit();
    let mechanism = preset(&model, Preset::Paper, "1", "1");
    let joint = JointChain::new(&mechanism, KernelMemory::default(), &unobserved).unwrap();
    let drift = Drift::new(&joint, &unobserved).unwrap();
    let origin = Origin::At(state(&model, "Caa"));
    let start = joint.start(origin, Start::First);
    let bound = ErrorBound::new(&joint, &drift, &start, &unobserved).unwrap();
    let exact = joint.utility(origin, Start::First, 100, &[5.0, 10.0, 15.0], &unobserved).unwrap();
    for exact in &exact.exceedance {
        let corrected = bound.corrected_per_step(100, exact.nats);
        let published = bound.published(100, exact.nats).unwrap();
        println!("{} {} {corrected} {published}", exact.nats, exact.per_step);
        assert!(published > 1.0, "as printed it says nothing: {published}");
        assert!(corrected >= exact.per_step);
    }
    assert!(bound.corrected_per_step(100, 15.0) < 0.2);
    assert!(bound.corrected(100, 15.0).zeta < 1.0);
    let constants = bound.published_constants().unwrap();
    assert_eq!(constants.b_epsilon_nats, 0.0);
    let (gamma, d) = (constants.least_drift_nats, constants.largest_step_nats);
    assert_eq!((constants.alpha, constants.zeta), (2.0 * gamma / d, 1.0 - gamma * gamma / d));
}

#[test]
fn entropy_and_typicality_bounds_on_credit() {
    let model = credit();
    let mechanism = preset(&model, Preset::Sharp, "3", "1");
    let joint = JointChain::new(&mechanism, KernelMemory::default(), &unobserved).unwrap();
    let drift = Drift::new(&joint, &unobserved).unwrap();
    let (origin, steps) = (Origin::Initial, 2_000_000);
    let start = joint.start(origin, Start::Initial);
    let error = ErrorBound::new(&joint, &drift, &start, &unobserved).unwrap();
    let (law, long_run) = joint.stationary(Effort::default(), &unobserved).unwrap();
    let second = joint.second_eigenvalue(Effort::default(), &unobserved).unwrap();
    let mut exact = joint.utility(origin, Start::Initial, 1000, &[], &unobserved).unwrap();
    let entropy = EntropyBound::new(&model, &error, &second, &start, &exact);
    println!("{entropy:?}");
    assert_eq!(entropy.corrected, exact.entropy_nats.released);
    assert!(entropy.published.unwrap() > entropy.corrected);
    let real = chain_mixing_time(model.chain(), &second, 1e9, &unobserved).unwrap();
    let pair = joint.mixing_time(&law, &second, 1e10, &unobserved).unwrap();
    assert!(pair.steps >= real.steps);
    // A bound that says something needs a walk of many mixing times; figures of the long run serve.
    exact.steps = steps;
    exact.entropy_nats.released = long_run.entropy_nats.released;
    let typicality =
        TypicalityBound::new(&model, &error, &second, &start, &exact, real, pair).unwrap();
    let at = |eta| typicality.corrected(eta).unwrap();
    println!("{} {} {} {:?}", at(1e-6), at(0.5), at(2.0), typicality.published(2.0));
    assert_eq!(at(1e-6), 1.0);
    assert!(at(2.0) < at(0.5) && at(0.5) < 1.0);
    let n = steps as f64;
    let range = {
        let weights = model.chain().states().flat_map(|i| model.chain().probabilities(i).to_vec());
        let weights: Vec<f64> = weights.map(|p| -p.ln()).collect();
        weights.iter().copied().fold(0.0, f64::max)
            - weights.iter().copied().fold(f64::MAX, f64::min)
    };
    let above = exact.entropy_nats.released - exact.entropy_nats.rate.unwrap();
    let tail = |nu: f64| {
        (-2.0 * nu * nu * n * n / (9.0 * (4.0 * n - 2.0) * range * range * pair.steps as f64)).exp()
    };
    assert!((at(2.0) - tail(2.0 - above) - tail(2.0 + above)).abs() < 1e-12);
}

/// The corrected typicality bound against simulated walks, on a chain that mixes at once.
#[test]
fn the_typicality_bound_holds_for_simulated_walks() {
    let model = Arc::new(Model::new(common::scattered_chain(8, 6, 3)).unwrap());
    let mechanism = preset(&model, Preset::Paper, "1", "1");
    let joint = JointChain::new(&mechanism, KernelMemory::default(), &unobserved).unwrap();
    let drift = Drift::new(&joint, &unobserved).unwrap();
    let start = joint.start(Origin::Initial, Start::Initial);
    let error = ErrorBound::new(&joint, &drift, &start, &unobserved).unwrap();
    let (law, _) = joint.stationary(Effort::default(), &unobserved).unwrap();
    let second = joint.second_eigenvalue(Effort::default(), &unobserved).unwrap();
    let steps = 3000;
    let exact = joint.utility(Origin::Initial, Start::Initial, steps, &[], &unobserved).unwrap();
    let real = chain_mixing_time(model.chain(), &second, 1e9, &unobserved).unwrap();
    let pair = joint.mixing_time(&law, &second, 1e10, &unobserved).unwrap();
    let bound = TypicalityBound::new(&model, &error, &second, &start, &exact, real, pair).unwrap();
    let etas = [0.1, 0.5, 1.0, 1.5, 2.0, 3.0];
    let walks = RealWalks::Own { origin: Origin::Initial, steps };
    let simulation = Simulation {
        real: walks,
        start: Start::Initial,
        walks: 500,
        seed: 3,
        levels: &[],
        etas: &etas,
    };
    let simulated = simulate(&mechanism, simulation, &unobserved).unwrap();
    let mut useful = false;
    for typical in &simulated.typical {
        let untypical = 1.0 - typical.released.mean;
        let bound = bound.corrected(typical.eta).unwrap();
        println!("{} {untypical} {bound}", typical.eta);
        assert!(untypical <= bound + 5.0 * typical.released.standard_error);
        useful |= bound < 1.0;
    }
    assert!(useful);
}
