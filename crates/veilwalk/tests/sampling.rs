//! Sampled steps against exact kernels, and the audited loss of every named mechanism.

mod common;

use std::sync::Arc;

use common::{chance_of, credit, preset, promise, scattered_chain, state};
use veilwalk::internal::mechanism::Workspace;
use veilwalk::internal::random::Randomness;
use veilwalk::mechanism::Unit;
use veilwalk::{Chain, Mechanism, Model, Preset, Source, StateId};

fn words(mechanism: &Mechanism, seed: u64) -> Randomness {
    Source::seeded(seed).open(mechanism.fingerprint()).unwrap()
}

/// How often each state follows `previous` when the real state is `real`.
fn counts(
    mechanism: &Mechanism,
    seed: u64,
    (previous, real): (StateId, StateId),
    steps: u64,
) -> Vec<u64> {
    let mut randomness = words(mechanism, seed);
    let walk = randomness.walk(b"test");
    let stream = randomness.at(&walk, 0, None);
    let mut workspace = Workspace::default();
    let mut counts = vec![0; mechanism.model().chain().len()];
    for _ in 0..steps {
        counts[mechanism.step(previous, real, stream, &mut workspace).index()] += 1;
    }
    counts
}

/// Ten million steps a mechanism, over several pairs of last and real states. Every outcome is
/// judged by itself, also those expected less than once: more of them than chance allows fails.
#[test]
fn slow_ten_million_steps_agree_with_the_kernel() {
    let model = credit();
    let pairs = [("Caa", "Ca/C"), ("Caa", "Aaa"), ("Def", "Aaa"), ("B", "B"), ("Aaa", "Def")];
    let steps = 10_000_000 / pairs.len() as u64;
    for name in Preset::OF_MOVES {
        let mechanism = preset(&model, name, "2", "3.5");
        for (round, (previous, real)) in pairs.into_iter().enumerate() {
            let (previous, real) = (state(&model, previous), state(&model, real));
            let counts = counts(&mechanism, round as u64, (previous, real), steps);
            let kernel = mechanism.kernel(previous, real);
            let successors = model.chain().successors(previous);
            let feasible: u64 = successors.iter().map(|s| counts[s.index()]).sum();
            assert_eq!(feasible, steps, "only transitions of the chain");
            for (candidate, p) in successors.iter().zip(kernel) {
                let seen = counts[candidate.index()];
                let chance = chance_of(seen, steps, p);
                assert!(chance > 1e-9, "{name}: {seen} of {steps} at probability {p}: {chance}");
            }
        }
    }
}

/// Outcomes of probability down to 1e-7, on a chain with many candidates.
#[test]
fn slow_rare_outcomes_are_neither_lost_nor_inflated() {
    let model = Arc::new(Model::new(Chain::downtown()).unwrap());
    let mechanism = preset(&model, Preset::Paper, "3", "1");
    let (previous, real) = (state(&model, "Cedar-2"), state(&model, "Cedar-3"));
    let steps = 10_000_000;
    let counts = counts(&mechanism, 1, (previous, real), steps);
    let mut rarest: f64 = 1.0;
    for (y, p) in model.chain().successors(previous).iter().zip(mechanism.kernel(previous, real)) {
        rarest = rarest.min(p);
        let seen = counts[y.index()];
        assert!(chance_of(seen, steps, p) > 1e-9, "{seen} of {steps} at probability {p}");
        assert!(seen > 0 || p < 1e-6, "an outcome of probability {p} was lost");
    }
    assert!(rarest < 1e-3, "the pair has rare outcomes: {rarest}");
}

/// The same with more candidates than are visited in random order, at scales where one of those is
/// always accepted and where often none is.
#[test]
fn slow_many_candidates_agree_with_the_kernel() {
    let model = Arc::new(Model::new(scattered_chain(120, 60, 8)).unwrap());
    let (previous, real) = (StateId::new(3), StateId::new(50));
    let steps = 3_000_000;
    for (name, epsilon) in [
        (Preset::Paper, "0.3"),
        (Preset::Paper, "3"),
        (Preset::Paper, "12"),
        (Preset::Sharp, "3"),
        (Preset::Sharp, "12"),
    ] {
        let mechanism = preset(&model, name, epsilon, "1");
        let counts = counts(&mechanism, 1, (previous, real), steps);
        let kernel = mechanism.kernel(previous, real);
        assert_eq!(kernel.len(), 60);
        for (y, p) in model.chain().successors(previous).iter().zip(kernel) {
            let chance = chance_of(counts[y.index()], steps, p);
            assert!(chance > 1e-9, "{name} {epsilon}: {} at {p}: {chance}", counts[y.index()]);
        }
    }
}

/// The largest log-ratio of any outcome, over every last state, for one pair of real states.
fn loss(mechanism: &Mechanism, x: StateId, other: StateId) -> f64 {
    let states = mechanism.model().chain().states();
    states
        .flat_map(|z| {
            let (a, b) = (mechanism.log_kernel(z, x), mechanism.log_kernel(z, other));
            a.into_iter().zip(b).map(|(p, q)| (p - q).abs()).collect::<Vec<_>>()
        })
        .fold(0.0, f64::max)
}

#[test]
fn the_audited_loss_is_within_the_bound() {
    let model = credit();
    for name in Preset::OF_MOVES {
        for epsilon in ["0.1", "1", "5"] {
            let mechanism = preset(&model, name, epsilon, "3.5");
            let value: f64 = epsilon.parse().unwrap();
            for x in model.chain().states() {
                for other in model.chain().states() {
                    let apart = model.symmetric().between(x, other).as_f64();
                    let bound = match promise(name, epsilon, "3.5").unit {
                        Unit::Radius(_) => value / 3.5 * apart,
                        Unit::Substitutions(_) => value,
                    };
                    let loss = loss(&mechanism, x, other);
                    assert!(loss <= bound + 1e-12, "{name}, {epsilon}: {loss} above {bound}");
                }
            }
        }
    }
}

#[test]
fn the_exact_losses_at_epsilon_one() {
    let model = credit();
    let known = [
        (Preset::Paper, 9.888, Some(0.8911)),
        (Preset::Exponential, 9.227, Some(0.7223)),
        (Preset::Chen, 1.0, None),
    ];
    for (name, substitution, per_nat) in known {
        let mechanism = preset(&model, name, "1", "1");
        let (mut largest, mut largest_per_nat) = (0f64, 0f64);
        for x in model.chain().states() {
            for other in model.chain().states().filter(|&other| other != x) {
                let loss = loss(&mechanism, x, other);
                largest = largest.max(loss);
                largest_per_nat =
                    largest_per_nat.max(loss / model.symmetric().between(x, other).as_f64());
            }
        }
        assert!((largest - substitution).abs() < 5e-4, "{name}: {largest}");
        if let Some(known) = per_nat {
            assert!((largest_per_nat - known).abs() < 5e-5, "{name}: {largest_per_nat}");
        }
    }
}

/// One scale for each last released state works as a mechanism of its own at each of them.
#[test]
fn scales_may_differ_by_last_state() {
    let model = credit();
    let design = Preset::Sharp.design();
    let etas: Vec<_> = (1..=9).map(|i| veilwalk::Rational::new(i, 4).unwrap()).collect();
    let mixed = Mechanism::with_scales(model.clone(), design, &etas).unwrap();
    for (previous, &eta) in model.chain().states().zip(&etas) {
        let alone = Mechanism::with_scale(model.clone(), design, eta).unwrap();
        for real in model.chain().states() {
            assert_eq!(mixed.kernel(previous, real), alone.kernel(previous, real));
            let mut one = words(&mixed, 1);
            let mut two = words(&mixed, 1);
            let walk = one.walk(b"w");
            let mut space = Workspace::default();
            let a = mixed.step(previous, real, one.at(&walk, 0, None), &mut space);
            let b = alone.step(previous, real, two.at(&walk, 0, None), &mut space);
            assert_eq!(a, b);
        }
    }
}
