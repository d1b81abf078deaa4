//! Time per sweep of the joint chain over sizes: it grows as |S|·|E|.
//!
//! `cargo bench -p veilwalk --bench joint_sweep`. With `VEILWALK_WIKISPEEDIA` set to a file of
//! click counts (from, to, count, separated by tabs) that chain is measured as well, with its
//! drift, its stationary law, its second eigenvalue and its error bound.

#[path = "common/chains.rs"]
mod chains;

use std::sync::Arc;
use std::time::Instant;

use chains::{scattered, wikispeedia};
use veilwalk::analysis::Origin;
use veilwalk::internal::bounds::ErrorBound;
use veilwalk::internal::drift::Drift;
use veilwalk::internal::joint::{JointChain, KernelMemory};
use veilwalk::internal::long_run::LongRunEffort;
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Start, unwatched};

fn measure(name: &str, chain: Chain, sweeps: u32) {
    let model = Arc::new(Model::new(chain).expect("small enough"));
    let promise = Promise::within_radius("2".parse().unwrap(), "1".parse().unwrap());
    let mechanism = Mechanism::new(model.clone(), Preset::Paper.design(), promise).unwrap();
    let began = Instant::now();
    let joint = JointChain::new(&mechanism, KernelMemory::default(), &unwatched).unwrap();
    let kernels = began.elapsed().as_secs_f64();
    let mut law = joint.start(Origin::Initial, Start::Initial);
    joint.advance(&mut law);
    let began = Instant::now();
    (0..sweeps).for_each(|_| joint.advance(&mut law));
    let sweep = began.elapsed().as_secs_f64() / f64::from(sweeps);
    let began = Instant::now();
    let drift = Drift::new(&joint, &unwatched).unwrap();
    let drift_time = began.elapsed().as_secs_f64();
    let (states, transitions) = (model.chain().len(), model.chain().transitions());
    println!(
        "{name:>12} {states:>6} {transitions:>7} {kernels:>10.3} {sweep:>10.5} {:>16.3} {drift_time:>9.3}",
        sweep * 1e9 / (states * transitions) as f64,
    );
    if name == "wikispeedia" {
        println!("{:?}", drift.report());
        long_run(&joint, &drift);
    }
}

fn long_run(joint: &JointChain<'_>, drift: &Drift) {
    let began = Instant::now();
    let (_, figures) = joint.stationary(LongRunEffort::default(), &unwatched).unwrap();
    println!("{figures:?}\n  in {:.1} s", began.elapsed().as_secs_f64());
    let began = Instant::now();
    let effort = LongRunEffort { sweeps: 300, ..LongRunEffort::default() };
    let second = joint.second_eigenvalue(effort, &unwatched).unwrap();
    println!("{second:?}\n  in {:.1} s", began.elapsed().as_secs_f64());
    let began = Instant::now();
    let start = joint.start(Origin::Initial, Start::Initial);
    let bound = ErrorBound::new(joint, drift, &start, &unwatched).unwrap();
    println!("{:?}\n  in {:.1} s", bound.corrected(100, 15.0), began.elapsed().as_secs_f64());
}

fn main() {
    println!(
        "{:>12} {:>6} {:>7} {:>10} {:>10} {:>16} {:>9}",
        "chain", "|S|", "|E|", "kernels s", "sweep s", "ns per |S||E|", "drift s"
    );
    for states in [125, 250, 500, 1000, 2000, 4000] {
        measure("scattered", scattered(states), 5);
    }
    match std::env::var("VEILWALK_WIKISPEEDIA") {
        Ok(path) => measure("wikispeedia", wikispeedia(&path), 5),
        Err(_) => println!("wikispeedia skipped: VEILWALK_WIKISPEEDIA is not set"),
    }
}
