//! The chain alone: its exact figures against enumeration and simulation.

mod common;

use common::{credit, mean_and_error, random_chain, state};
use proptest::prelude::*;
use veilwalk::analysis::{Origin, OwnWalks, Utility, chain_alone};
use veilwalk::{Chain, Model, Source, Start, StateId, unwatched};

fn exact(model: &Model, origin: Origin, start: Start, steps: usize, levels: &[f64]) -> Utility {
    chain_alone(model, origin, start, steps, levels, &unwatched).unwrap()
}

/// Every walk of so many steps from a state, with its probability.
fn walks(chain: &Chain, from: StateId, steps: usize) -> Vec<(Vec<StateId>, f64)> {
    let mut all = vec![(vec![from], 1.0)];
    for _ in 0..steps {
        let longer = all.iter().flat_map(|(walk, p)| {
            let here = walk[walk.len() - 1];
            let moves = chain.successors(here).iter().zip(chain.probabilities(here));
            moves.map(move |(&to, q)| ([walk.as_slice(), &[to]].concat(), p * q))
        });
        all = longer.collect();
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn figures_are_those_of_all_pairs_of_walks(chain in random_chain(4), which in 0usize..3) {
        let model = Model::new(chain).unwrap();
        let chain = model.chain();
        let (steps, level) = (3, 1.0);
        let start = match which {
            0 => Start::First,
            1 => Start::Initial,
            _ => Start::At(StateId::new(0)),
        };
        let (mut distance, mut wrong, mut above, mut ever) = (0.0, 0.0, 0.0, 0.0);
        for x0 in chain.states() {
            for z0 in chain.states() {
                let mass = chain.initial().probability(x0) * match start {
                    Start::First => f64::from(u8::from(x0 == z0)),
                    Start::At(state) => f64::from(u8::from(state == z0)),
                    _ => chain.initial().probability(z0),
                };
                if mass == 0.0 { continue }
                for (real, p) in walks(chain, x0, steps) {
                    for (alone, q) in walks(chain, z0, steps) {
                        let p = mass * p * q;
                        let far = |t: usize| model.directed().between(alone[t], real[t]).as_f64();
                        for t in 1..=steps {
                            distance += p * far(t);
                            wrong += if real[t] == alone[t] { 0.0 } else { p };
                            above += if far(t) > level { p } else { 0.0 };
                        }
                        ever += if (0..=steps).any(|t| far(t) > level) { p } else { 0.0 };
                    }
                }
            }
        }
        let found = exact(&model, Origin::Initial, start, steps, &[level]);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * (1.0 + b.abs());
        let per_step = 1.0 / steps as f64;
        prop_assert!(near(found.mean_distance_nats, distance * per_step));
        prop_assert!(near(found.wrong_state_share, wrong * per_step));
        prop_assert!(near(found.exceedance[0].per_step, above * per_step));
        prop_assert!(near(found.exceedance[0].ever, ever));
    }
}

#[test]
fn figures_are_those_of_drawn_walks() {
    let model = credit();
    let origin = Origin::At(state(&model, "Baa"));
    let own = OwnWalks::new(model.chain());
    let mut randomness = Source::seeded(5).open([0; 32]).unwrap();
    let key = randomness.walk(b"pairs");
    let words = randomness.at(&key, 0, None);
    let mut wrong = Vec::new();
    for _ in 0..20_000 {
        let [real, alone] = [(); 2].map(|()| own.walk(origin, 50, words));
        let differ = real.iter().zip(&alone).skip(1).filter(|(x, z)| x != z).count();
        wrong.push(differ as f64 / 50.0);
    }
    let (mean, error) = mean_and_error(&wrong);
    let found = exact(&model, origin, Start::First, 50, &[]);
    assert!((found.wrong_state_share - mean).abs() < 4.0 * error, "{mean} ±{error}, {found:?}");
    // It is a walk of the chain like the real one.
    let entropy = found.entropy_nats;
    assert!((entropy.released - entropy.real).abs() < 1e-12);
}

/// A private start costs privacy, so a walk that costs none starts blindly.
#[test]
fn a_private_start_is_a_blind_one() {
    let model = credit();
    let [private, blind] =
        [Start::Private, Start::Initial].map(|start| exact(&model, Origin::Initial, start, 5, &[]));
    assert_eq!(private, blind);
}
