//! What `auto` chooses: never worse than it was, never worse than the chain alone, and always the same.

mod common;

use std::sync::Arc;

use common::{credit, radius, scattered_chain};
use veilwalk::analysis::{Origin, chain_alone};
use veilwalk::internal::request::{Base, CandidateChoice, Made, Request, TrackChoice};
use veilwalk::internal::simulate::{Estimate, RealWalks, SimulatedUtility, Simulation, simulate};
use veilwalk::mechanism::{BlockLength, CandidateKind};
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Start, Unit, unwatched};

const STEPS: usize = 40;

fn measured(mechanism: &Mechanism, start: Start) -> SimulatedUtility {
    let simulation = Simulation {
        real: RealWalks::Own { origin: Origin::Initial, steps: STEPS },
        start,
        walks: 3000,
        seed: 4,
        levels: &[],
        etas: &[],
    };
    simulate(mechanism, simulation, &unwatched).unwrap()
}

/// The figure that `auto` goes by.
fn figure(promise: Promise, of: &SimulatedUtility) -> Estimate {
    match promise.unit {
        Unit::Radius(_) => of.mean_distance_nats,
        Unit::Substitutions(_) => of.wrong_state_share,
    }
}

fn made(model: &Arc<Model>, request: Request) -> Made {
    request.make(model, &unwatched).unwrap()
}

fn one_substitution(epsilon: &str) -> Promise {
    Promise::for_substitutions(epsilon.parse().unwrap(), 1.try_into().unwrap())
}

fn models() -> Vec<(&'static str, Arc<Model>)> {
    let downtown = Arc::new(Model::new(Chain::downtown()).unwrap());
    let scattered = Arc::new(Model::new(scattered_chain(60, 4, 3)).unwrap());
    vec![("credit", credit()), ("downtown", downtown), ("scattered", scattered)]
}

#[test]
fn slow_it_is_never_worse_than_before_nor_than_the_chain_alone() {
    for (name, model) in models() {
        for epsilon in ["0.2", "1", "3.5", "8"] {
            for promise in [radius(epsilon, "3.5"), one_substitution(epsilon)] {
                for start in [Start::Private, Start::First] {
                    let auto = Request { start, ..Request::new(Base::Auto, promise) };
                    let auto = made(&model, auto);
                    let cell = made(&model, Request::new(Base::Preset(Preset::Cell), promise));
                    let ours = figure(promise, &measured(&auto.mechanism, start));
                    let before = figure(promise, &measured(&cell.mechanism, start));
                    let alone = chain_alone(&model, Origin::Initial, start, STEPS, &[], &unwatched);
                    let alone = alone.unwrap();
                    let alone = match promise.unit {
                        Unit::Radius(_) => alone.mean_distance_nats,
                        Unit::Substitutions(_) => alone.wrong_state_share,
                    };
                    let told = format!("{name}, {promise}, {start:?}: {} {ours:?}", auto.name);
                    println!("{told} cell {:.4} alone {alone:.4}", before.mean);
                    let error = ours.standard_error.hypot(before.standard_error);
                    assert!(ours.mean <= before.mean + 3.0 * error, "{told}, cell {before:?}");
                    assert!(ours.mean <= alone + 3.0 * ours.standard_error, "{told}, {alone}");
                }
            }
        }
    }
}

#[test]
fn it_is_always_the_same() {
    for promise in [radius("1", "3.5"), one_substitution("2")] {
        let request = Request::new(Base::Auto, promise);
        let [a, b] = [credit(), credit()].map(|model| made(&model, request));
        assert_eq!(a.name, b.name);
        assert_eq!(a.mechanism.fingerprint(), b.mechanism.fingerprint());
    }
}

/// What was asked for stays as it was asked for.
#[test]
fn it_leaves_alone_what_was_asked_for() {
    let promise = radius("1", "3.5");
    let auto = Request::new(Base::Auto, promise);
    let weight = "0.25".parse().ok();
    let found = made(&credit(), Request { chain_weight: weight, ..auto });
    assert_eq!(Some(found.mechanism.design().chain_weight), weight);
    assert!(found.mechanism.observation().is_none());

    let lag = TrackChoice { lag: Some(3), ..Default::default() };
    let found = made(&credit(), Request { track: lag, ..auto });
    assert_eq!(found.mechanism.observation().unwrap().tracking().lag, 3);

    let kind = Some(CandidateKind::Believed);
    let candidates = CandidateChoice { kind, ..Default::default() };
    let found = made(&credit(), Request { candidates, ..auto });
    assert!(found.name.starts_with("believed"), "{}", found.name);

    let block = Some("5".parse().unwrap());
    let found = made(&credit(), Request { block, chain_weight: weight, ..auto });
    assert_eq!(Some(found.mechanism.design().chain_weight), weight);
}

/// The figures of NEXT for whole walks on credit: a weight of 1 leaves 0.139 wrong where ½ leaves 0.236.
#[test]
fn in_blocks_it_chooses_the_chain_weight() {
    let promise = radius("1", "3.45");
    let auto = Request {
        block: Some(BlockLength::WHOLE),
        start: Start::First,
        ..Request::new(Base::Auto, promise)
    };
    let half = Request { chain_weight: "0.5".parse().ok(), ..auto };
    let [auto, half] = [auto, half].map(|request| made(&credit(), request));
    assert!(auto.mechanism.design().chain_weight.value().as_f64() >= 1.0, "{}", auto.name);
    let [auto, half] = [auto, half].map(|made| measured(&made.mechanism, Start::First));
    let ratio = auto.mean_distance_nats.mean / half.mean_distance_nats.mean;
    assert!(ratio < 0.75, "{auto:?} {half:?}");
}

#[test]
fn of_a_promise_that_nothing_keeps_it_says_why() {
    let promise = one_substitution("0.0000000000000000001");
    let error = Request::new(Base::Auto, promise).make(&credit(), &unwatched);
    let named = Request::new(Base::Preset(Preset::Cell), promise).make(&credit(), &unwatched);
    assert_eq!(error.err(), named.err());
}
