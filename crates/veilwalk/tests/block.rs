//! Blocks: their distribution, their loss, and what a delay buys.

mod common;

use std::sync::Arc;

use common::{blocks, chance_of, credit, exponential, radius, random_chain, scattered_chain};
use proptest::prelude::*;
use veilwalk::analysis::{Origin, OwnWalks};
use veilwalk::guarantee::{Effort, Guarantee};
use veilwalk::internal::given_walk;
use veilwalk::internal::guarantee::{block_loss, worst_replacement};
use veilwalk::internal::mechanism::Workspace;
use veilwalk::internal::random::Randomness;
use veilwalk::mechanism::{Blocks, Unit};
use veilwalk::random::Words;
use veilwalk::{Chain, Distance, Mechanism, Model, Promise, Source, Start, StateId, unwatched};

fn randomness(mechanism: &Mechanism, seed: u64) -> Randomness {
    Source::seeded(seed).open(mechanism.fingerprint()).unwrap()
}

fn release(
    mechanism: &Mechanism,
    previous: StateId,
    reals: &[StateId],
    words: &mut impl Words,
    space: &mut Workspace,
) -> Vec<StateId> {
    let mut released = Vec::new();
    mechanism.release_after(previous, reals, words, space, &mut released);
    released
}

/// Every path with its probability in logarithms, from the definition, in doubles.
fn enumerated(mechanism: &Mechanism, from: StateId, reals: &[StateId]) -> Vec<(Vec<StateId>, f64)> {
    let (model, design) = (mechanism.model(), mechanism.design());
    let chain = model.chain();
    let eta = mechanism.scale(from).eta().as_f64();
    let beta = design.chain_weight.value().as_f64();
    let distance = |y: StateId, x: StateId| match design.distance {
        Distance::Directed => model.directed().between(y, x).as_f64(),
        Distance::Symmetric => model.symmetric().between(y, x).as_f64(),
        _ => f64::from(u8::from(y != x)),
    };
    let mut paths = vec![(Vec::new(), 0.0)];
    for &x in reals {
        let mut longer = Vec::new();
        for (path, cost) in &paths {
            let last = path.last().copied().unwrap_or(from);
            for (&y, w) in chain.successors(last).iter().zip(chain.weights(last)) {
                let path: Vec<StateId> = path.iter().copied().chain([y]).collect();
                longer.push((path, cost + eta * distance(y, x) + beta * w.as_f64()));
            }
        }
        paths = longer;
    }
    let least = paths.iter().map(|(_, cost)| *cost).fold(f64::INFINITY, f64::min);
    let total = paths.iter().map(|(_, cost)| (least - cost).exp()).sum::<f64>().ln();
    paths.into_iter().map(|(path, cost)| (path, least - cost - total)).collect()
}

#[test]
fn blocks_of_one_step_are_the_exponential_rule() {
    for model in [credit(), Arc::new(Model::new(scattered_chain(30, 4, 1)).unwrap())] {
        for distance in [Distance::Directed, Distance::Symmetric, Distance::Hamming] {
            for (weight, epsilon) in [("0", "1"), ("0.5", "0.3"), ("1.7", "4")] {
                let substitutions =
                    Promise::for_substitutions(epsilon.parse().unwrap(), 2.try_into().unwrap());
                for promise in [radius(epsilon, "3.5"), substitutions] {
                    let design = exponential(distance, weight);
                    let one = blocks(&model, design, promise, "1");
                    let rule = Mechanism::new(model.clone(), design, promise).unwrap();
                    assert_eq!(one.blocks().unwrap().rounding_cost(), 0.0);
                    assert_eq!(one.scale(StateId::new(0)), rule.scale(StateId::new(0)));
                    for z in model.chain().states() {
                        for x in model.chain().states() {
                            let law = one.log_law(z, &[x]);
                            for ((path, p), (y, q)) in law
                                .iter()
                                .zip(model.chain().successors(z).iter().zip(rule.log_kernel(z, x)))
                            {
                                assert_eq!(path, &[*y]);
                                assert!((p - q).abs() < 1e-12 * (1.0 + q.abs()), "{p} {q}");
                            }
                        }
                    }
                }
            }
        }
    }
}

fn distances() -> impl Strategy<Value = Distance> {
    prop_oneof![Just(Distance::Directed), Just(Distance::Symmetric), Just(Distance::Hamming)]
}

fn real_states(chain: &Chain, turns: &[usize]) -> Vec<StateId> {
    turns.iter().map(|turn| StateId::new(turn % chain.len())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// The real walk may be any, also one that the chain cannot make.
    #[test]
    fn whole_walks_have_the_enumerated_law(
        chain in random_chain(6),
        turns in proptest::collection::vec(0usize..6, 1..=6),
        distance in distances(),
        weight in prop_oneof![Just("0"), Just("0.5"), Just("1.7")],
        epsilon in prop_oneof![Just("0.1"), Just("1"), Just("30")],
    ) {
        let model = Arc::new(Model::new(chain).unwrap());
        let reals = real_states(model.chain(), &turns);
        let length = "all".parse().unwrap();
        let promise = radius(epsilon, "2.5");
        let made = Mechanism::in_blocks(model.clone(), exponential(distance, weight), promise, length);
        let Ok(whole) = made else { return Ok(()) };
        let from = reals[0];
        let law = whole.log_law(from, &reals);
        let oracle = enumerated(&whole, from, &reals);
        prop_assert_eq!(law.len(), oracle.len());
        let mut marginals = vec![vec![0.0; model.chain().len()]; reals.len()];
        for ((path, p), (other, q)) in law.iter().zip(&oracle) {
            prop_assert_eq!(path, other);
            prop_assert!((p - q).abs() < 1e-9, "{} {}", p, q);
            for (t, y) in path.iter().enumerate() {
                marginals[t][y.index()] += q.exp();
            }
        }
        let sum: f64 = law.iter().map(|(_, p)| p.exp()).sum();
        prop_assert!((sum - 1.0).abs() < 1e-9);
        // Analysis by passes gives the same marginals as adding up paths.
        let with_first = [&[from], &reals[..]].concat();
        let figures =
            given_walk::utility(&whole, &with_first, Start::First, &[], &unwatched).unwrap();
        for (t, (law, &x)) in marginals.iter().zip(&reals).enumerate() {
            let row = model.directed().to(x);
            let mean: f64 = law.iter().zip(row).map(|(p, d)| p * d.as_f64()).sum();
            let (wrong, distance) = (figures.wrong_by_step[t + 1], figures.distance_by_step[t + 1]);
            prop_assert!((wrong - (1.0 - law[x.index()])).abs() < 1e-9);
            prop_assert!((distance - mean).abs() < 1e-9 * (1.0 + mean));
        }
    }

    /// Every pair of adjacent walks of three steps, in blocks of two (so that there is a border) and
    /// of three.
    #[test]
    fn the_loss_of_adjacent_walks_is_within_epsilon(
        chain in random_chain(4),
        distance in prop_oneof![4 => distances(), 1 => Just(Distance::Cell)],
        weight in prop_oneof![Just("0"), Just("0.5")],
        epsilon in prop_oneof![Just("0.1"), Just("1"), Just("8")],
        length in prop_oneof![Just("2"), Just("3"), Just("all")],
        substitutions in any::<bool>(),
    ) {
        let model = Arc::new(Model::new(chain).unwrap());
        let chain = model.chain();
        let epsilon_value: f64 = epsilon.parse().unwrap();
        let unit = if substitutions {
            Unit::Substitutions(2.try_into().unwrap())
        } else {
            Unit::Radius("2.5".parse().unwrap())
        };
        let promise = Promise { epsilon: epsilon.parse().unwrap(), unit };
        let made = Mechanism::in_blocks(
            model.clone(), exponential(distance, weight), promise, length.parse().unwrap()
        );
        let Ok(blocks) = made else { return Ok(()) };
        prop_assert!(blocks.blocks().unwrap().rounding_cost() < 1e-5);
        let n = chain.len();
        let walks: Vec<Vec<StateId>> = (0..n * n * n)
            .map(|i| [i % n, i / n % n, i / n / n].map(StateId::new).to_vec())
            .collect();
        for z in chain.states() {
            let laws: Vec<Vec<f64>> = walks.iter().map(|reals| walk_law(&blocks, z, reals)).collect();
            for (one, p) in walks.iter().zip(&laws) {
                for (two, q) in walks.iter().zip(&laws) {
                    let pairs = one.iter().zip(two);
                    let adjacent = match unit {
                        Unit::Substitutions(_) => pairs.filter(|(a, b)| a != b).count() <= 2,
                        Unit::Radius(_) => {
                            let apart = pairs.map(|(&a, &b)| model.symmetric().between(a, b).as_f64());
                            apart.sum::<f64>() <= 2.5
                        }
                    };
                    if adjacent {
                        let loss = p.iter().zip(q).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                        prop_assert!(loss <= epsilon_value + 1e-11, "{} {:?} {:?}", loss, one, two);
                    }
                }
            }
        }
    }
}

/// The logarithms of the probabilities of all released walks, in order.
fn walk_law(blocks: &Mechanism, from: StateId, reals: &[StateId]) -> Vec<f64> {
    let most = blocks.blocks().map(Blocks::length).unwrap().most_steps().get() as usize;
    let mut ends = vec![(from, 0.0)];
    for block in reals.chunks(most) {
        let longer = ends.iter().flat_map(|&(z, log)| {
            let law = blocks.log_law(z, block).into_iter();
            law.map(move |(path, p)| (*path.last().unwrap(), log + p))
        });
        ends = longer.collect();
    }
    ends.into_iter().map(|(_, log)| log).collect()
}

/// Every released block is judged by itself, also those expected less than once.
#[test]
fn sampled_blocks_agree_with_the_law() {
    let small = Arc::new(Model::new(scattered_chain(6, 3, 5)).unwrap());
    let cases = [
        (small.clone(), exponential(Distance::Symmetric, "0.5"), vec![0, 3, 3, 1, 5]),
        (small, exponential(Distance::Cell, "0"), vec![2, 2, 4]),
        (credit(), exponential(Distance::Directed, "0"), vec![6, 7, 6]),
    ];
    for (model, design, reals) in cases {
        let reals: Vec<_> = reals.into_iter().map(StateId::new).collect();
        let blocks = blocks(&model, design, radius("4", "3.5"), "5");
        let law = blocks.log_law(reals[0], &reals);
        let mut randomness = randomness(&blocks, 1);
        let key = randomness.walk(b"test");
        let words = randomness.at(&key, 0, None);
        let mut space = Workspace::default();
        let mut counts = std::collections::HashMap::new();
        let n = 1_000_000;
        for _ in 0..n {
            *counts.entry(release(&blocks, reals[0], &reals, words, &mut space)).or_insert(0u64) +=
                1;
        }
        assert!(law.len() > 20);
        for (path, log) in law {
            let seen = counts.remove(&path).unwrap_or(0);
            let chance = chance_of(seen, n, log.exp());
            assert!(chance > 1e-9, "{path:?}: {seen} of {n} at {}: {chance}", log.exp());
        }
        assert!(counts.is_empty(), "only paths of the chain");
    }
}

/// The real walk is out of step with a chain of period two, for ten thousand steps, and 690 nats
/// away: nothing overflows, underflows or is impossible.
#[test]
fn the_most_unlikely_block_is_still_released() {
    use veilwalk::chain::{ChainBuilder, Entries};
    let mut builder = ChainBuilder::new(Entries::Counts);
    let ids = ["a", "b", "c", "d"].map(|label| builder.state(label));
    for (i, j, entry) in
        [(0, 1, 1.0), (1, 0, 1.0), (1, 2, 1e-300), (2, 3, 1.0), (3, 2, 1.0), (3, 0, 1e-300)]
    {
        builder.transition(ids[i], ids[j], entry).unwrap();
    }
    let model = Arc::new(Model::new(builder.build(Default::default()).unwrap().0).unwrap());
    let blocks = blocks(&model, exponential(Distance::Symmetric, "0.5"), radius("100", "1"), "all");
    let reals: Vec<_> = (0..10_000).map(|t| ids[2 + t % 2]).collect();
    let mut randomness = randomness(&blocks, 1);
    let key = randomness.walk(b"test");
    let released = release(
        &blocks,
        ids[0],
        &reals,
        randomness.at_block(&key, 1, Some(ids[0]), &reals),
        &mut Workspace::default(),
    );
    assert_eq!(released.len(), reals.len());
    let moves = [&[ids[0]], &released[..]].concat();
    assert!(moves.windows(2).all(|pair| model.chain().allows(pair[0], pair[1])));
    // It pays to cross over as soon as possible.
    assert!(released[2..].iter().all(|y| y.index() >= 2));
}

#[test]
fn segments_change_nothing() {
    let model = Arc::new(Model::new(scattered_chain(40, 3, 7)).unwrap());
    for distance in [Distance::Symmetric, Distance::Cell] {
        let blocks = blocks(&model, exponential(distance, "0.5"), radius("2", "3"), "300");
        let own = OwnWalks::new(model.chain());
        let released = |mut space: Workspace| {
            let mut randomness = randomness(&blocks, 3);
            let key = randomness.walk(b"test");
            let words = randomness.at(&key, 0, None);
            let reals = own.walk(Origin::At(StateId::new(4)), 300, words);
            [300, 299, 40, 1]
                .map(|n| release(&blocks, StateId::new(9), &reals[..n], words, &mut space))
        };
        let whole = released(Workspace::default());
        for steps in [1, 2, 7, 17, 100, 299, 300, 1000] {
            assert_eq!(released(Workspace::with_segments(steps)), whole, "{steps}");
        }
    }
}

#[test]
fn the_loss_of_a_block_grows_with_what_is_replaced_and_stays_within_the_bound() {
    let model = Arc::new(Model::new(scattered_chain(5, 3, 2)).unwrap());
    let blocks = blocks(&model, exponential(Distance::Symmetric, "0.5"), radius("1", "2"), "4");
    let at = |states: [usize; 4]| states.map(StateId::new);
    let real = at([0, 1, 2, 3]);
    assert_eq!(block_loss(&blocks, &real, &real), 0.0);
    let mut before = 0.0;
    for other in [at([0, 1, 2, 4]), at([0, 1, 0, 4]), at([0, 3, 0, 4])] {
        let apart: f64 =
            real.iter().zip(other).map(|(&a, b)| model.symmetric().between(a, b).as_f64()).sum();
        let loss = block_loss(&blocks, &real, &other);
        assert!(loss > before && loss <= 0.5 * apart, "{loss} {apart}");
        before = loss;
    }
}

/// The worst replacement by passes is the worst of all pairs by enumeration.
#[test]
fn the_worst_replacement_is_that_of_the_enumeration() {
    let cases = [
        (scattered_chain(4, 2, 3), Distance::Symmetric, "0.5", 3),
        (scattered_chain(5, 3, 4), Distance::Directed, "0", 2),
        (scattered_chain(4, 3, 5), Distance::Hamming, "1", 2),
    ];
    for (chain, distance, weight, steps) in cases {
        let model = Arc::new(Model::new(chain).unwrap());
        let design = exponential(distance, weight);
        let blocks = blocks(&model, design, radius("3", "2"), "3");
        let n = model.chain().len();
        let block = |mut i: usize| -> Vec<StateId> {
            let digit = |_| {
                let digit = i % n;
                i /= n;
                StateId::new(digit)
            };
            (0..steps).map(digit).collect()
        };
        for nats in [2.0, f64::INFINITY] {
            let near = |x, y| model.symmetric().between(x, y).as_f64() <= nats;
            let mut oracle = 0.0f64;
            for real in (0..n.pow(steps as u32)).map(block) {
                for t in 0..steps {
                    let others =
                        model.chain().states().filter(|&y| y != real[t] && near(real[t], y));
                    for other in others {
                        let mut changed = real.clone();
                        changed[t] = other;
                        oracle = oracle.max(block_loss(&blocks, &real, &changed));
                    }
                }
            }
            let found = worst_replacement(&blocks, steps, near, &unwatched).unwrap();
            let Some(found) = found else {
                assert_eq!(oracle, 0.0);
                continue;
            };
            assert_eq!(found.steps, steps);
            assert!((found.max - oracle).abs() < 1e-9, "{distance}: {} {oracle}", found.max);
            let id = |label: &String| model.chain().require(label).unwrap();
            let real: Vec<StateId> = found.real.iter().map(id).collect();
            let mut changed = real.clone();
            changed[found.step - 1] = id(&found.other);
            assert!((block_loss(&blocks, &real, &changed) - oracle).abs() < 1e-9);
        }
    }
}

/// One guarantee for both kinds of release, each with the figures it has.
#[test]
fn a_guarantee_says_how_states_are_released() {
    let (model, promise) = (credit(), radius("1", "3.5"));
    let design = exponential(Distance::Symmetric, "0.5");
    let steps = Mechanism::new(model.clone(), design, promise).unwrap();
    let told = |mechanism: &Mechanism| {
        let guarantee = Guarantee::new(mechanism, Effort::default(), &unwatched).unwrap();
        let keys = serde_json::to_value(&guarantee).unwrap();
        (guarantee.of_blocks().is_some(), keys, guarantee.to_string())
    };
    let (in_blocks, keys, words) = told(&steps);
    assert!(!in_blocks && keys["substitution_loss"].is_object() && keys["block"].is_null());
    assert!(!words.contains("answered up to"), "{words}");
    for (length, late) in [
        ("1", "Each step is released by itself."),
        ("2", "answered up to 1 step late"),
        ("3", "answered up to 2 steps late"),
        ("all", "when it is over, as a whole"),
    ] {
        let (in_blocks, keys, words) = told(&blocks(&model, design, promise, length));
        assert!(in_blocks && keys["substitution_loss"].is_null());
        assert!(keys["rounding_cost"].is_number() && keys["borders"].is_string());
        assert_eq!(keys["block"].as_u64(), length.parse().ok());
        assert_eq!(keys["longest_walk"].is_number(), length == "all");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(late), "{words}");
    }
}
