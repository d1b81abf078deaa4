//! Bounds have to hold: on random chains, against the exact figures.

mod common;

use std::sync::Arc;

use common::{credit, preset, random_chain, state};
use proptest::prelude::*;
use veilwalk::analysis::Origin;
use veilwalk::internal::bounds::{BoundAt, EntropyBound, ErrorBound, TypicalityBound};
use veilwalk::internal::drift::Drift;
use veilwalk::internal::joint::{JointChain, KernelMemory};
use veilwalk::internal::long_run::{LongRunEffort, chain_mixing_time};
use veilwalk::internal::simulate::{RealWalks, Simulation, simulate};
use veilwalk::internal::typical;
use veilwalk::internal::typical::Spending;
use veilwalk::{Model, Nats, Preset, Start, StateId, unwatched};

/// The constants of a bound meet the conditions of Hajek's theorem, checked pair by pair.
fn is_a_proof(mechanism: &veilwalk::Mechanism, bound: &BoundAt) -> Result<(), TestCaseError> {
    let model = mechanism.model();
    let chain = model.chain();
    let distance = |z, x| model.directed().between(z, x).as_f64();
    let mut largest = (0.0f64, 0.0f64);
    for x in chain.states() {
        for z in chain.states() {
            let v = distance(z, x);
            let (above, base) = (v > bound.level_nats, v.max(bound.level_nats));
            let mut moment = 0.0;
            for (&next, p) in chain.successors(x).iter().zip(chain.probabilities(x)) {
                for (&y, k) in chain.successors(z).iter().zip(mechanism.kernel(z, next)) {
                    moment += p * k * (bound.alpha * (distance(y, next) - base)).exp();
                }
            }
            let limit = if above { bound.zeta } else { bound.overshoot };
            prop_assert!(moment <= limit * (1.0 + 1e-11), "{} above {}", moment, limit);
            let place = if above { &mut largest.0 } else { &mut largest.1 };
            *place = place.max(moment);
        }
    }
    // And they are no larger than they have to be.
    prop_assert!(bound.zeta <= largest.0 * (1.0 + 1e-8) + 1e-300);
    prop_assert!(bound.overshoot <= largest.1 * (1.0 + 1e-8));
    Ok(())
}

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
        let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
        let drift = Drift::new(&joint, &unwatched).unwrap();
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
        name in proptest::sample::select(Preset::OF_MOVES.to_vec()),
        epsilon in proptest::sample::select(vec!["0.1", "1", "3", "10"]),
        together: bool,
    ) {
        let model = Arc::new(Model::new(chain).unwrap());
        let largest = model.diameter().distance.as_f64();
        if largest == 0.0 { return Ok(()) }
        let mechanism = preset(&model, name, epsilon, "1");
        let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
        let drift = Drift::new(&joint, &unwatched).unwrap();
        let start = if together {
            joint.start(Origin::At(StateId::new(0)), Start::First)
        } else {
            joint.start(Origin::Initial, Start::Initial)
        };
        let bound = ErrorBound::new(&joint, &drift, &start, &unwatched).unwrap();
        for (t, share) in [(1, 0.5), (5, 0.9), (30, 0.7)] {
            let at = bound.corrected(t, share * largest);
            if at.alpha > 0.0 {
                is_a_proof(&mechanism, &at)?;
                let first = start.distance(&model);
                let moment: f64 = first.values.iter().zip(&first.probabilities).map(|(v, p)| p * (at.alpha * (v.as_f64() - share * largest)).exp()).sum();
                let rest: f64 = (0..t).map(|k| at.zeta.powi(k as i32)).sum();
                let told = at.zeta.powi(t as i32) * moment + rest * at.overshoot * (at.alpha * (at.level_nats - share * largest)).exp();
                prop_assert!((told / at.probability - 1.0).abs() < 1e-6, "{} {:?}", told, at);
            }
        }
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
    let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
    let drift = Drift::new(&joint, &unwatched).unwrap();
    let origin = Origin::At(state(&model, "Caa"));
    let start = joint.start(origin, Start::First);
    let bound = ErrorBound::new(&joint, &drift, &start, &unwatched).unwrap();
    let exact = joint.utility(origin, Start::First, 100, &[5.0, 10.0, 15.0], &unwatched).unwrap();
    for exact in &exact.exceedance {
        let corrected = bound.corrected_per_step(100, exact.nats);
        let published = bound.published(100, exact.nats).unwrap();
        assert!(published > 1.0, "as printed it says nothing: {published}");
        assert!(corrected >= exact.per_step);
    }
    assert!(bound.corrected_per_step(100, 15.0) < 0.2);
    assert!(bound.corrected(100, 15.0).zeta < 1.0);
    let printed = serde_json::to_value(bound.figures(100, &[0.0, 10.0])).unwrap();
    assert!(printed[0]["corrected"].is_number() && printed[1]["published"].is_number());
    assert!(printed[0]["published"].is_null(), "it does not speak of distances up to B");
    let constants = bound.published_constants().unwrap();
    assert_eq!(constants.b_epsilon_nats, 0.0);
    let (gamma, d) = (constants.least_drift_nats, constants.largest_step_nats);
    assert_eq!((constants.alpha, constants.zeta), (2.0 * gamma / d, 1.0 - gamma * gamma / d));
}

#[test]
fn entropy_and_typicality_bounds_on_credit() {
    let model = credit();
    let mechanism = preset(&model, Preset::Sharp, "3", "1");
    let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
    let drift = Drift::new(&joint, &unwatched).unwrap();
    let (origin, steps) = (Origin::Initial, 2_000_000);
    let start = joint.start(origin, Start::Initial);
    let error = ErrorBound::new(&joint, &drift, &start, &unwatched).unwrap();
    let (law, long_run) = joint.stationary(LongRunEffort::default(), &unwatched).unwrap();
    let second = joint.second_eigenvalue(LongRunEffort::default(), &unwatched).unwrap();
    let mut exact = joint.utility(origin, Start::Initial, 1000, &[], &unwatched).unwrap();
    let entropy = EntropyBound::new(&model, &error, &second, &start, &exact);
    assert_eq!(entropy.corrected, exact.entropy_nats.released);
    assert!(entropy.published.unwrap() > entropy.corrected);
    let real = chain_mixing_time(model.chain(), &second, 1e9, &unwatched).unwrap();
    let pair = joint.mixing_time(&law, &second, 1e10, &unwatched).unwrap();
    assert!(pair.steps >= real.steps);
    // A bound that says something needs a walk of many mixing times; figures of the long run serve.
    exact.steps = steps;
    exact.entropy_nats.released = long_run.entropy_nats.released;
    let entropy = EntropyBound::new(&model, &error, &second, &start, &exact);
    let typicality = TypicalityBound::new(&model, &entropy, &exact, real, pair).unwrap();
    let at = |eta| typicality.corrected(eta).unwrap();
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
    let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
    let drift = Drift::new(&joint, &unwatched).unwrap();
    let start = joint.start(Origin::Initial, Start::Initial);
    let error = ErrorBound::new(&joint, &drift, &start, &unwatched).unwrap();
    let (law, _) = joint.stationary(LongRunEffort::default(), &unwatched).unwrap();
    let second = joint.second_eigenvalue(LongRunEffort::default(), &unwatched).unwrap();
    let steps = 3000;
    let exact = joint.utility(Origin::Initial, Start::Initial, steps, &[], &unwatched).unwrap();
    let real = chain_mixing_time(model.chain(), &second, 1e9, &unwatched).unwrap();
    let pair = joint.mixing_time(&law, &second, 1e10, &unwatched).unwrap();
    let entropy = EntropyBound::new(&model, &error, &second, &start, &exact);
    let bound = TypicalityBound::new(&model, &entropy, &exact, real, pair).unwrap();
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
    let simulated = simulate(&mechanism, simulation, &unwatched).unwrap();
    let mut useful = false;
    for typical in &simulated.typical {
        let untypical = 1.0 - typical.released.mean;
        let bound = bound.corrected(typical.eta).unwrap();
        assert!(untypical <= bound + 5.0 * typical.released.standard_error);
        useful |= bound < 1.0;
    }
    assert!(useful);
}

/// Every released walk of a few steps, one by one, with its probability and its entropy.
fn by_enumeration(
    mechanism: &veilwalk::Mechanism,
    real: &[StateId],
    released: StateId,
    eta: f64,
    rate: f64,
) -> f64 {
    let chain = mechanism.model().chain();
    let mut walks = vec![(released, 1.0, 0.0)];
    for &x in &real[1..] {
        let mut next = Vec::new();
        for (z, probability, weight) in walks {
            for (&y, k) in chain.successors(z).iter().zip(mechanism.kernel(z, x)) {
                next.push((y, probability * k, weight - chain.probability(z, y).ln()));
            }
        }
        walks = next;
    }
    let n = (real.len() - 1) as f64;
    let typical = walks.iter().filter(|(_, _, weight)| (weight / n - rate).abs() <= eta);
    typical.map(|(_, probability, _)| probability).sum()
}

#[test]
fn the_enclosure_holds_every_walk() {
    let model = credit();
    let chain = model.chain();
    let rate = chain.entropy_rate(&chain.stationary().unwrap());
    let real: Vec<StateId> = [5, 5, 6, 7, 8, 8].map(StateId::new).into();
    let start = Start::At(StateId::new(4));
    for name in [Preset::Paper, Preset::Sharp] {
        let mechanism = preset(&model, name, "1", "1");
        for eta in [0.3, 1.0, 2.0, 4.0] {
            let known = by_enumeration(&mechanism, &real, StateId::new(4), eta, rate);
            for operations in [1e6, 1e8] {
                let spending = Spending { operations, ..Spending::default() };
                let enclosure =
                    typical::of_given_walk(&mechanism, &real, start, eta, spending, &unwatched);
                let enclosure = enclosure.unwrap().unwrap();
                assert!(enclosure.at_least <= known + 1e-12, "{enclosure:?} {known}");
                assert!(enclosure.at_most >= known - 1e-12, "{enclosure:?} {known}");
                if operations == 1e8 {
                    assert!(enclosure.at_most - enclosure.at_least < 0.01, "{enclosure:?}");
                }
            }
        }
        let nothing = Spending { operations: 1e3, ..Spending::default() };
        let refused = typical::of_given_walk(&mechanism, &real, start, 1.0, nothing, &unwatched);
        assert_eq!(refused, Ok(None));
    }
}

#[test]
fn enclosed_and_simulated_agree_on_own_walks() {
    let model = credit();
    let origin = Origin::At(state(&model, "Baa"));
    let (steps, etas) = (50, [0.1, 0.3, 1.0, 2.0]);
    for name in Preset::OF_MOVES {
        let mechanism = preset(&model, name, "1", "1");
        let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
        let real = RealWalks::Own { origin, steps };
        let simulation = Simulation {
            real,
            start: Start::First,
            walks: 20_000,
            seed: 5,
            levels: &[],
            etas: &etas,
        };
        let simulated = simulate(&mechanism, simulation, &unwatched).unwrap();
        for (eta, simulated) in etas.into_iter().zip(simulated.typical) {
            let spending = Spending { operations: 2e8, ..Spending::default() };
            let starts = (origin, Start::First);
            let enclosure = typical::of_own_walks(&joint, starts, steps, eta, spending, &unwatched);
            let enclosure = enclosure.unwrap().unwrap();
            let estimate = simulated.released;
            let error = 5.0 * estimate.standard_error + 5e-4;
            assert!(estimate.mean >= enclosure.at_least - error, "{enclosure:?} {estimate:?}");
            assert!(estimate.mean <= enclosure.at_most + error, "{enclosure:?} {estimate:?}");
            assert!(enclosure.at_most - enclosure.at_least < 0.1, "{enclosure:?}");
        }
    }
}
