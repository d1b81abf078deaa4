//! Real chains: trips through Shanghai and clicks through Wikispeedia.
//!
//! The data are not part of the repository. They are looked for in the folder that the variable
//! `VEILWALK_DATA` names, or else in `shared/data` beside the checkout; where they are missing the
//! tests say so and pass.

mod common;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use common::{blocks, exponential, mean_and_error, preset, radius};
use veilwalk::analysis::{Origin, OwnWalks};
use veilwalk::chain::{BuildOptions, ChainBuilder, Entries, Scope, TransitionCounts};
use veilwalk::guarantee::Effort;
use veilwalk::inference::{
    EstimateSettings, Inference, InferenceSpace, RefineAim, Sample, estimate,
};
use veilwalk::internal::cell::Obtained;
use veilwalk::internal::given_walk;
use veilwalk::internal::guarantee::{Coverage, audited_loss};
use veilwalk::internal::simulate::{RealWalks, Simulation, simulate};
use veilwalk::mechanism::Calibration;
use veilwalk::{
    Distance, Mechanism, Model, Outcome, Preset, Promise, Releaser, Source, Start, unwatched,
};

const LARGEST: BuildOptions =
    BuildOptions { scope: Scope::LargestComponent, row_sums: veilwalk::chain::RowSums::Check };

fn data(name: &str) -> Option<String> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = std::env::var_os("VEILWALK_DATA").map_or_else(beside, PathBuf::from).join(name);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        eprintln!("skipped: there is no {name}; set VEILWALK_DATA to the folder that has it");
    }
    text
}

/// Clicks between articles: 3,808 states.
fn wikispeedia() -> Option<Arc<Model>> {
    let text = data("wikispeedia/transitions_finished_backclick_resolved.tsv")?;
    let mut builder = ChainBuilder::new(Entries::Counts);
    for line in text.lines() {
        let mut fields = line.split('\t');
        let mut next = || fields.next().expect("three fields a line");
        let (from, to) = (builder.state(next()), builder.state(next()));
        builder.transition(from, to, next().parse().unwrap()).unwrap();
    }
    Some(Arc::new(Model::new(builder.build(LARGEST).unwrap().0).unwrap()))
}

/// Trips as sequences of road segments: 711 states.
fn roads() -> Option<Arc<Model>> {
    let text = data("shanghai/path.csv")?;
    let mut counts = TransitionCounts::new();
    for line in text.lines().skip(1) {
        counts.add_walk(line.split(',').nth(2).expect("the third column").split('_'));
    }
    Some(Arc::new(Model::new(counts.build(LARGEST).unwrap().0).unwrap()))
}

/// Share of wrong states and mean distance over 100-step walks of the chain from a random state,
/// with their standard errors over walks.
fn simulated(mechanism: &Mechanism, walks: u64) -> [(f64, f64); 2] {
    let simulation = Simulation {
        real: RealWalks::Own { origin: Origin::Initial, steps: 100 },
        start: Start::First,
        walks,
        seed: 2026,
        levels: &[],
        etas: &[],
    };
    let found = simulate(mechanism, simulation, &unwatched).unwrap();
    [found.wrong_state_share, found.mean_distance_nats].map(|e| (e.mean, e.standard_error))
}

/// Within four standard errors, and the rounding of a figure with two digits.
fn agrees((mean, error): (f64, f64), known: f64) -> bool {
    (mean - known).abs() < 4.0 * error + 0.06 * known
}

fn at(model: &Arc<Model>, name: Preset, rate: &str) -> Mechanism {
    preset(model, name, rate, "1")
}

fn cells(model: &Arc<Model>, rate: &str, calibration: Calibration) -> Mechanism {
    let promise = Promise::within_radius(rate.parse().unwrap(), "1".parse().unwrap());
    Mechanism::with_cells(model.clone(), Preset::Cell.design(), promise, calibration, &unwatched)
        .unwrap()
}

#[test]
fn slow_roads_at_two_per_nat() {
    let Some(model) = roads() else { return };
    assert_eq!((model.chain().len(), model.chain().transitions()), (711, 1670));
    assert!((model.diameter().distance.as_f64() - 15.1886).abs() < 1e-4);
    assert!((model.closest_pair().unwrap().distance.as_f64() - 1.194).abs() < 1e-3);
    let known = [
        (at(&model, Preset::Paper, "2"), 0.74, 1.36),
        (at(&model, Preset::Sharp, "2"), 0.18, 0.72),
        (cells(&model, "2", Calibration::Theorem), 0.061, 0.06),
    ];
    for (mechanism, wrong, distance) in &known {
        let [w, d] = simulated(mechanism, 2000);
        println!("{:?}: {w:?} {d:?}", mechanism.design());
        assert!(agrees(w, *wrong) && agrees(d, *distance), "{w:?} {d:?}");
    }
    // Nearly all scales are at their limit here, so auditing them changes little.
    let [w, d] = simulated(&cells(&model, "2", Calibration::Exact), 2000);
    println!("exact: {w:?} {d:?}");
    assert!(agrees(w, 0.061) && agrees(d, 0.06), "{w:?} {d:?}");
}

/// What a delay buys on roads, at one unit of epsilon per nat. A release that takes a wrong turn is
/// far away until it has found back, so a walk is mostly right or mostly wrong, and hundreds are needed
/// for two digits: exact figures of drawn walks are held against the simulation.
#[test]
fn slow_roads_in_blocks_at_one_per_nat() {
    let Some(model) = roads() else { return };
    let known = [("1", 0.79), ("5", 0.34), ("10", 0.117), ("all", 0.002)];
    for (length, wrong) in known {
        let design = exponential(Distance::Symmetric, "0.5");
        let blocks = blocks(&model, design, radius("1", "1"), length);
        let [w, d] = simulated(&blocks, 1000);
        let exact = exact_wrong_share(&blocks, 150);
        println!("blocks of {length}: {w:?} {d:?}, exact {exact:?}");
        let off = if length == "all" { 4e-4 } else { 0.06 * wrong };
        assert!((w.0 - wrong).abs() < 4.0 * w.1 + off, "{length}: {w:?}");
        assert!((w.0 - exact.0).abs() < 5.0 * w.1.hypot(exact.1), "{length}: {w:?} {exact:?}");
    }
}

/// The share of wrong states, exact for each of so many drawn walks, with the error over walks.
fn exact_wrong_share(blocks: &Mechanism, walks: usize) -> (f64, f64) {
    let mut randomness = Source::seeded(7).open(blocks.fingerprint()).unwrap();
    let key = randomness.walk(b"real walks");
    let words = randomness.at(&key, 0, None);
    let own = OwnWalks::new(blocks.model().chain());
    let each = (0..walks).map(|_| {
        let real = own.walk(Origin::Initial, 100, words);
        let figures = given_walk::utility(blocks, &real, Start::First, &[], &unwatched);
        figures.unwrap().wrong_state_share
    });
    mean_and_error(&each.collect::<Vec<_>>())
}

#[test]
fn slow_wikispeedia_at_two_and_three_per_nat() {
    let Some(model) = wikispeedia() else { return };
    assert_eq!((model.chain().len(), model.chain().transitions()), (3808, 58_500));
    assert_eq!(model.chain().largest_out_degree(), 380);
    assert!((model.diameter().distance.as_f64() - 21.3558).abs() < 1e-4);
    assert!((model.closest_pair().unwrap().distance.as_f64() - 0.969).abs() < 1e-3);
    let cell = cells(&model, "2", Calibration::Theorem);
    let known = [
        (at(&model, Preset::Paper, "2"), 0.61, 2.41),
        (at(&model, Preset::Sharp, "2"), 0.17, 0.76),
        (cell.clone(), 0.065, 0.18),
    ];
    for (mechanism, wrong, distance) in &known {
        let [w, d] = simulated(mechanism, 2000);
        println!("{:?}: {w:?} {d:?}", mechanism.design());
        assert!(agrees(w, *wrong) && agrees(d, *distance), "{w:?} {d:?}");
    }
    let exact = cells(&model, "3", Calibration::Exact);
    let audited = exact.certificate().unwrap().iter().filter(|c| c.obtained == Obtained::Audited);
    assert!(audited.count() > 3000);
    let [w, d] = simulated(&exact, 2000);
    println!("exact, 3: {w:?} {d:?}");
    assert!(w.0 < 0.006 && d.0 < 0.013, "{w:?} {d:?}");
    // An independent check of the scales: the losses of all transitions, from the kernels.
    let losses = audited_loss(&cell, Effort::LEAST, &unwatched).unwrap();
    assert_eq!(losses.coverage, Coverage::TransitionsOnly);
    assert!(losses.transitions.per_nat <= 2.0 + 1e-9, "{}", losses.transitions.per_nat);
}

/// The most memory this process has had so far, in MiB; none where the system does not say it.
fn most_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? / 1024)
}

/// How long inference takes: one walk of 100 steps, and twenty rounds over two thousand of 30.
#[test]
#[ignore = "takes minutes; prints the figures of docs/inference.md"]
fn slow_inference_on_clicks() {
    let Some(model) = wikispeedia() else { return };
    let own = OwnWalks::new(model.chain());
    let (cell, tight) =
        (cells(&model, "2", Calibration::Theorem), preset(&model, Preset::Tight, "8", "4"));
    for (name, mechanism) in [("cell", cell), ("tight", tight)] {
        let mechanism = Arc::new(mechanism);
        let source = Source::seeded(7);
        let mut randomness = source.open([7; 32]).unwrap();
        let mut releaser = Releaser::new(mechanism.clone(), &source, Start::Private).unwrap();
        let mut release = |number: u64, steps: usize| {
            let key = randomness.walk(&number.to_be_bytes());
            let real = own.walk(Origin::Initial, steps - 1, randomness.at(&key, 0, None));
            let released = releaser.release(&number.to_string(), &real).unwrap();
            let observes = mechanism.observation().is_some();
            let states = released.states.to_vec();
            (if observes { released.observed.to_vec() } else { Outcome::all(&states) }, states)
        };
        let inference = Inference::new(mechanism.clone(), Start::Private).unwrap();
        let mut space = InferenceSpace::default();
        for number in 0..3 {
            let (drawn, released) = release(number, 100);
            let began = Instant::now();
            let posterior = inference.posterior(&drawn, &mut space).unwrap();
            let known = began.elapsed();
            let near = inference.refine(&posterior, &released, RefineAim::Distance);
            let by_distance = began.elapsed() - known;
            let right = inference.refine(&posterior, &released, RefineAim::States);
            let by_states = began.elapsed() - known - by_distance;
            println!(
                "{name}: posterior {known:?}, walk by distance {by_distance:?}, by states {by_states:?}; dropped {:.1e}; \
                 {:.3} nats, release {:.3}; wrong {:.1}, release {:.1}",
                posterior.dropped(),
                near.cost,
                near.released_cost,
                right.cost,
                right.released_cost
            );
        }
        let walks: Vec<Vec<Outcome>> =
            (0..2000).map(|number| release(100 + number, 30).0).collect();
        let sample = [Sample { inference: &inference, walks: &walks }];
        let settings = EstimateSettings { most_rounds: 20, ..EstimateSettings::default() };
        let began = Instant::now();
        let found = estimate(&sample, settings, &unwatched).unwrap();
        println!(
            "{name}: {} rounds of 2,000 walks in {:?}, converged {}; peak {:?} MiB",
            found.rounds(),
            began.elapsed(),
            found.converged(),
            most_memory()
        );
    }
}
