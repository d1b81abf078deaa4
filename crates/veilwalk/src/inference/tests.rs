//! Against every real walk there can be, for every mechanism and start.

use std::sync::Arc;

use proptest::prelude::*;

use super::estimate::{EstimateSettings, IntervalSettings, Sample, WithTrips};
use super::*;
use crate::belief::smooth;
use crate::chain::{ChainBuilder, Entries, StateId};
use crate::mechanism::{Candidates, LeastShare, Preset, Promise, Tracking};
use crate::model::Model;
use crate::random::{Source, Words};
use crate::session::follower::log_law_of_observations;
use crate::session::{Releaser, Walker};
use crate::watch::unwatched;

fn credit() -> Arc<Model> {
    Arc::new(Model::new(Chain::credit()).unwrap())
}

fn within(epsilon: &str, radius: &str) -> Promise {
    Promise::within_radius(epsilon.parse().unwrap(), radius.parse().unwrap())
}

fn words(seed: u64) -> impl Words {
    Source::seeded(seed).words_for_tests()
}

/// A walk of a chain, from this state or from a state of its initial distribution.
fn own_walk(
    chain: &Chain,
    from: Option<StateId>,
    steps: usize,
    words: &mut impl Words,
) -> Vec<StateId> {
    let mut walk = vec![from.unwrap_or_else(|| chain.initial().draw(words))];
    for _ in 0..steps {
        let last = walk[walk.len() - 1];
        let mut left = (words.word() >> 11) as f64 * 2f64.powi(-53);
        let moves = chain.successors(last).iter().zip(chain.probabilities(last));
        let drawn = moves.map(|(&to, p)| (to, p)).find(|(_, p)| {
            left -= **p;
            left < 0.0
        });
        walk.push(drawn.map_or(chain.successors(last)[0], |(to, _)| to));
    }
    walk
}

/// The probability of what was drawn, given a real walk, by the mechanism's own kernels.
fn log_law(mechanism: &Mechanism, start: Start, drawn: &[StateId], real: &[StateId]) -> f64 {
    let chain = mechanism.model().chain();
    let first = match start {
        Start::Private if mechanism.observation().is_some() => 0.0,
        Start::Private => mechanism.first_law(real[0]).unwrap()[drawn[0].index()].ln(),
        Start::Initial => chain.initial().probability(drawn[0]).ln(),
        Start::First if drawn[0] == real[0] => 0.0,
        Start::First => f64::NEG_INFINITY,
        Start::At(state) if drawn[0] == state => 0.0,
        Start::At(_) => f64::NEG_INFINITY,
    };
    let from = usize::from(!(start == Start::Private && mechanism.observation().is_some()));
    let steps = (from..drawn.len()).map(|t| {
        // The law of an observation over all states does not depend on the last one.
        let last = drawn[t.saturating_sub(1)];
        let candidates = mechanism.candidates(last);
        let place = candidates.binary_search(&drawn[t]).unwrap();
        mechanism.log_kernel(last, real[t])[place]
    });
    first + steps.sum::<f64>()
}

/// Every real walk with its share of the posterior.
fn every_walk(
    chain: &Chain,
    steps: usize,
    log_law: impl Fn(&[StateId]) -> f64,
) -> Vec<(Vec<StateId>, f64)> {
    let mut walks: Vec<(Vec<StateId>, f64)> =
        chain.states().map(|x| (vec![x], chain.initial().probability(x))).collect();
    for _ in 1..steps {
        let longer = walks.iter().flat_map(|(walk, weight)| {
            let last = *walk.last().unwrap();
            let moves = chain.successors(last).iter().zip(chain.probabilities(last));
            moves.map(move |(&to, p)| (walk.iter().copied().chain([to]).collect(), weight * p))
        });
        walks = longer.filter(|(_, weight): &(Vec<_>, f64)| *weight > 0.0).collect();
    }
    let logs: Vec<f64> = walks.iter().map(|(walk, _)| log_law(walk)).collect();
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for ((_, weight), log) in walks.iter_mut().zip(logs) {
        *weight *= (log - top).exp();
    }
    let total: f64 = walks.iter().map(|(_, weight)| weight).sum();
    walks.iter_mut().for_each(|(_, weight)| *weight /= total);
    walks
}

fn assert_near(found: f64, expected: f64, what: &str) {
    assert!(
        (found - expected).abs() <= 1e-12 * expected.abs() + 1e-300,
        "{what}: {found} {expected}"
    );
}

/// Posteriors and expected moves of one release against all real walks.
fn compare(inference: &Inference, drawn: &[StateId], all: &[(Vec<StateId>, f64)]) {
    let chain = inference.chain().clone();
    let posterior = inference.posterior(drawn, &mut InferenceSpace::default()).unwrap();
    assert_eq!((posterior.dropped(), posterior.surprises()), (0.0, 0));
    for (t, marginal) in posterior.steps().iter().enumerate() {
        for x in chain.states() {
            let expected = all.iter().filter(|(walk, _)| walk[t] == x).map(|(_, w)| w).sum();
            assert_near(marginal.probability(x), expected, "a state");
        }
    }
    let mut space = InferenceSpace::default();
    let mut seen = inference.filter(inference.law(), drawn, &mut space).seen;
    let mut moves = vec![0.0; chain.transitions()];
    smooth(inference.law(), &mut seen, &mut space.beliefs, |from, place, p| {
        moves[chain.row(from).start + place] += p;
    });
    let mut expected = vec![0.0; chain.transitions()];
    for (walk, weight) in all {
        for pair in walk.windows(2) {
            let place = chain.successors(pair[0]).binary_search(&pair[1]).unwrap();
            expected[chain.row(pair[0]).start + place] += weight;
        }
    }
    moves.iter().zip(&expected).for_each(|(m, e)| assert_near(*m, *e, "a move"));
    let likeliest = inference.likeliest_walk(&posterior);
    let weight = all.iter().find(|(walk, _)| *walk == likeliest).map_or(0.0, |(_, weight)| *weight);
    let most = all.iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
    assert_near(weight, most, "the likeliest walk");
}

fn drawn_for(mechanism: &Mechanism, start: Start, real: &[StateId], seed: u64) -> Vec<StateId> {
    let mut walker = Walker::new(mechanism);
    let released = walker.release(start, real, &mut words(seed));
    let observes = mechanism.observation().is_some();
    if observes { released.observed.clone() } else { released.states.clone() }
}

/// Five steps of every preset, and every start; up to eight for one.
#[test]
fn posteriors_are_those_of_all_real_walks() {
    let model = credit();
    let chain = model.chain();
    let b = chain.require("B").unwrap();
    for preset in Preset::ALL {
        if matches!(preset, Preset::Believed) {
            continue;
        }
        let promise = match preset {
            Preset::Chen | Preset::ExponentialHamming => {
                Promise::for_substitutions("2".parse().unwrap(), 1.try_into().unwrap())
            }
            _ => within("3", "3.5"),
        };
        let mechanism = Arc::new(Mechanism::new(model.clone(), preset.design(), promise).unwrap());
        for (start, seed) in
            [Start::Private, Start::Initial, Start::First, Start::At(b)].into_iter().zip(1..)
        {
            let steps = if preset == Preset::Cell && seed == 1 { 7 } else { 4 };
            let real = own_walk(chain, Some(b), steps - 1, &mut words(seed));
            let drawn = drawn_for(&mechanism, start, &real, seed);
            let inference = Inference::new(mechanism.clone(), start).unwrap();
            let law = |walk: &[StateId]| log_law(&mechanism, start, &drawn, walk);
            compare(&inference, &drawn, &every_walk(chain, steps, law));
        }
    }
}

/// The law of believed candidates depends on everything observed before.
#[test]
fn posteriors_follow_beliefs() {
    let model = credit();
    let chain = model.chain();
    let design = |share: &str| crate::mechanism::Design {
        candidates: Candidates::Believed(share.parse::<LeastShare>().unwrap()),
        ..Preset::Believed.design()
    };
    let replaced = Promise::for_substitutions("2".parse().unwrap(), 1.try_into().unwrap());
    for (share, promise) in [("0.1", within("3", "3.5")), ("0.02", replaced), ("0", replaced)] {
        let mechanism = Arc::new(Mechanism::new(model.clone(), design(share), promise).unwrap());
        let real = ["B", "Caa", "Caa"].map(|label| chain.require(label).unwrap());
        let drawn = drawn_for(&mechanism, Start::Private, &real, 3);
        let inference = Inference::new(mechanism.clone(), Start::Private).unwrap();
        let law = |walk: &[StateId]| {
            let laws = log_law_of_observations(&mechanism, walk).unwrap();
            laws.iter().find(|(path, _)| *path == drawn).map_or(f64::NEG_INFINITY, |(_, log)| *log)
        };
        compare(&inference, &drawn, &every_walk(chain, 3, law));
    }
}

/// Random chains of up to four states, any of the mechanisms.
fn small_chains() -> impl Strategy<Value = Arc<Model>> {
    (2usize..=4).prop_flat_map(|n| {
        let entry = prop_oneof![2 => Just(0.0), 3 => 0.02f64..1.0];
        proptest::collection::vec(entry, n * n).prop_map(move |entries| {
            let mut builder = ChainBuilder::new(Entries::Counts);
            let states: Vec<_> = (0..n).map(|i| builder.state(&format!("s{i}"))).collect();
            for i in 0..n {
                for j in 0..n {
                    let ring = if j == (i + 1) % n { 0.3 } else { 0.0 };
                    let entry = entries[i * n + j] + ring;
                    if entry > 0.0 {
                        builder.transition(states[i], states[j], entry).unwrap();
                    }
                }
            }
            Arc::new(Model::new(builder.build(Default::default()).unwrap().0).unwrap())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever was released, and whatever somebody holds likely of real walks, the odds of two real walks that
    /// the promise does not tell apart move by no more than it says.
    #[test]
    fn odds_of_adjacent_walks_move_by_no_more_than_epsilon(
        model in small_chains(), epsilon in 1u32..4, kind in 0usize..3, seed in 0u64..1000
    ) {
        let chain = model.chain();
        let preset = [Preset::Cell, Preset::Sharp, Preset::Tight][kind];
        let promise = Promise::for_substitutions(
            epsilon.to_string().parse().unwrap(), 1.try_into().unwrap());
        let Ok(mechanism) = Mechanism::new(model.clone(), preset.design(), promise) else {
            return Ok(());
        };
        let mechanism = Arc::new(mechanism);
        let real = own_walk(chain, None, 3, &mut words(seed));
        if mechanism.check_start(Start::Private, &unwatched).is_err() {
            return Ok(());
        }
        let drawn = drawn_for(&mechanism, Start::Private, &real, seed + 1);
        let law = |walk: &[StateId]| log_law(&mechanism, Start::Private, &drawn, walk);
        let all = every_walk(chain, 4, law);
        let prior = every_walk(chain, 4, |_| 0.0);
        for (a, prior_a) in all.iter().zip(&prior) {
            for (b, prior_b) in all.iter().zip(&prior) {
                let differ = a.0.iter().zip(&b.0).filter(|(x, y)| x != y).count();
                if differ == 1 {
                    let moved = (a.1 / b.1).ln() - (prior_a.1 / prior_b.1).ln();
                    prop_assert!(moved <= f64::from(epsilon) * (1.0 + 1e-9), "{moved}");
                }
            }
        }
    }

    /// Refined walks are feasible, cost least of all feasible walks, and never more than the release.
    #[test]
    fn refined_walks_are_the_best_feasible_ones(
        model in small_chains(), kind in 0usize..3, seed in 0u64..1000, states in any::<bool>()
    ) {
        let chain = model.chain();
        let preset = [Preset::Cell, Preset::Sharp, Preset::Tight][kind];
        let promise = Promise::for_substitutions("1".parse().unwrap(), 1.try_into().unwrap());
        let Ok(mechanism) = Mechanism::new(model.clone(), preset.design(), promise) else {
            return Ok(());
        };
        let mechanism = Arc::new(mechanism);
        let real = own_walk(chain, None, 4, &mut words(seed));
        let mut walker = Walker::new(&mechanism);
        if mechanism.check_start(Start::Private, &unwatched).is_err() {
            return Ok(());
        }
        let released = walker.release(Start::Private, &real, &mut words(seed)).clone();
        let drawn = if kind == 2 { &released.observed } else { &released.states };
        let aim = if states { RefineAim::States } else { RefineAim::Distance };
        let inference = Inference::new(mechanism.clone(), Start::Private).unwrap();
        let posterior = inference.posterior(drawn, &mut InferenceSpace::default()).unwrap();
        let refined = inference.refine(&posterior, &released.states, aim);
        prop_assert!(refined.states.windows(2).all(|pair| chain.allows(pair[0], pair[1])));
        prop_assert!(refined.cost <= refined.released_cost);
        let cost = |walk: &[StateId]| -> f64 {
            walk.iter().zip(posterior.steps()).map(|(&w, marginal)| {
                let each = marginal.states().iter().zip(marginal.probabilities());
                each.map(|(&x, p)| p * match aim {
                    RefineAim::States => f64::from(u8::from(w != x)),
                    RefineAim::Distance => model.symmetric_between(w, x).as_f64(),
                }).sum::<f64>()
            }).sum()
        };
        prop_assert!((cost(&refined.states) - refined.cost).abs() < 1e-9);
        prop_assert!((cost(&released.states) - refined.released_cost).abs() < 1e-9);
        let mut feasible: Vec<Vec<StateId>> = chain.states().map(|x| vec![x]).collect();
        feasible.retain(|walk| chain.initial().probability(walk[0]) > 0.0);
        for _ in 1..real.len() {
            feasible = feasible.iter().flat_map(|walk| {
                chain.successors(*walk.last().unwrap()).iter().map(move |&to| {
                    walk.iter().copied().chain([to]).collect()
                })
            }).collect();
        }
        let least = feasible.iter().map(|walk| cost(walk)).fold(f64::INFINITY, f64::min);
        prop_assert!((least - refined.cost).abs() < 1e-9, "{least} {}", refined.cost);
    }
}

/// With a lag as long as the walk the first state is known as well as from the whole release, and every move
/// is possible; the lag that a mechanism tracks with gives the walk that it released.
#[test]
fn a_lag_gives_what_would_have_been_released_with_it() {
    let model = credit();
    let chain = model.chain();
    for lag in [0u32, 2] {
        let tracking =
            Tracking { lag, gamma: crate::rational::Rational::ZERO, ..Tracking::default() };
        let mechanism =
            Mechanism::new(model.clone(), Preset::Tight.design(), within("1", "1")).unwrap();
        let mechanism = Arc::new(mechanism.tracking(tracking));
        let mut releaser =
            Releaser::new(mechanism.clone(), &Source::seeded(5), Start::Private).unwrap();
        for walk in 0..20 {
            let real = own_walk(chain, None, 20, &mut words(walk));
            let released = releaser.release(&format!("{walk}"), &real).unwrap();
            let inference = Inference::new(mechanism.clone(), Start::Private)
                .unwrap()
                .dropping_below(crate::belief::Tracker::PRUNED_BELOW);
            let refined = inference.refine_with_lag(
                &released.observed,
                &released.states,
                lag as usize,
                RefineAim::Distance,
                &mut InferenceSpace::default(),
            );
            let refined = refined.unwrap();
            let endless = inference.refine_with_lag(
                &released.observed,
                &released.states,
                usize::MAX,
                RefineAim::Distance,
                &mut InferenceSpace::default(),
            );
            assert_eq!(endless.unwrap().states.len(), released.states.len());
            assert_eq!(refined.states, released.states);
            assert_eq!(refined.cost, refined.released_cost);
        }
    }
}

/// A crowd that does not follow the public chain.
fn crowd(model: &Model, contrast: f64, seed: u64) -> Chain {
    let chain = model.chain();
    let mut words = words(seed);
    let mut builder = ChainBuilder::new(Entries::Counts);
    let states: Vec<_> = chain.states().map(|s| builder.state(chain.label(s))).collect();
    for from in chain.states() {
        for (&to, p) in chain.successors(from).iter().zip(chain.probabilities(from)) {
            let u = (words.word() >> 11) as f64 * 2f64.powi(-53);
            let tilted = p * (contrast * (2.0 * u - 1.0)).exp();
            builder.transition(states[from.index()], states[to.index()], tilted).unwrap();
        }
    }
    builder.build(Default::default()).unwrap().0
}

fn releases(
    mechanism: &Arc<Mechanism>,
    crowd: &Chain,
    walks: usize,
    steps: usize,
    seed: u64,
) -> (Vec<Vec<StateId>>, Vec<Vec<StateId>>) {
    let mut walker = Walker::new(mechanism);
    let mut stream = words(seed);
    (0..walks)
        .map(|_| {
            let real = own_walk(crowd, None, steps, &mut stream);
            let released = walker.release(Start::Private, &real, &mut stream);
            let observes = mechanism.observation().is_some();
            let drawn = if observes { &released.observed } else { &released.states };
            (real, drawn.clone())
        })
        .unzip()
}

/// The shares of moves in walks, in the order of the chain's.
fn counted(chain: &Chain, walks: &[Vec<StateId>]) -> Vec<f64> {
    let mut counts = vec![0.0; chain.len() * chain.len()];
    for pair in walks.iter().flat_map(|walk| walk.windows(2)) {
        counts[pair[0].index() * chain.len() + pair[1].index()] += 1.0;
    }
    let total: f64 = counts.iter().sum();
    counts.iter_mut().for_each(|count| *count /= total);
    counts
}

/// On credit, 4,000 walks: moves are at least ten times closer than counting what was observed.
#[test]
fn a_crowds_moves_are_learned_from_its_releases() {
    let model = credit();
    let chain = model.chain();
    let crowd = crowd(&model, 1.2, 7);
    for (radius, most, times) in [("3.45", 0.05, 10.0), ("1", 0.01, 10.0)] {
        let mechanism = Mechanism::new(model.clone(), Preset::Tight.design(), within("1", radius));
        let mechanism = Arc::new(mechanism.unwrap());
        let (real, drawn) = releases(&mechanism, &crowd, 4000, 40, 11);
        let inference = Inference::new(mechanism, Start::Private).unwrap();
        let sample = [Sample { inference: &inference, walks: &drawn }];
        let began = std::time::Instant::now();
        let found = estimate(&sample, EstimateSettings::default(), &unwatched).unwrap();
        let took = began.elapsed();
        assert!(found.converged());
        let mut moves = vec![0.0; chain.len() * chain.len()];
        let total: f64 = found.expected().moves().iter().sum();
        for ((from, to), count) in found.law().all_moves().zip(found.expected().moves()) {
            moves[from.index() * chain.len() + to.index()] = count / total;
        }
        let truth = counted(chain, &real);
        let off =
            |shares: &[f64]| -> f64 { shares.iter().zip(&truth).map(|(a, b)| (a - b).abs()).sum() };
        let (learned, counting) = (off(&moves), off(&counted(chain, &drawn)));
        println!(
            "{radius}: learned {learned:.4}, counting {counting:.3}, rounds {}, {took:?}",
            found.rounds()
        );
        assert!(learned < most && learned * times < counting, "{learned} {counting}");
        // Trips add up to walks, and agree with the starts.
        let ends = trips(&sample, found.law(), &unwatched).unwrap();
        assert!((ends.values().sum::<f64>() - 4000.0).abs() < 1e-6);
        for state in chain.states() {
            let from = ends.iter().filter(|((o, _), _)| *o == state).map(|(_, n)| n).sum::<f64>();
            assert!((from - found.expected().starts()[state.index()]).abs() < 1e-6);
        }
    }
}

/// Walks that are with two others give what they give here.
#[test]
fn counts_that_others_make_give_the_same_estimate() {
    let model = credit();
    let crowd = crowd(&model, 1.0, 3);
    let mechanism = Mechanism::new(model.clone(), Preset::Cell.design(), within("1", "2")).unwrap();
    let (_, drawn) = releases(&Arc::new(mechanism.clone()), &crowd, 128, 10, 5);
    let inference = Inference::new(Arc::new(mechanism), Start::Private).unwrap();
    let settings = EstimateSettings::default();
    let all = [Sample { inference: &inference, walks: &drawn }];
    let here = estimate(&all, settings, &unwatched).unwrap();
    let by_others = |law: &Law| -> Result<_, EstimateError> {
        let (first, second) = drawn.split_at(64);
        let mut sum: Vec<f64> = Vec::new();
        for walks in [first, second] {
            let part = [Sample { inference: &inference, walks }];
            let numbers = expected_counts(&part, law, &unwatched)?.to_numbers();
            sum.resize(numbers.len(), 0.0);
            sum.iter_mut().zip(&numbers).for_each(|(sum, number)| *sum += number);
        }
        assert!(Expected::from_numbers(&sum[1..], law).is_none());
        Ok(Expected::from_numbers(&sum, law).unwrap())
    };
    let there = estimate_by(inference.law(), settings, by_others, &unwatched).unwrap();
    assert_eq!(here.expected(), there.expected());
    assert_eq!((here.rounds(), here.law()), (there.rounds(), there.law()));
}

/// Each round gains, and a leap never loses.
#[test]
fn the_likelihood_never_falls() {
    let model = credit();
    let crowd = crowd(&model, 1.0, 3);
    let mechanism =
        Mechanism::new(model.clone(), Preset::Cell.design(), within("1", "3.45")).unwrap();
    let mechanism = Arc::new(mechanism);
    let (_, drawn) = releases(&mechanism, &crowd, 200, 20, 5);
    let inference = Inference::new(mechanism, Start::Private).unwrap();
    let sample = [Sample { inference: &inference, walks: &drawn }];
    let mut last = f64::NEG_INFINITY;
    for most_rounds in [1, 3, 5, 9, 20, 60] {
        let settings = EstimateSettings { most_rounds, strength: 0.0, gain: 0.0 };
        let found = estimate(&sample, settings, &unwatched).unwrap();
        let reached = found.expected().log_likelihood();
        assert!(reached >= last - 1e-9, "{reached} after {last}");
        last = reached;
    }
}

/// How often intervals cover what they are about, over many crowds' releases. `repetitions` of them.
fn coverage(model: &Arc<Model>, repetitions: u64, walks: usize, steps: usize) -> (f64, f64) {
    let chain = model.chain();
    let crowd = crowd(model, 1.0, 13);
    // What the crowd does on average, from its own law.
    let law = Law::of_other(&crowd, chain).unwrap();
    let (mut here, mut visits, mut moves) =
        (law.initial().to_vec(), vec![0.0; chain.len()], vec![0.0; chain.transitions()]);
    for t in 0..=steps {
        for state in chain.states() {
            visits[state.index()] += here[state.index()] / (steps + 1) as f64;
            if t < steps {
                for place in law.row(state) {
                    moves[place] +=
                        here[state.index()] * law.all_probabilities()[place] / steps as f64;
                }
            }
        }
        here = law.moved(&here);
    }
    let mechanism =
        Mechanism::new(model.clone(), Preset::Tight.design(), within("1", "1.5")).unwrap();
    let mechanism = Arc::new(mechanism);
    let (mut inside, mut of) = ([0.0; 2], [0.0; 2]);
    for repetition in 0..repetitions {
        let (_, drawn) = releases(&mechanism, &crowd, walks, steps, 1000 + repetition);
        let inference = Inference::new(mechanism.clone(), Start::Private).unwrap();
        let sample = [Sample { inference: &inference, walks: &drawn }];
        let settings = EstimateSettings::default();
        let found = estimate(&sample, settings, &unwatched).unwrap();
        let how = IntervalSettings { replicates: 40, trips: WithTrips::No, ..Default::default() };
        let made = intervals(&sample, &found, &Trips::new(), settings, how, &unwatched).unwrap();
        for (k, (truth, made)) in
            [(&visits, &made.visits), (&moves, &made.moves)].iter().enumerate()
        {
            for (share, interval) in truth.iter().zip(made.iter()) {
                of[k] += 1.0;
                inside[k] += f64::from(u8::from(interval.low <= *share && *share <= interval.high));
            }
        }
    }
    (inside[0] / of[0], inside[1] / of[1])
}

#[test]
fn intervals_cover_about_as_often_as_they_say() {
    let (visits, moves) = coverage(&credit(), 12, 300, 15);
    println!("visits {visits:.3}, moves {moves:.3}");
    assert!(
        (0.88..=0.995).contains(&visits) && (0.88..=0.995).contains(&moves),
        "{visits} {moves}"
    );
}

#[test]
#[ignore = "takes minutes; prints the figures of the documentation"]
fn intervals_cover_as_often_as_they_say() {
    let scattered = Arc::new(Model::new(scattered(20, 5)).unwrap());
    for (name, model) in [("credit", credit()), ("20 states", scattered)] {
        let (visits, moves) = coverage(&model, 200, 300, 15);
        println!("{name}: visits {visits:.3}, moves {moves:.3}");
        let good = 0.93..=0.97;
        assert!(good.contains(&visits) && good.contains(&moves), "{visits} {moves}");
    }
}

fn scattered(states: usize, degree: usize) -> Chain {
    let mut stream = words(17);
    let mut builder = ChainBuilder::new(Entries::Counts);
    let ids: Vec<_> = (0..states).map(|i| builder.state(&format!("s{i}"))).collect();
    for i in 0..states {
        builder.transition(ids[i], ids[(i + 1) % states], 1.0).unwrap();
        let mut taken = vec![(i + 1) % states];
        for _ in 1..degree {
            let j = (stream.word() % states as u64) as usize;
            if !taken.contains(&j) {
                taken.push(j);
                let u = (stream.word() >> 11) as f64 * 2f64.powi(-53);
                builder.transition(ids[i], ids[j], 0.2 + u).unwrap();
            }
        }
    }
    builder.build(Default::default()).unwrap().0
}

#[test]
fn what_cannot_be_inferred_from_is_refused() {
    let model = credit();
    let chain = model.chain();
    let state = |label| chain.require(label).unwrap();
    let design = crate::mechanism::Design {
        rule: crate::mechanism::Rule::Exponential,
        ..Preset::Sharp.design()
    };
    let blocks =
        Mechanism::in_blocks(model.clone(), design, within("3", "3.5"), "3".parse().unwrap())
            .unwrap();
    let refused = Inference::new(Arc::new(blocks), Start::First).unwrap_err();
    assert!(matches!(refused, InferenceError::InBlocks { .. }), "{refused}");
    let cell = Mechanism::new(model.clone(), Preset::Cell.design(), within("3", "3.5")).unwrap();
    let inference = Inference::new(Arc::new(cell), Start::At(state("B"))).unwrap();
    let mut space = InferenceSpace::default();
    let mut why = |drawn: &[StateId]| inference.posterior(drawn, &mut space).unwrap_err();
    assert_eq!(why(&[]), UnlikelyRelease::Empty);
    assert_eq!(why(&[state("Caa")]), UnlikelyRelease::Start);
    assert_eq!(why(&[state("B"), state("Aaa")]), UnlikelyRelease::Move { step: 1 });
    assert_eq!(why(&[state("B"), StateId::new(99)]), UnlikelyRelease::NoSuchState { step: 1 });
}

/// A prior that leads, or starts, nowhere else than out of the chain is refused.
#[test]
fn priors_that_lead_away_are_refused() {
    let made = |moves: &[(&str, &str)]| {
        let mut builder = ChainBuilder::new(Entries::Counts);
        for (from, to) in moves {
            let (from, to) = (builder.state(from), builder.state(to));
            builder.transition(from, to, 1.0).unwrap();
        }
        builder.build(Default::default()).unwrap().0
    };
    let chain = made(&[("A", "B"), ("B", "A"), ("A", "A")]);
    let away = made(&[("A", "X"), ("B", "A"), ("X", "A"), ("X", "B")]);
    let refused = Law::of_other(&away, &chain).unwrap_err();
    assert_eq!(refused, OtherStates::LeadsAway { label: "A".to_owned() });
    let partly = made(&[("A", "X"), ("A", "B"), ("B", "A"), ("X", "A")]);
    let law = Law::of_other(&partly, &chain).unwrap();
    assert_eq!(law.all_probabilities(), [1.0, 1.0]);
    let x = partly.require("X").unwrap();
    let states = partly.len();
    let elsewhere = partly.with_initial(crate::chain::Initial::at(x, states));
    assert_eq!(Law::of_other(&elsewhere, &chain).unwrap_err(), OtherStates::StartsElsewhere);
    let lacking = made(&[("A", "A")]);
    assert_eq!(
        Law::of_other(&lacking, &chain).unwrap_err(),
        OtherStates::Lacks { label: "B".to_owned() }
    );
}

/// What nobody can have drawn contradicts everything: it is counted, and there is still a posterior.
#[test]
fn contradictions_are_counted() {
    let model = Arc::new(Model::new(scattered(30, 2)).unwrap());
    let promise = Promise::for_substitutions("4".parse().unwrap(), 1.try_into().unwrap());
    let mechanism = Mechanism::new(model.clone(), Preset::Believed.design(), promise).unwrap();
    let inference = Inference::new(Arc::new(mechanism), Start::Private).unwrap();
    // A circle of states that nearly all lie beyond the moves of the one before.
    let drawn: Vec<StateId> = (0..12).map(|t| StateId::new(7 * t % 30)).collect();
    let posterior = inference.posterior(&drawn, &mut InferenceSpace::default()).unwrap();
    assert!(posterior.surprises() > 0);
    for marginal in posterior.steps() {
        assert!((marginal.probabilities().iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
}
