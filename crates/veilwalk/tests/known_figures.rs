//! Figures worked out by others: the credit chain's distances and kernels, and scipy's distances on
//! random chains.

mod common;

use common::{credit, preset, state};
use veilwalk::chain::{BuildOptions, ChainBuilder, Entries};
use veilwalk::{Model, Preset};

#[test]
fn distances_on_the_credit_chain() {
    let model = credit();
    let chain = model.chain();
    let diameter = model.diameter();
    assert_eq!((chain.label(diameter.from), chain.label(diameter.to)), ("Def", "Aaa"));
    assert!((diameter.distance.as_f64() - 23.406_648).abs() < 1e-5);
    let (from, to, smallest) = model.directed().smallest_between_distinct().unwrap();
    assert_eq!((chain.label(from), chain.label(to)), ("Ca/C", "Def"));
    assert!((smallest.as_f64() - 1.561_647).abs() < 1e-5);
    assert!((model.closest_pair().unwrap().distance.as_f64() - 2.733).abs() < 5e-4);
}

#[test]
fn kernels_on_the_credit_chain() {
    let model = credit();
    let (previous, real) = (state(&model, "Caa"), state(&model, "Ca/C"));
    let known = [
        (Preset::Paper, [0.002687, 0.008462, 0.032784, 0.090305, 0.861216, 0.004546]),
        (Preset::Exponential, [0.004580, 0.014366, 0.054718, 0.144770, 0.773828, 0.007738]),
        (Preset::Chen, [0.129563, 0.129563, 0.129563, 0.129563, 0.352187, 0.129563]),
    ];
    for (name, expected) in known {
        let kernel = preset(&model, name, "1", "1").kernel(previous, real);
        for (ours, known) in kernel.iter().zip(expected) {
            assert!((ours - known).abs() < 1e-6, "{name}: {kernel:?}");
        }
    }
}

#[test]
fn chen_is_the_closed_form() {
    let model = credit();
    let chain = model.chain();
    for epsilon in ["0.1", "1", "5"] {
        let mechanism = preset(&model, Preset::Chen, epsilon, "1");
        for previous in chain.states() {
            for real in chain.states() {
                let n = chain.successors(previous).len() as f64;
                let tau = 1.0 / ((n - 1.0) * (-epsilon.parse::<f64>().unwrap()).exp() + 1.0);
                let kernel = mechanism.kernel(previous, real);
                for (&candidate, probability) in chain.successors(previous).iter().zip(kernel) {
                    let closed = match chain.allows(previous, real) {
                        false => 1.0 / n,
                        true if candidate == real => tau,
                        true => (1.0 - tau) / (n - 1.0),
                    };
                    assert!((closed - probability).abs() < 1e-12, "{closed} {probability}");
                }
            }
        }
    }
}

#[test]
fn exponential_without_chain_weight_is_the_fourth_mechanism() {
    let model = credit();
    let chain = model.chain();
    let mechanism = preset(&model, Preset::Exponential, "2", "3.5");
    for previous in chain.states() {
        for real in chain.states() {
            let score = |y| (-2.0 / 7.0 * model.directed().between(y, real).as_f64()).exp();
            let total: f64 = chain.successors(previous).iter().map(|&y| score(y)).sum();
            let kernel = mechanism.kernel(previous, real);
            for (&y, probability) in chain.successors(previous).iter().zip(kernel) {
                assert!((score(y) / total - probability).abs() < 1e-13);
            }
        }
    }
}

/// Distances by `scipy.sparse.csgraph.dijkstra` on real-valued weights
/// (`scripts/make_fixtures.py` makes the file).
#[test]
fn distances_agree_with_scipy() {
    let text = include_str!("fixtures/distances.json");
    let fixtures: Vec<serde_json::Value> = serde_json::from_str(text).unwrap();
    assert!(fixtures.len() >= 5);
    for fixture in fixtures {
        let n = fixture["states"].as_u64().unwrap() as usize;
        let mut builder = ChainBuilder::new(Entries::Probabilities);
        let states: Vec<_> = (0..n).map(|i| builder.state(&i.to_string())).collect();
        for edge in fixture["edges"].as_array().unwrap() {
            let end = |k: usize| states[edge[k].as_u64().unwrap() as usize];
            builder.transition(end(0), end(1), edge[2].as_f64().unwrap()).unwrap();
        }
        let (chain, _) = builder.build(BuildOptions::default()).unwrap();
        let model = Model::new(chain).unwrap();
        for (i, row) in fixture["distances"].as_array().unwrap().iter().enumerate() {
            for (j, known) in row.as_array().unwrap().iter().enumerate() {
                let ours = model.directed().between(states[i], states[j]).as_f64();
                let known = known.as_f64().unwrap();
                // Rounded down on every edge: below, by at most one unit for each of n edges.
                assert!(ours <= known + 1e-9, "{i} to {j}: {ours} above {known}");
                assert!(
                    known - ours <= n as f64 * 2f64.powi(-20) + 1e-9,
                    "{i} to {j}: {ours} {known}"
                );
            }
        }
    }
}
