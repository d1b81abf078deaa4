//! Real chains: trips through Shanghai and clicks through Wikispeedia.
//!
//! The data are not part of the repository. They are looked for in the folder that the variable
//! `VEILWALK_DATA` names, or else in `shared/data` beside the checkout; where they are missing the
//! tests say so and pass.

mod common;

use std::path::PathBuf;
use std::sync::Arc;

use common::preset;
use veilwalk::chain::{BuildOptions, ChainBuilder, Entries, Scope, TransitionCounts};
use veilwalk::guarantee::{Coverage, Effort, audited_loss, unwatched};
use veilwalk::mechanism::Workspace;
use veilwalk::mechanism::cell::{Calibration, Obtained};
use veilwalk::random::Words;
use veilwalk::{Mechanism, Model, Preset, Promise, Source, StateId};

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
fn simulated(mechanism: &Mechanism, walks: usize) -> [(f64, f64); 2] {
    const STEPS: usize = 100;
    let model = mechanism.model();
    let chain = model.chain();
    let mut randomness = Source::seeded(2026).open(mechanism.fingerprint()).unwrap();
    let key = randomness.walk(b"simulation");
    let words = randomness.at(&key, 0, None);
    let mut space = Workspace::default();
    let mut samples = [Vec::new(), Vec::new()];
    for _ in 0..walks {
        let mut real = StateId::new((words.word() % chain.len() as u64) as usize);
        let mut released = real;
        let (mut wrong, mut distance) = (0.0, 0.0);
        for _ in 0..STEPS {
            let mut left = (words.word() >> 11) as f64 / (1u64 << 53) as f64;
            let mut moves = chain.successors(real).iter().zip(chain.probabilities(real));
            let taken = moves.clone().find(|(_, p)| {
                left -= **p;
                left < 0.0
            });
            real = *taken.or(moves.next_back()).expect("every state has a successor").0;
            released = mechanism.step(released, real, words, &mut space);
            wrong += f64::from(u8::from(released != real));
            distance += model.directed().between(released, real).as_f64();
        }
        samples[0].push(wrong / STEPS as f64);
        samples[1].push(distance / STEPS as f64);
    }
    samples.map(|sample| {
        let n = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / n;
        let variance = sample.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
        (mean, (variance / n).sqrt())
    })
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
    Mechanism::with_cells(model.clone(), Preset::Cell.design(), promise, calibration).unwrap()
}

#[test]
fn roads_at_two_per_nat() {
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

#[test]
fn wikispeedia_at_two_and_three_per_nat() {
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
