//! What somebody who knows the chain guesses right.

mod common;

use std::sync::Arc;

use common::{credit, preset, state};
use veilwalk::analysis::{Attacked, Origin, OwnWalks, attack};
use veilwalk::inference::{Inference, InferenceSpace};
use veilwalk::session::Releaser;
use veilwalk::{Mechanism, Preset, Source, Start, StateId, unwatched};

fn own(origin: Origin, walks: usize) -> Attacked<'static> {
    Attacked::Own { origin, steps: 30, walks }
}

fn inference(mechanism: Mechanism, start: Start) -> Inference {
    Inference::new(Arc::new(mechanism), start).unwrap()
}

/// With almost no noise everything is guessed, and with almost all of it no more than from the chain alone.
#[test]
fn guesses_lie_between_the_chain_alone_and_the_truth() {
    let model = credit();
    let clear = inference(preset(&model, Preset::Tight, "30", "1"), Start::Private);
    let found = attack(&clear, own(Origin::Initial, 200), 1, &unwatched).unwrap();
    assert!(found.state.attacker > 0.999 && found.whole_walk.attacker > 0.97, "{found:?}");
    assert_eq!((found.walks, found.states), (200, 200 * 31));
    let dark = inference(preset(&model, Preset::Tight, "0.001", "3.5"), Start::Private);
    let found = attack(&dark, own(Origin::Initial, 2000), 1, &unwatched).unwrap();
    let (with, without) = (found.state.attacker, found.state.chain_alone);
    assert!((with - without).abs() < 4.0 * found.state.standard_error + 0.01, "{found:?}");
    assert!(found.odds.max < 1.2, "{:?}", found.odds);
    assert!(found.efficiency <= 1.1);
    // In between an attacker beats both, the more so the longer the walk.
    let some = inference(preset(&model, Preset::Cell, "1", "3.5"), Start::Private);
    let found = attack(&some, own(Origin::Initial, 1000), 1, &unwatched).unwrap();
    for guess in [found.state, found.last, found.most_visited] {
        assert!(guess.attacker + 3.0 * guess.standard_error >= guess.release, "{guess:?}");
        assert!(guess.attacker + 3.0 * guess.standard_error >= guess.chain_alone, "{guess:?}");
    }
    assert!(found.odds.median <= found.odds.p90 && found.odds.p90 <= found.odds.max);
    assert!(found.odds.median >= 1.0);
}

/// The figures are those of posteriors, for the same releases.
#[test]
fn figures_are_those_of_posteriors() {
    let model = credit();
    let chain = model.chain();
    let real: Vec<Vec<StateId>> = {
        let own = OwnWalks::new(chain);
        let mut source = Source::seeded(3).open([0; 32]).unwrap();
        let key = source.walk(b"real");
        let words = source.at(&key, 0, None);
        (0..40).map(|_| own.walk(Origin::Initial, 12, words)).collect()
    };
    let mechanism = Arc::new(preset(&model, Preset::Tight, "3", "3.5"));
    let inference = Inference::new(mechanism.clone(), Start::Private).unwrap();
    let found = attack(&inference, Attacked::Given(&real), 9, &unwatched).unwrap();
    // Many releases of the same walks, guessed by hand: the same share but for chance.
    let (mut right, mut as_released, mut of) = (0.0, 0.0, 0.0);
    let mut space = InferenceSpace::default();
    for seed in 0..20 {
        let mut releaser =
            Releaser::new(mechanism.clone(), &Source::seeded(seed), Start::Private).unwrap();
        for (number, walk) in real.iter().enumerate() {
            let released = releaser.release(&number.to_string(), walk).unwrap();
            let posterior = inference.posterior(&released.observed, &mut space).unwrap();
            for ((x, marginal), z) in walk.iter().zip(posterior.steps()).zip(&released.states) {
                right += f64::from(u8::from(marginal.likeliest().0 == *x));
                as_released += f64::from(u8::from(z == x));
                of += 1.0;
            }
        }
    }
    let error = 4.5 * found.state.standard_error;
    assert!(
        (found.state.attacker - right / of).abs() < error,
        "{} {}",
        found.state.attacker,
        right / of
    );
    assert!((found.state.release - as_released / of).abs() < 2.0 * error);
}

/// Where nothing is known, one of all states is guessed: the order of the states does not matter.
#[test]
fn equal_guesses_count_for_their_part() {
    let mut builder = veilwalk::ChainBuilder::new(veilwalk::chain::Entries::Counts);
    let states = ["a", "b", "c", "d"].map(|label| builder.state(label));
    for from in states {
        for to in states {
            builder.transition(from, to, 1.0).unwrap();
        }
    }
    let chain = builder.build(Default::default()).unwrap().0;
    let model = Arc::new(veilwalk::Model::new(chain).unwrap());
    let mechanism = preset(&model, Preset::Sharp, "0.000001", "10");
    let inference = inference(mechanism, Start::Private);
    for state in states {
        let real = vec![vec![state; 9]; 20];
        let found = attack(&inference, Attacked::Given(&real), 1, &unwatched).unwrap();
        for guess in [found.state, found.first, found.last, found.most_visited] {
            assert!((guess.chain_alone - 0.25).abs() < 1e-12, "{guess:?}");
        }
    }
}

/// A disclosed start is known, and somebody who knows where walks start knows more.
#[test]
fn what_is_known_of_the_start_counts() {
    let model = credit();
    let baa = state(&model, "Baa");
    let from_there = own(Origin::At(baa), 200);
    let disclosed = inference(preset(&model, Preset::Sharp, "0.1", "3.5"), Start::First);
    let found = attack(&disclosed, from_there, 1, &unwatched).unwrap();
    assert_eq!((found.first.attacker, found.first.chain_alone), (1.0, 1.0));
    let found = attack(&disclosed, own(Origin::Initial, 200), 1, &unwatched).unwrap();
    assert_eq!(found.first.attacker, 1.0);
    assert!(found.first.chain_alone < 0.5);
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let model = credit();
    let inference = inference(preset(&model, Preset::Cell, "1", "3.5"), Start::Private);
    let made = |seed, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| attack(&inference, own(Origin::Initial, 100), seed, &unwatched).unwrap())
    };
    assert_eq!(made(1, 1), made(1, 4));
    assert_ne!(made(1, 1), made(2, 1));
}
