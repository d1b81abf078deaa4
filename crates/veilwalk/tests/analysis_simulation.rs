//! Exact and simulated figures, two independent routes to the same numbers.

mod common;

use std::sync::Arc;

use common::{credit, preset, scattered_chain};
use veilwalk::analysis::{Origin, Utility};
use veilwalk::internal::given_walk;
use veilwalk::internal::joint::{JointChain, KernelMemory};
use veilwalk::internal::simulate::{Estimate, RealWalks, SimulatedUtility, Simulation, simulate};
use veilwalk::{Chain, Mechanism, Model, Preset, Start, StateId, unwatched};

const LEVELS: [f64; 3] = [0.5, 3.0, 8.0];

/// Five standard errors. Where what is estimated is a share, its exact value gives the error as
/// well, so that something rare that was never seen is judged by what was to be expected.
fn agree(what: &str, exact: f64, estimate: Estimate, walks: u64, share: bool) {
    let expected = if share { (exact * (1.0 - exact) / walks as f64).max(0.0).sqrt() } else { 0.0 };
    // One walk more or less than expected is no disagreement either.
    let slack = if share { 1.0 / walks as f64 } else { 1e-12 };
    let allowed = 5.0 * estimate.standard_error.max(expected) + slack;
    assert!(
        (exact - estimate.mean).abs() <= allowed,
        "{what}: exact {exact}, simulated {estimate:?}"
    );
}

fn all_agree(name: &str, exact: &Utility, simulated: &SimulatedUtility) {
    let (walks, share, mean) = (simulated.walks, true, false);
    let what = |figure: &str| format!("{name}, {figure}");
    agree(&what("distance"), exact.mean_distance_nats, simulated.mean_distance_nats, walks, mean);
    agree(&what("wrong"), exact.wrong_state_share, simulated.wrong_state_share, walks, share);
    let (ours, theirs) = (exact.entropy_nats, simulated.entropy_nats);
    agree(&what("released entropy"), ours.released, theirs.released, walks, mean);
    agree(&what("real entropy"), ours.real, theirs.real, walks, mean);
    for (ours, theirs) in exact.exceedance.iter().zip(&simulated.exceedance) {
        assert_eq!(ours.nats, theirs.nats);
        agree(&what("per step"), ours.per_step, theirs.per_step, walks, share);
        agree(&what("ever"), ours.ever, theirs.ever, walks, share);
        for t in [0, 1, exact.steps / 2, exact.steps] {
            let at = |mean: f64| Estimate { mean, standard_error: 0.0 };
            agree(&what("at a step"), ours.at_step[t], at(theirs.at_step[t]), walks, share);
            agree(
                &what("by a step"),
                ours.ever_by_step[t],
                at(theirs.ever_by_step[t]),
                walks,
                share,
            );
        }
    }
}

fn own_walks(origin: Origin, start: Start, walks: u64) -> Simulation<'static> {
    let real = RealWalks::Own { origin, steps: 40 };
    Simulation { real, start, walks, seed: 1, levels: &LEVELS, etas: &[0.5] }
}

fn check(model: &Arc<Model>, walks: u64) {
    for name in Preset::OF_MOVES {
        let mechanism = preset(model, name, "1", "1");
        let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
        let starts =
            [(Origin::Initial, Start::Initial), (Origin::At(StateId::new(3)), Start::First)];
        for (origin, start) in starts {
            let exact = joint.utility(origin, start, 40, &LEVELS, &unwatched).unwrap();
            let simulation = own_walks(origin, start, walks);
            let simulated = simulate(&mechanism, simulation, &unwatched).unwrap();
            all_agree(name.name(), &exact, &simulated);
        }
    }
}

#[test]
fn exact_and_simulated_agree_on_credit() {
    check(&credit(), 20_000);
}

#[test]
fn exact_and_simulated_agree_downtown() {
    check(&Arc::new(Model::new(Chain::downtown()).unwrap()), 10_000);
}

#[test]
fn exact_and_simulated_agree_on_two_hundred_states() {
    check(&Arc::new(Model::new(scattered_chain(200, 6, 1)).unwrap()), 10_000);
}

#[test]
fn exact_and_simulated_agree_for_one_walk() {
    let model = credit();
    let real: Vec<StateId> = [4, 4, 5, 5, 6, 7, 7, 6, 8, 8, 7].map(StateId::new).into();
    for name in Preset::OF_MOVES {
        let mechanism = preset(&model, name, "1", "1");
        for start in [Start::First, Start::Initial, Start::At(StateId::new(0))] {
            let exact = given_walk::utility(&mechanism, &real, start, &LEVELS, &unwatched).unwrap();
            let real = RealWalks::Given(&real);
            let simulation =
                Simulation { real, start, walks: 20_000, seed: 2, levels: &LEVELS, etas: &[] };
            let simulated = simulate(&mechanism, simulation, &unwatched).unwrap();
            all_agree(name.name(), &exact, &simulated);
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let model = Arc::new(Model::new(Chain::downtown()).unwrap());
    let mechanism = preset(&model, Preset::Sharp, "1", "1");
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let simulation = own_walks(Origin::Initial, Start::Initial, 3000);
            let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
            (
                simulate(&mechanism, simulation, &unwatched).unwrap(),
                joint.utility(Origin::Initial, Start::Initial, 20, &LEVELS, &unwatched).unwrap(),
            )
        })
    };
    assert_eq!(run(1), run(3));
}

/// A changed sampler or batch gives other figures for the same seed, and fails here.
#[test]
fn value_stability() {
    let model = credit();
    let mechanism: Mechanism = preset(&model, Preset::Sharp, "1", "1");
    let simulated =
        simulate(&mechanism, own_walks(Origin::Initial, Start::Initial, 1000), &unwatched).unwrap();
    let typical = &simulated.typical[0];
    let found = [simulated.mean_distance_nats.mean, typical.released.mean, typical.real.mean];
    assert_eq!(found, [0.610_102_498_102_188_2, 0.492, 0.836]);
}
