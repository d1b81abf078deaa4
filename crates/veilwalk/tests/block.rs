//! Blocks: their distribution, their loss, and what a delay buys.

mod common;

use std::sync::Arc;

use common::{
    blocks, chance_of, credit, exponential, radius, random_chain, scattered_chain, state,
};
use proptest::prelude::*;
use veilwalk::analysis::{given_block, given_walk, unobserved};
use veilwalk::guarantee::block_loss;
use veilwalk::mechanism::{BlockMechanism, BlockWorkspace, Unit};
use veilwalk::random::{Randomness, Words};
use veilwalk::session::BlockReleaser;
use veilwalk::{Chain, Distance, Mechanism, Model, Promise, Source, Start, StateId};

fn randomness(mechanism: &BlockMechanism, seed: u64) -> Randomness {
    Source::seeded(seed).open(mechanism.fingerprint()).unwrap()
}

/// A walk of the chain, from a state.
fn walk(chain: &Chain, from: StateId, steps: usize, words: &mut impl Words) -> Vec<StateId> {
    let mut walk = vec![from];
    for _ in 0..steps {
        let here = *walk.last().unwrap();
        let mut left = (words.word() >> 11) as f64 / (1u64 << 53) as f64;
        let place = chain.probabilities(here).iter().position(|p| {
            left -= p;
            left < 0.0
        });
        let last = chain.successors(here).len() - 1;
        walk.push(chain.successors(here)[place.unwrap_or(last)]);
    }
    walk
}

/// Every path with its probability in logarithms, from the definition, in doubles.
fn enumerated(
    mechanism: &BlockMechanism,
    from: StateId,
    reals: &[StateId],
) -> Vec<(Vec<StateId>, f64)> {
    let (model, design) = (mechanism.model(), mechanism.design());
    let chain = model.chain();
    let eta = mechanism.scale().eta().as_f64();
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
                    assert_eq!(one.rounding_cost(), 0.0);
                    assert_eq!(one.scale(), rule.scale(StateId::new(0)));
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
        let made = BlockMechanism::new(model.clone(), exponential(distance, weight), promise, length);
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
            given_block::utility(&whole, &with_first, Start::First, &[], &unobserved).unwrap();
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
        let made = BlockMechanism::new(
            model.clone(), exponential(distance, weight), promise, length.parse().unwrap()
        );
        let Ok(blocks) = made else { return Ok(()) };
        prop_assert!(blocks.rounding_cost() < 1e-5);
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
fn walk_law(blocks: &BlockMechanism, from: StateId, reals: &[StateId]) -> Vec<f64> {
    let most = blocks.length().most_steps().get() as usize;
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
        let mut space = BlockWorkspace::default();
        let mut counts = std::collections::HashMap::new();
        let n = 1_000_000;
        for _ in 0..n {
            *counts.entry(blocks.release(reals[0], &reals, words, &mut space)).or_insert(0u64) += 1;
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
    let released = blocks.release(
        ids[0],
        &reals,
        randomness.at_block(&key, 1, ids[0], &reals),
        &mut BlockWorkspace::default(),
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
        let released = |mut space: BlockWorkspace| {
            let mut randomness = randomness(&blocks, 3);
            let key = randomness.walk(b"test");
            let words = randomness.at(&key, 0, None);
            let reals = walk(model.chain(), StateId::new(4), 300, words);
            [300, 299, 40, 1]
                .map(|n| blocks.release(StateId::new(9), &reals[..n], words, &mut space))
        };
        let whole = released(BlockWorkspace::default());
        for steps in [1, 2, 7, 17, 100, 299, 300, 1000] {
            assert_eq!(released(BlockWorkspace::with_segments(steps)), whole, "{steps}");
        }
    }
}

fn mean_and_error(sample: &[f64]) -> (f64, f64) {
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    let variance = sample.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Walks of 100 steps from Baa at one unit of epsilon per nat: exact for each real walk, averaged
/// over 4,000 of the chain's walks.
#[test]
fn a_delay_buys_accuracy_on_the_credit_chain() {
    let model = credit();
    let design = exponential(Distance::Symmetric, "0.5");
    let promise = radius("3.5", "3.5");
    let baa = state(&model, "Baa");
    for (length, wrong, distance) in [("1", 0.14, 0.46), ("5", 0.066, 0.20), ("all", 0.052, 0.16)] {
        let blocks = blocks(&model, design, promise, length);
        let mut randomness = randomness(&blocks, 1);
        let key = randomness.walk(b"real walks");
        let words = randomness.at(&key, 0, None);
        let figures: Vec<_> = (0..4000)
            .map(|_| {
                let real = walk(model.chain(), baa, 100, words);
                given_block::utility(&blocks, &real, Start::First, &[], &unobserved).unwrap()
            })
            .collect();
        let of = |f: fn(&veilwalk::analysis::Utility) -> f64| {
            mean_and_error(&figures.iter().map(f).collect::<Vec<_>>())
        };
        let w = of(|figures| figures.wrong_state_share);
        let d = of(|figures| figures.mean_distance_nats);
        println!("{length}: {w:.4?} {d:.4?}");
        // Four standard errors, and half a unit of the last digit.
        let digit = |known: f64| if known < 0.1 { 0.0005 } else { 0.005 };
        assert!((w.0 - wrong).abs() < 4.0 * w.1 + digit(wrong), "{length}: {w:?}");
        assert!((d.0 - distance).abs() < 4.0 * d.1 + 0.005, "{length}: {d:?}");
    }
}

/// The figures by passes, the figures of the exponential rule, and the sampler agree.
#[test]
fn analysis_agrees_with_single_steps_and_with_the_sampler() {
    let model = credit();
    let design = exponential(Distance::Symmetric, "0.5");
    let real: Vec<_> = (0..21).map(|t| StateId::new([3, 3, 4, 5, 6, 6, 7][t % 7])).collect();
    let one = blocks(&model, design, radius("2", "3.5"), "1");
    let rule = Mechanism::new(model.clone(), design, radius("2", "3.5")).unwrap();
    let levels = [2.0, 6.0];
    let by_blocks =
        given_block::utility(&one, &real, Start::Initial, &levels, &unobserved).unwrap();
    let by_steps = given_walk::utility(&rule, &real, Start::Initial, &levels, &unobserved).unwrap();
    let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
    for (a, b) in by_blocks.distance_by_step.iter().zip(&by_steps.distance_by_step) {
        assert!(close(*a, *b));
    }
    assert!(close(by_blocks.entropy_nats.released, by_steps.entropy_nats.released));
    assert!(close(by_blocks.exceedance[1].ever, by_steps.exceedance[1].ever));

    let four = Arc::new(blocks(&model, design, radius("2", "3.5"), "4"));
    let exact = given_block::utility(&four, &real, Start::First, &[], &unobserved).unwrap();
    let mut releaser = BlockReleaser::new(four, &Source::seeded(5), Start::First).unwrap();
    let n = 40_000;
    let mut wrong = vec![0u64; real.len()];
    for i in 0..n {
        let released = releaser.release(&i.to_string(), &real).unwrap();
        for (count, (y, x)) in wrong.iter_mut().zip(released.iter().zip(&real)) {
            *count += u64::from(y != x);
        }
    }
    for (t, &count) in wrong.iter().enumerate().skip(1) {
        let p = exact.wrong_by_step[t];
        assert!(chance_of(count, n, p) > 1e-9, "step {t}: {count} of {n} at {p}");
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
