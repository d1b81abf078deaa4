//! The joint operator against a matrix of all |S|² × |S|² moves, written down entry by entry.

mod common;

use std::sync::Arc;

use common::{preset, random_chain};
use proptest::prelude::*;
use veilwalk::analysis::{Origin, Utility};
use veilwalk::internal::drift::Drift;
use veilwalk::internal::given_walk;
use veilwalk::internal::joint::{JointChain, KernelMemory};
use veilwalk::internal::long_run::{LongRunEffort, MixingKind};
use veilwalk::{Chain, Mechanism, Model, Preset, Start, StateId, unwatched};

/// Row `(x, z)`, at `x·n + z`, of the matrix of all moves of the pair.
fn matrix(mechanism: &Mechanism) -> Vec<Vec<f64>> {
    let chain = mechanism.model().chain();
    let n = chain.len();
    let mut rows = Vec::new();
    for x in chain.states() {
        for z in chain.states() {
            let mut row = vec![0.0; n * n];
            for (next, p) in chain.successors(x).iter().zip(chain.probabilities(x)) {
                for (y, k) in chain.successors(z).iter().zip(mechanism.kernel(z, *next)) {
                    row[next.index() * n + y.index()] += p * k;
                }
            }
            rows.push(row);
        }
    }
    rows
}

fn times(law: &[f64], matrix: &[Vec<f64>]) -> Vec<f64> {
    let mut out = vec![0.0; law.len()];
    for (mass, row) in law.iter().zip(matrix) {
        out.iter_mut().zip(row).for_each(|(sum, p)| *sum += mass * p);
    }
    out
}

fn chain_and_preset() -> impl Strategy<Value = (Chain, Preset)> {
    (random_chain(12), proptest::sample::select(Preset::OF_MOVES.to_vec()))
}

/// The presets are refused on chains without any distance; every other chain is taken.
fn mechanism(chain: Chain, name: Preset) -> Option<(Arc<Model>, Mechanism)> {
    let model = Arc::new(Model::new(chain).unwrap());
    let zero = model.diameter().distance == veilwalk::Nats::ZERO;
    (!zero).then(|| (model.clone(), preset(&model, name, "1.5", "1")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_sweep_is_a_product_with_the_matrix((chain, name) in chain_and_preset(), stored: bool) {
        let Some((model, mechanism)) = mechanism(chain, name) else { return Ok(()) };
        let chain = model.chain();
        let memory = if stored { KernelMemory::default() } else { KernelMemory(0) };
        let joint = JointChain::new(&mechanism, memory, &unwatched).unwrap();
        prop_assert_eq!(joint.stores_kernels(), stored);
        let matrix = matrix(&mechanism);
        let mut law = joint.start(Origin::At(StateId::new(0)), Start::Initial);
        let pairs: Vec<_> =
            chain.states().flat_map(|x| chain.states().map(move |z| (x, z))).collect();
        let flat = |law: &veilwalk::internal::joint::JointLaw| -> Vec<f64> {
            pairs.iter().map(|&(x, z)| law.probability(x, z)).collect()
        };
        let mut slow = flat(&law);
        for _ in 0..5 {
            joint.advance(&mut law);
            slow = times(&slow, &matrix);
            for (a, b) in flat(&law).iter().zip(&slow) {
                prop_assert!((a - b).abs() < 1e-13);
            }
        }
        // The other side: expected distances, and so the drift.
        let drift = Drift::new(&joint, &unwatched).unwrap();
        let distance = |x, z| model.directed().between(z, x).as_f64();
        for (&(x, z), row) in pairs.iter().zip(&matrix) {
            let after: f64 = row.iter().zip(&pairs).map(|(p, &(x, z))| p * distance(x, z)).sum();
            let slow = after - distance(x, z);
            prop_assert!((drift.at(x, z) - slow).abs() < 1e-12 * (1.0 + model.diameter().distance.as_f64()));
        }
    }

    /// All figures over a few steps, by following every pair through the matrix.
    #[test]
    fn figures_follow_from_the_matrix((chain, name) in chain_and_preset(), level in 0.0f64..6.0) {
        let Some((model, mechanism)) = mechanism(chain, name) else { return Ok(()) };
        let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
        let chain = model.chain();
        let (n, steps) = (chain.len(), 6);
        let ours = joint.utility(Origin::Initial, Start::Initial, steps, &[level], &unwatched).unwrap();
        let matrix = matrix(&mechanism);
        let pair = |i: usize| (StateId::new(i / n), StateId::new(i % n));
        let distance = |i: usize| { let (x, z) = pair(i); model.directed().between(z, x).as_f64() };
        let mut law = vec![1.0 / (n * n) as f64; n * n];
        let mut left = law.clone();
        let mut ever = 0.0;
        let (mut mean, mut wrong, mut above, mut weight) = (0.0, 0.0, 0.0, 0.0);
        for t in 0..=steps {
            if t > 0 {
                for (i, mass) in law.iter().enumerate() {
                    let (_, z) = pair(i);
                    for (j, p) in matrix[i].iter().enumerate().filter(|(_, p)| **p > 0.0) {
                        weight -= mass * p * chain.probability(z, pair(j).1).ln();
                    }
                }
                law = times(&law, &matrix);
                left = times(&left, &matrix);
                mean += law.iter().enumerate().map(|(i, p)| p * distance(i)).sum::<f64>();
                wrong += (0..n * n).filter(|&i| pair(i).0 != pair(i).1).map(|i| law[i]).sum::<f64>();
                above += (0..n * n).filter(|&i| distance(i) > level).map(|i| law[i]).sum::<f64>();
            }
            for i in (0..n * n).filter(|&i| distance(i) > level) {
                ever += std::mem::take(&mut left[i]);
            }
            prop_assert!((ours.exceedance[0].ever_by_step[t] - ever).abs() < 1e-12);
        }
        let near = |a: f64, b: f64| (a - b / steps as f64).abs() < 1e-11 * (1.0 + a.abs());
        prop_assert!(near(ours.mean_distance_nats, mean));
        prop_assert!(near(ours.wrong_state_share, wrong));
        prop_assert!(near(ours.exceedance[0].per_step, above));
        prop_assert!(near(ours.entropy_nats.released, weight), "{} {}", ours.entropy_nats.released, weight);
    }

    /// The chain's own walks, one by one: exact figures for each, averaged by their probability.
    #[test]
    fn averages_are_averages_of_given_walks((chain, name) in (random_chain(4), proptest::sample::select(Preset::OF_MOVES.to_vec()))) {
        let Some((model, mechanism)) = mechanism(chain, name) else { return Ok(()) };
        let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
        let chain = model.chain();
        let first = StateId::new(1);
        let all = joint.utility(Origin::At(first), Start::First, 3, &[1.0], &unwatched).unwrap();
        let mut walks = vec![(vec![first], 1.0)];
        for _ in 0..3 {
            walks = walks.into_iter().flat_map(|(walk, p)| {
                let last = *walk.last().unwrap();
                let next = chain.successors(last).iter().zip(chain.probabilities(last));
                next.map(|(&y, q)| ([walk.clone(), vec![y]].concat(), p * q)).collect::<Vec<_>>()
            }).collect();
        }
        let each: Vec<(Utility, f64)> = walks.into_iter().map(|(walk, p)| {
            (given_walk::utility(&mechanism, &walk, Start::First, &[1.0], &unwatched).unwrap(), p)
        }).collect();
        let average = |figure: fn(&Utility) -> f64| each.iter().filter(|(_, p)| *p > 0.0).map(|(u, p)| p * figure(u)).sum::<f64>();
        let figures: [fn(&Utility) -> f64; 6] = [
            |u| u.mean_distance_nats,
            |u| u.wrong_state_share,
            |u| u.entropy_nats.released,
            |u| u.entropy_nats.real,
            |u| u.exceedance[0].per_step,
            |u| u.exceedance[0].ever,
        ];
        for figure in figures {
            let (a, b) = (figure(&all), average(figure));
            prop_assert!((a - b).abs() < 1e-11 * (1.0 + a.abs()), "{} {}", a, b);
        }
    }
}

/// The stationary law by elimination (Grassmann, Taksar and Heyman).
fn stationary(mut a: Vec<Vec<f64>>) -> Vec<f64> {
    let n = a.len();
    for k in (1..n).rev() {
        let leave: f64 = a[k][..k].iter().sum();
        for i in 0..k {
            a[i][k] /= leave;
            for j in 0..k {
                a[i][j] += a[i][k] * a[k][j];
            }
        }
    }
    let mut law = vec![1.0; n];
    for k in 1..n {
        law[k] = (0..k).map(|i| law[i] * a[i][k]).sum();
    }
    let total: f64 = law.iter().sum();
    law.iter().map(|p| p / total).collect()
}

fn product(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    a.iter().map(|row| times(row, b)).collect()
}

/// The spectral radius of the matrix without its stationary part, by squaring it.
fn second_modulus(matrix: &[Vec<f64>], law: &[f64]) -> f64 {
    let mut power: Vec<Vec<f64>> =
        matrix.iter().map(|row| row.iter().zip(law).map(|(p, q)| p - q).collect()).collect();
    // The matrix is `scale · power` after each squaring.
    let (mut log_scale, mut exponent) = (0.0f64, 1.0f64);
    for _ in 0..24 {
        power = product(&power, &power);
        let size = power.iter().flatten().fold(0.0f64, |m, x| m.max(x.abs()));
        power.iter_mut().flatten().for_each(|x| *x /= size);
        log_scale = 2.0 * log_scale + size.ln();
        exponent *= 2.0;
    }
    (log_scale / exponent).exp()
}

#[test]
fn the_long_run_agrees_with_the_matrix() {
    let settings = [
        (Preset::Paper, "1"),
        (Preset::Sharp, "1"),
        (Preset::Chen, "0.5"),
        (Preset::Sharp, "0.1"),
        (Preset::Paper, "5"),
    ];
    for (name, epsilon) in settings {
        let model = common::credit();
        let mechanism = preset(&model, name, epsilon, "1");
        let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
        let matrix = matrix(&mechanism);
        let slow = stationary(matrix.clone());
        let (law, long_run) = joint.stationary(LongRunEffort::default(), &unwatched).unwrap();
        assert!(long_run.convergence.converged);
        for x in model.chain().states() {
            for z in model.chain().states() {
                let known = slow[x.index() * 9 + z.index()];
                assert!((law.probability(x, z) - known).abs() < 1e-9, "{x:?} {z:?}");
            }
        }
        let second = joint.second_eigenvalue(LongRunEffort::default(), &unwatched).unwrap();
        assert!(second.convergence.converged);
        let known = second_modulus(&matrix, &slow);
        assert!((second.modulus - known).abs() < 1e-5, "{} {known}", second.modulus);
        // Differences with equal real marginals: each pair less the mean of its row, then moved.
        let blocks = (0..81).map(|i| {
            let mean = (0..81).map(|j| if i / 9 == j / 9 { 1.0 / 9.0 } else { 0.0 });
            mean.enumerate().map(|(j, mean)| f64::from(u8::from(i == j)) - mean).collect()
        });
        let centred: Vec<Vec<f64>> = blocks.collect();
        let known = second_modulus(&product(&centred, &matrix), &[0.0; 81]);
        assert!((second.released_walk - known).abs() < 1e-5, "{} {known}", second.released_walk);
        let mixing = joint.mixing_time(&law, &second, 1e10, &unwatched).unwrap();
        assert_eq!(mixing.kind, MixingKind::Exact);
        // By powers of the matrix: mixed at that step, and not one step before.
        let apart = |steps: u64| {
            let mut power = matrix.clone();
            (1..steps).for_each(|_| power = product(&power, &matrix));
            power
                .iter()
                .map(|row| row.iter().zip(&slow).map(|(p, q)| (p - q).abs() / 2.0).sum::<f64>())
                .fold(0.0, f64::max)
        };
        assert!(apart(mixing.steps) <= 0.25 && apart(mixing.steps - 1) > 0.25);
        let bound = joint.mixing_time(&law, &second, 0.0, &unwatched).unwrap();
        assert_eq!(bound.kind, MixingKind::LowerBound);
        assert!(bound.steps <= mixing.steps);
    }
}
