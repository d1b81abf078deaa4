//! Exact analysis against figures worked out by others, and its edges.

mod common;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::{credit, preset, scattered_chain, state};
use veilwalk::analysis::Origin;
use veilwalk::chain::{ChainBuilder, Entries};
use veilwalk::internal::drift::Drift;
use veilwalk::internal::given_walk;
use veilwalk::internal::given_walk::ReleasedLaw;
use veilwalk::internal::joint::{JointChain, KernelMemory};
use veilwalk::internal::long_run::{LongRunEffort, LongRunError};
use veilwalk::{Model, Nats, Preset, Progress, Stage, Start, StateId, Stopped, unwatched};

#[test]
fn the_exceedance_table() {
    let model = credit();
    let levels = [2.0, 5.0, 10.0, 15.0];
    let known = [
        (Preset::Paper, [0.079301, 0.0075241, 1.6694e-4, 4.3579e-6]),
        (Preset::Exponential, [0.122159, 0.0118401, 3.2297e-4, 6.4174e-6]),
        (Preset::Chen, [0.331120, 0.180178, 0.0724526, 0.0106249]),
    ];
    for (name, known) in known {
        let mechanism = preset(&model, name, "1", "1");
        let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
        let origin = Origin::At(state(&model, "Caa"));
        let figures = joint.utility(origin, Start::First, 100, &levels, &unwatched).unwrap();
        for (ours, known) in figures.exceedance.iter().zip(known) {
            assert!(
                (ours.per_step / known - 1.0).abs() < 2e-5,
                "{name}: {} {known}",
                ours.per_step
            );
            assert!(ours.ever > ours.per_step && ours.ever <= 1.0);
        }
    }
}

#[test]
#[expect(clippy::approx_constant, reason = "0.318 is a distance here, not 1/π")]
fn wrong_states_and_distances_on_credit() {
    let model = credit();
    let known = [
        (Preset::Paper, "0.3", 0.665, 2.66),
        (Preset::Paper, "1", 0.298, 0.855),
        (Preset::Sharp, "0.3", 0.420, 2.75),
        (Preset::Sharp, "1", 0.095, 0.318),
    ];
    for (name, epsilon, wrong, distance) in known {
        let mechanism = preset(&model, name, epsilon, "1");
        let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
        let origin = Origin::At(state(&model, "Baa"));
        let figures = joint.utility(origin, Start::First, 100, &[], &unwatched).unwrap();
        assert!((figures.wrong_state_share - wrong).abs() < 6e-4, "{figures:?}");
        assert!((figures.mean_distance_nats - distance).abs() < 6e-3 * distance, "{figures:?}");
    }
}

#[test]
fn drift_shares_on_credit() {
    let model = credit();
    let known = [("0.5", 28.4), ("1", 37.0), ("2", 61.7), ("3", 80.2), ("5", 85.2), ("10", 86.4)];
    for (epsilon, corrected) in known {
        let mechanism = preset(&model, Preset::Paper, epsilon, "1");
        let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
        let drift = Drift::new(&joint, &unwatched).unwrap().report();
        assert_eq!(drift.attractive, 72.0 / 81.0);
        assert!((100.0 * drift.corrected.unwrap() - corrected).abs() < 0.05, "{drift:?}");
        let published = drift.published.unwrap();
        assert!((3.0 / 81.0..=6.0 / 81.0).contains(&published), "{drift:?}");
    }
}

/// The Lemma as published claims that this pair is drawn together. It drifts apart by a nat.
#[test]
fn a_counterexample_to_the_published_lemma() {
    let model = Arc::new(Model::new(scattered_chain(20, 3, 192)).unwrap());
    let mechanism = preset(&model, Preset::Paper, "10", "1");
    let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
    let drift = Drift::new(&joint, &unwatched).unwrap();
    let (real, released) = (StateId::new(6), StateId::new(16));
    assert_eq!(drift.published_lemma(real, released), Some(true));
    assert_eq!(drift.corrected_lemma(real, released), Some(false));
    assert!(!drift.is_attractive(real, released));
    assert!((drift.at(real, released) - 1.0383).abs() < 1e-4);
    assert_eq!(drift.report().published_wrongly, Some(0.0125));
}

/// Only where the nearest candidate is the cheapest does either Lemma say anything.
#[test]
fn the_lemma_speaks_of_directed_distances_only() {
    let model = credit();
    for name in Preset::OF_MOVES {
        let mechanism = preset(&model, name, "1", "1");
        let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
        let report = Drift::new(&joint, &unwatched).unwrap().report();
        let spoken_of = !matches!(name, Preset::Chen | Preset::Sharp | Preset::Cell);
        assert_eq!(report.corrected.is_some(), spoken_of, "{name}");
        assert_eq!(report.published.is_some(), spoken_of, "{name}");
    }
}

/// With a scale so large that the real walk itself is released, the released entropy is the real
/// one. A distance would give nothing for a self-loop and too little for a detour.
#[test]
fn entropy_adds_up_weights_and_not_distances() {
    let mut builder = ChainBuilder::new(Entries::Probabilities);
    let [a, b, c] = ["a", "b", "c"].map(|label| builder.state(label));
    // The direct move from a to c is less likely than the way through b.
    for (from, to, p) in
        [(a, a, 0.5), (a, b, 0.4), (a, c, 0.1), (b, c, 0.9), (b, a, 0.1), (c, a, 0.7), (c, c, 0.3)]
    {
        builder.transition(from, to, p).unwrap();
    }
    let model = Arc::new(Model::new(builder.build(Default::default()).unwrap().0).unwrap());
    let mechanism = preset(&model, Preset::Paper, "900", "1");
    let real = [a, a, c, a, b, c];
    let figures = given_walk::utility(&mechanism, &real, Start::First, &[], &unwatched).unwrap();
    let known = -(0.5f64 * 0.1 * 0.7 * 0.4 * 0.9).ln() / 5.0;
    assert!((figures.entropy_nats.real - known).abs() < 1e-12);
    assert!((figures.entropy_nats.released - known).abs() < 1e-9, "{:?}", figures.entropy_nats);
}

#[test]
fn the_distance_law_of_one_walk() {
    let model = credit();
    let mechanism = preset(&model, Preset::Paper, "1", "1");
    let (caa, c) = (state(&model, "Caa"), state(&model, "Ca/C"));
    let mut law = ReleasedLaw::new(&mechanism, Start::First, caa);
    assert_eq!(law.distance_to(caa).values, [Nats::ZERO]);
    law.advance(c);
    let distance = law.distance_to(c);
    // The kernel of a single step, sorted by distance.
    assert!((distance.probabilities[0] - 0.861216).abs() < 1e-6);
    assert_eq!(distance.values.len(), 6);
    assert!((distance.exceeds(0.0) - (1.0 - 0.861216)).abs() < 1e-6);
    let figures =
        given_walk::utility(&mechanism, &[caa, c], Start::First, &[], &unwatched).unwrap();
    assert!((distance.mean() - figures.mean_distance_nats).abs() < 1e-12);
}

#[test]
fn periodic_chains_have_no_long_run() {
    let mut builder = ChainBuilder::new(Entries::Probabilities);
    let [a, b, c] = ["a", "b", "c"].map(|label| builder.state(label));
    for (from, to, p) in [(a, b, 0.5), (a, c, 0.5), (b, a, 1.0), (c, a, 1.0)] {
        builder.transition(from, to, p).unwrap();
    }
    let model = Arc::new(Model::new(builder.build(Default::default()).unwrap().0).unwrap());
    let mechanism = preset(&model, Preset::Paper, "1", "1");
    let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
    let error = joint.stationary(LongRunEffort::default(), &unwatched).unwrap_err();
    assert_eq!(error, LongRunError::Periodic { period: 2 });
}

#[test]
fn an_iteration_that_has_not_settled_says_so() {
    let model = credit();
    let mechanism = preset(&model, Preset::Sharp, "0.1", "1");
    let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
    let effort = LongRunEffort { sweeps: 20, ..LongRunEffort::default() };
    let (_, long_run) = joint.stationary(effort, &unwatched).unwrap();
    assert!(!long_run.convergence.converged);
    assert!(!joint.second_eigenvalue(effort, &unwatched).unwrap().convergence.converged);
}

#[test]
fn long_work_stops_when_asked() {
    let model = credit();
    let mechanism = preset(&model, Preset::Paper, "1", "1");
    let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
    let seen = AtomicU64::new(0);
    let watch = |progress: Progress| {
        assert_eq!(progress.stage, Stage::Steps);
        let steps = (100.0 * progress.share).round() as u64;
        seen.store(steps, Ordering::Relaxed);
        if steps < 7 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let stopped = joint.utility(Origin::Initial, Start::Initial, 100, &[], &watch);
    assert_eq!(stopped, Err(Stopped));
    assert_eq!(seen.into_inner(), 7);
}

/// The keys that the command prints.
#[test]
fn figures_are_printed_with_the_agreed_keys() {
    let model = credit();
    let mechanism = preset(&model, Preset::Paper, "1", "1");
    let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
    let figures = joint.utility(Origin::Initial, Start::Initial, 5, &[2.0], &unwatched).unwrap();
    let json = serde_json::to_value(&figures).unwrap();
    for key in ["steps", "mean_distance_nats", "wrong_state_share", "entropy_nats", "exceedance"] {
        assert!(!json[key].is_null(), "{key}");
    }
    for key in ["released", "real", "rate"] {
        assert!(json["entropy_nats"][key].is_number(), "{key}");
    }
    for key in ["nats", "per_step", "ever"] {
        assert!(json["exceedance"][0][key].is_number(), "{key}");
    }
    let drift = Drift::new(&joint, &unwatched).unwrap().report();
    let json = serde_json::to_value(drift).unwrap();
    for key in ["attractive", "published", "corrected", "b_epsilon_nats"] {
        assert!(json[key].is_number(), "{key}");
    }
}
