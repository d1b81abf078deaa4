//! What the proofs rest on, checked on random chains.

mod common;

use std::sync::Arc;

use common::random_chain;
use proptest::prelude::*;
use veilwalk::mechanism::{ChainWeight, Unit};
use veilwalk::{Design, Distance, Mechanism, Model, Nats, Promise, Rule, StateId};

/// Floyd and Warshall on the same integers: slow and obvious.
fn all_pairs(model: &Model) -> Vec<Vec<Nats>> {
    let chain = model.chain();
    let n = chain.len();
    let mut d = vec![vec![Nats::MAX; n]; n];
    for i in chain.states() {
        for (j, &w) in chain.successors(i).iter().zip(chain.weights(i)) {
            d[i.index()][j.index()] = w;
        }
        d[i.index()][i.index()] = Nats::ZERO;
    }
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                d[i][j] = d[i][j].min(d[i][k].saturating_add(d[k][j]));
            }
        }
    }
    d
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_table_is_right_and_a_quasi_metric(chain in random_chain(24)) {
        let model = Model::new(chain).unwrap();
        let oracle = all_pairs(&model);
        let (d, sym) = (model.directed(), model.symmetric());
        for i in model.chain().states() {
            prop_assert_eq!(d.between(i, i), Nats::ZERO);
            for j in model.chain().states() {
                prop_assert_eq!(d.between(i, j), oracle[i.index()][j.index()]);
                prop_assert_eq!(sym.between(i, j), d.between(i, j).max(d.between(j, i)));
                for k in model.chain().states() {
                    prop_assert!(d.between(i, j) <= d.between(i, k).saturating_add(d.between(k, j)));
                }
            }
        }
    }

    /// A walk along the chain is at least as unlikely as the distance says.
    #[test]
    fn no_distance_exceeds_the_information_of_a_path(
        chain in random_chain(16), turns in proptest::collection::vec(0usize..64, 1..12)
    ) {
        let model = Model::new(chain).unwrap();
        let chain = model.chain();
        let start = StateId::new(0);
        let (mut here, mut information) = (start, 0.0);
        for turn in turns {
            let next = chain.successors(here);
            let place = turn % next.len();
            information -= chain.probabilities(here)[place].ln();
            here = next[place];
            // the float sum is itself rounded, by far less than a unit
            prop_assert!(model.directed().between(start, here).as_f64() <= information + 1e-12);
        }
    }

    /// Every rule, distance and chain weight: probabilities sum to one, and the loss for every pair
    /// of real states is within the bound that the proof gives.
    #[test]
    fn the_exact_loss_is_within_the_proven_bound(
        chain in random_chain(12),
        distance in prop_oneof![
            Just(Distance::Directed), Just(Distance::Symmetric), Just(Distance::Hamming)
        ],
        rule in prop_oneof![Just(Rule::PermuteAndFlip), Just(Rule::Exponential)],
        weight in prop_oneof![Just("0"), Just("0.5"), Just("1.7")],
        epsilon in prop_oneof![Just("0.1"), Just("1"), Just("8")],
    ) {
        let model = Arc::new(Model::new(chain).unwrap());
        let design = Design::of_moves(distance, rule, weight.parse::<ChainWeight>().unwrap());
        let epsilon_value: f64 = epsilon.parse().unwrap();
        let units = [
            Unit::Radius("2.5".parse().unwrap()),
            Unit::Substitutions(2.try_into().unwrap()),
        ];
        for unit in units {
            let promise = Promise { epsilon: epsilon.parse().unwrap(), unit };
            // Refused where nothing can be promised (distance zero between different states).
            let Ok(mechanism) = Mechanism::new(model.clone(), design, promise) else { continue };
            for x in model.chain().states() {
                for other in model.chain().states() {
                    let apart = model.symmetric().between(x, other).as_f64();
                    let bound = match unit {
                        Unit::Radius(_) if distance == Distance::Hamming && apart > 2.5 => continue,
                        Unit::Radius(_) if distance == Distance::Hamming => epsilon_value,
                        Unit::Radius(_) => epsilon_value / 2.5 * apart,
                        Unit::Substitutions(_) => epsilon_value / 2.0,
                    };
                    for z in model.chain().states() {
                        let (a, b) = (mechanism.log_kernel(z, x), mechanism.log_kernel(z, other));
                        let sum: f64 = a.iter().map(|l| l.exp()).sum();
                        prop_assert!((sum - 1.0).abs() < 1e-9);
                        for (p, q) in a.iter().zip(&b) {
                            prop_assert!((p - q).abs() <= bound + 1e-9, "{} {} above {}", p, q, bound);
                        }
                    }
                }
            }
        }
    }
}
