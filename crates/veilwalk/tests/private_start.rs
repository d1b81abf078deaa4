//! A private start: its law, its loss over whole walks, and what it buys.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::{
    blocks, chance_of, credit, exponential, preset, promise, radius, random_chain, state,
};
use proptest::prelude::*;
use veilwalk::analysis::{Inquiry, Origin, Plan};
use veilwalk::chain::Initial;
use veilwalk::guarantee::{Effort, calibrate};
use veilwalk::internal::joint::{JointChain, KernelMemory};
use veilwalk::internal::mechanism::Workspace;
use veilwalk::internal::request::{Base, Request};
use veilwalk::mechanism::{Calibration, Unit};
use veilwalk::session::Releaser;
use veilwalk::{
    CacheSize, Chain, Design, Distance, Mechanism, Model, Preset, Promise, Rule, Session, Source,
    Start, StateId, unwatched,
};

fn uniform_credit() -> Arc<Model> {
    let chain = Chain::credit();
    let uniform = Initial::uniform(chain.len());
    Arc::new(Model::new(chain.with_initial(uniform)).unwrap())
}

/// The law of the first released state, from the laws of whole walks of one state.
fn first_law(mechanism: &Mechanism, real: StateId) -> Vec<f64> {
    let mut law = vec![0.0; mechanism.model().chain().len()];
    for (walk, log) in mechanism.log_law_from_start(&[real]) {
        law[walk[0].index()] += log.exp();
    }
    law
}

/// The figures of the design, computed apart from this program.
#[test]
fn the_start_makes_short_walks_better_by_as_much_as_was_computed_elsewhere() {
    let model = uniform_credit();
    let known = [
        (Preset::Cell, "1", 0.048, 0.165, 0.088, 0.53),
        (Preset::Sharp, "1", 0.083, 0.30, 0.155, 1.05),
        (Preset::Cell, "2", 0.002, 0.006, 0.046, 0.39),
    ];
    for (name, epsilon, wrong, nats, blind_wrong, blind_nats) in known {
        let mechanism = preset(&model, name, epsilon, "1");
        let pair = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
        // The share of wrong states and the mean symmetric distance, over 30 steps and the start.
        let figures = |start| {
            let mut law = pair.start(Origin::Initial, start);
            let (mut wrong, mut nats) = (0.0, 0.0);
            for t in 0..=30 {
                if t > 0 {
                    pair.advance(&mut law);
                }
                wrong += law.wrong_share() / 31.0;
                for x in model.chain().states() {
                    for z in model.chain().states() {
                        let apart = model.symmetric_between(x, z).as_f64();
                        nats += law.probability(x, z) * apart / 31.0;
                    }
                }
            }
            (wrong, nats)
        };
        let close = |a: f64, b: f64| (a - b).abs() <= 0.02 * b + 0.0005;
        let (private, blind) = (figures(Start::Private), figures(Start::Initial));
        assert!(close(private.0, wrong) && close(private.1, nats), "{name} {epsilon}: {private:?}");
        // These were given as what was there before, and roughly.
        let near = (blind.1 - blind_nats).abs() < 0.05 * blind_nats;
        assert!(close(blind.0, blind_wrong) && near, "{blind:?}");
    }
}

/// Ten million draws, every outcome judged by itself.
#[test]
fn drawn_first_states_agree_with_the_law() {
    let skewed = {
        let chain = Chain::credit();
        let p = [0.3, 0.2, 1e-7, 0.1, 0.0, 0.15, 0.05, 0.2 - 1e-7, 0.0];
        let initial = Initial::from_probabilities(&chain, &p).unwrap();
        Arc::new(Model::new(chain.with_initial(initial)).unwrap())
    };
    let draws = 1_000_000;
    let mut rarest = 1.0f64;
    for (seed, model) in [uniform_credit(), skewed].into_iter().enumerate() {
        for (name, epsilon, real) in [
            (Preset::Cell, "1", "Aaa"),
            (Preset::Cell, "4", "B"),
            (Preset::Chen, "1", "Aaa"),
            (Preset::Chen, "3", "Ba"),
            (Preset::Sharp, "2", "Def"),
        ] {
            let mechanism = preset(&model, name, epsilon, "3.5");
            let real = state(&model, real);
            let law = first_law(&mechanism, real);
            assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let mut randomness = Source::seeded(seed as u64).open(mechanism.fingerprint()).unwrap();
            let walk = randomness.walk(b"starts");
            let words = randomness.at(&walk, 0, None);
            let (mut space, mut out) = (Workspace::default(), Vec::new());
            let mut seen = vec![0u64; law.len()];
            for _ in 0..draws {
                out.clear();
                mechanism.release_from_start(&[real], words, &mut space, &mut out).unwrap();
                seen[out[0].index()] += 1;
            }
            for (&seen, &p) in seen.iter().zip(&law) {
                if p > 0.0 {
                    rarest = rarest.min(p);
                    let chance = chance_of(seen, draws, p);
                    assert!(chance > 1e-9, "{name} {epsilon}: {seen} of {draws} at {p}");
                } else {
                    assert_eq!(seen, 0, "a state that walks do not start at");
                }
            }
        }
    }
    assert!(rarest < 1e-6, "rare first states are among them: {rarest}");
}

/// Whole first blocks, start and all.
#[test]
fn drawn_first_blocks_agree_with_their_law() {
    let model = credit();
    let reals: Vec<_> = ["B", "B", "Caa"].iter().map(|label| state(&model, label)).collect();
    let draws = 400_000;
    for (length, chain_weight) in [("3", "0.5"), ("all", "0")] {
        let design = exponential(Distance::Symmetric, chain_weight);
        let mechanism = blocks(&model, design, radius("3.5", "3.5"), length);
        let law: BTreeMap<_, _> = mechanism.log_law_from_start(&reals).into_iter().collect();
        let total: f64 = law.values().map(|log| log.exp()).sum();
        assert!((total - 1.0).abs() < 1e-9, "{total}");
        let mut randomness = Source::seeded(5).open(mechanism.fingerprint()).unwrap();
        let walk = randomness.walk(b"blocks");
        let words = randomness.at(&walk, 0, None);
        for mut space in [Workspace::default(), Workspace::with_segments(1)] {
            let mut seen: BTreeMap<Vec<StateId>, u64> = BTreeMap::new();
            for _ in 0..draws {
                let mut out = Vec::new();
                mechanism.release_from_start(&reals, words, &mut space, &mut out).unwrap();
                *seen.entry(out).or_default() += 1;
            }
            for (walk, log) in &law {
                let seen = seen.get(walk).copied().unwrap_or(0);
                assert!(chance_of(seen, draws, log.exp()) > 1e-10, "{walk:?}: {seen}");
            }
        }
    }
}

/// A private start on a chain whose distances are searched for is the theorem's, and draws the same.
#[test]
fn tables_and_searches_draw_the_same_first_states() {
    let searched = Arc::new(Model::on_demand(Chain::credit(), CacheSize::default()));
    for name in [Preset::Sharp, Preset::Chen] {
        let table = preset(&credit(), name, "2", "3.5").starting_by_theorem();
        let search = preset(&searched, name, "2", "3.5").starting_by_theorem();
        for real in searched.chain().states() {
            assert_eq!(first_law(&table, real), first_law(&search, real));
            let first = |mechanism: &Mechanism| {
                let mechanism = Arc::new(mechanism.clone());
                let mut releaser =
                    Releaser::new(mechanism, &Source::seeded(3), Start::Private).unwrap();
                let names = (0..50).map(|walk| walk.to_string());
                names.map(|walk| releaser.release(&walk, &[real]).unwrap()[0]).collect::<Vec<_>>()
            };
            assert_eq!(first(&table), first(&search));
        }
    }
}

/// Sessions, releasers and saved sessions agree; the digest knows the first state.
#[test]
fn every_way_to_release_starts_alike() {
    let model = credit();
    let reals: Vec<_> = (0..12).map(|t| StateId::new(t * 5 % 9)).collect();
    let five = blocks(&model, exponential(Distance::Symmetric, "0.5"), radius("3", "3.5"), "5");
    let all = blocks(&model, exponential(Distance::Symmetric, "0.5"), radius("3", "3.5"), "all");
    for (mechanism, counts) in [
        (preset(&model, Preset::Cell, "3", "3.5"), vec![1; 12]),
        (five, vec![0, 0, 0, 0, 5, 0, 0, 0, 0, 5, 0, 0]),
        (all, vec![0; 12]),
    ] {
        let mechanism = Arc::new(mechanism);
        let source = Source::seeded(11);
        let mut releaser = Releaser::new(mechanism.clone(), &source, Start::Private).unwrap();
        let whole = releaser.release("w", &reals).unwrap().states;
        assert_eq!(whole.len(), reals.len());
        let mut session = Session::new(mechanism.clone(), &source, Start::Private, "w").unwrap();
        let mut released = Vec::new();
        for (&real, &count) in reals.iter().zip(&counts) {
            let now = session.push(real).unwrap();
            assert_eq!(now.len(), count);
            released.extend_from_slice(now);
            if session.walk().waiting() == 0 && session.walk().released() > 0 {
                let bytes = session.save().unwrap();
                session = Session::resume(mechanism.clone(), &source, Start::Private, "w", &bytes)
                    .unwrap();
            }
        }
        let digest = session.digest();
        assert_eq!(digest, releaser.digest("w", &reals));
        released.extend(session.finish().unwrap());
        assert_eq!(released, whole);
        let mut others = reals.clone();
        others[0] = StateId::new(8);
        assert_ne!(releaser.digest("w", &others), digest, "the first state decides what is drawn");
        // What is released for another first state has bits of its own.
        assert_ne!(releaser.release("w", &others).unwrap().states, whole);
    }
}

#[test]
fn a_mechanism_without_a_promise_cannot_start_privately() {
    let model = credit();
    let design = Preset::Sharp.design();
    let bare = Mechanism::with_scale(model, design, "1/2".parse().unwrap()).unwrap();
    let error = Releaser::new(Arc::new(bare), &Source::seeded(1), Start::Private).unwrap_err();
    assert!(error.to_string().contains("makes no promise"), "{error}");
}

/// The exact law of a private start in blocks, on average over many real walks, is what analysis says.
#[test]
fn analysis_of_first_blocks_agrees_with_enumeration() {
    let model = credit();
    let design = exponential(Distance::Symmetric, "0.5");
    let mechanism = blocks(&model, design, radius("3.5", "3.5"), "3");
    let reals: Vec<_> = ["B", "Caa", "Caa"].iter().map(|label| state(&model, label)).collect();
    let walks = [reals.clone()];
    let inquiry = Inquiry {
        origin: Origin::Initial,
        steps: 2,
        start: Start::Private,
        real: Some(&walks),
        levels: &[],
        etas: &[],
        simulate: Some(20_000),
        seed: 1,
    };
    let plan =
        Plan { mechanism: &mechanism, inquiry, effort: veilwalk::analysis::AnalysisEffort::SOME };
    let found = plan.carry_out(&unwatched).unwrap();
    let exact = found.exact().unwrap();
    let wrong_at = |t: usize| -> f64 {
        let law = mechanism.log_law_from_start(&reals);
        law.iter().filter(|(walk, _)| walk[t] != reals[t]).map(|(_, log)| log.exp()).sum()
    };
    for t in 0..3 {
        let apart = (exact.utility.wrong_by_step[t] - wrong_at(t)).abs();
        assert!(apart < 1e-9, "step {t}: {apart}");
    }
    let simulated = exact.simulated.as_ref().unwrap().wrong_state_share;
    let mean = exact.utility.wrong_state_share;
    assert!((simulated.mean - mean).abs() < 5.0 * simulated.standard_error + 1e-4);
}

/// ε of the loss of two whole walks, by enumeration of all releases of two states.
fn largest_excess(mechanism: &Mechanism, promise: Promise) -> f64 {
    let model = mechanism.model();
    let states: Vec<StateId> = model.chain().states().collect();
    let epsilon = promise.epsilon.value().as_f64();
    let walks: Vec<[StateId; 2]> =
        states.iter().flat_map(|&a| states.iter().map(move |&b| [a, b])).collect();
    let laws: Vec<BTreeMap<Vec<StateId>, f64>> =
        walks.iter().map(|walk| mechanism.log_law_from_start(walk).into_iter().collect()).collect();
    let mut worst = f64::NEG_INFINITY;
    for (one, law) in walks.iter().zip(&laws) {
        for (two, other) in walks.iter().zip(&laws) {
            let adjacent = match promise.unit {
                Unit::Substitutions(b) => {
                    one.iter().zip(two).filter(|(x, y)| x != y).count() <= b.get() as usize
                }
                Unit::Radius(radius) => {
                    let apart = one.iter().zip(two);
                    let units: u64 = apart
                        .map(|(&x, &y)| u64::from(model.symmetric_between(x, y).units()))
                        .sum();
                    units as f64 / f64::from(veilwalk::Nats::PER_NAT) <= radius.value().as_f64()
                }
            };
            if adjacent {
                let losses = law.iter().map(|(walk, log)| (log - other[walk]).abs());
                worst = worst.max(losses.fold(0.0, f64::max) - epsilon);
            }
        }
    }
    worst
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every distance, rule and block length, on chains with self-loops, single successors and moves that
    /// hardly ever happen.
    #[test]
    fn whole_walks_keep_the_promise(
        chain in random_chain(8),
        p in proptest::collection::vec(prop_oneof![3 => 0.1f64..1.0, 1 => Just(0.0), 1 => Just(1e-9)], 8),
        epsilon in prop_oneof![Just("0.3"), Just("1"), Just("4")],
        substitutions in prop_oneof![Just(None), Just(Some(1u32)), Just(Some(2))],
        share in 0.3f64..3.0,
        distance in prop_oneof![
            Just(Distance::Directed), Just(Distance::Symmetric), Just(Distance::Hamming), Just(Distance::Cell)
        ],
        rule in prop_oneof![Just(Rule::PermuteAndFlip), Just(Rule::Exponential)],
        chain_weight in prop_oneof![Just("0"), Just("0.5")],
        how in 0usize..5,
    ) {
        let mut p = p[..chain.len()].to_vec();
        p[0] += 0.1;
        let total: f64 = p.iter().sum();
        p.iter_mut().for_each(|p| *p /= total);
        let initial = Initial::from_probabilities(&chain, &p).unwrap();
        let model = Arc::new(Model::new(chain.with_initial(initial)).unwrap());
        let diameter = model.diameter().distance.as_f64();
        let promise = match substitutions {
            Some(b) => Promise::for_substitutions(epsilon.parse().unwrap(), b.try_into().unwrap()),
            None => radius(epsilon, &format!("{:.6}", (share * diameter.min(50.0)).max(0.01))),
        };
        let design = Design::of_moves(distance, rule, chain_weight.parse().unwrap());
        let made = match how {
            0 => Mechanism::new(model.clone(), design, promise).ok(),
            1 => Mechanism::new(model.clone(), design, promise).ok().map(Mechanism::starting_by_theorem),
            2 => Mechanism::new(model.clone(), design, promise).ok().and_then(|theorem| {
                calibrate(&theorem, Effort::default(), &unwatched).ok().map(|(made, _)| made)
            }),
            3 => Mechanism::in_blocks(model.clone(), design, promise, "2".parse().unwrap()).ok(),
            _ => Mechanism::in_blocks(model.clone(), design, promise, "all".parse().unwrap()).ok(),
        };
        if let Some(mechanism) = made {
            let opened = Releaser::new(Arc::new(mechanism.clone()), &Source::seeded(1), Start::Private);
            if opened.is_ok() {
                let excess = largest_excess(&mechanism, promise);
                prop_assert!(excess < 1e-8, "{design}, {promise}, way {how}: {excess}");
            }
        }
    }
}

/// An exact calibration is asked for, or the theorem's.
#[test]
fn the_start_has_the_calibration_that_was_asked_for() {
    let model = uniform_credit();
    let make = |calibration| {
        let request = Request {
            calibration,
            ..Request::new(Base::Preset(Preset::Sharp), radius("3.5", "3.5"))
        };
        request.make(&model, &unwatched).unwrap().mechanism
    };
    let right = |mechanism: &Mechanism| {
        let b = state(&model, "B");
        first_law(mechanism, b)[b.index()]
    };
    let (usual, theorem) = (make(None), make(Some(Calibration::Theorem)));
    assert_ne!(usual.fingerprint(), theorem.fingerprint(), "another law is another mechanism");
    assert!(right(&usual) > right(&theorem) + 0.1, "{} {}", right(&usual), right(&theorem));
    let substitutions = promise(Preset::Chen, "2", "1");
    let chen = Mechanism::new(model.clone(), Preset::Chen.design(), substitutions).unwrap();
    // Randomised response over nine states.
    let expected = 2f64.exp() / (2f64.exp() + 8.0);
    assert!((right(&chen) - expected).abs() < 1e-9);
}
