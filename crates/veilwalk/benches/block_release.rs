//! Time and memory of releasing one long walk in blocks: time grows as the walk's length times |E|.
//! Times are processor seconds.
//!
//! `cargo bench -p veilwalk --bench block_release`. With `VEILWALK_WIKISPEEDIA` set to a file of click
//! counts (from, to, count, separated by tabs) that chain is measured as well, over `VEILWALK_STEPS`
//! steps (a million unless told). Memory is the largest that the process has had (Linux).

#[path = "common/chains.rs"]
mod chains;

use std::sync::Arc;
use std::time::Instant;

use chains::{scattered, wikispeedia};
use veilwalk::analysis::{Origin, OwnWalks};
use veilwalk::session::Releaser;
use veilwalk::{Design, Mechanism, Model, Preset, Promise, Rule, Source, Start, StateId};

/// Processor seconds so far, which a busy machine disturbs less than the clock; the clock where they
/// are not to be had.
fn cpu_seconds(began: Instant) -> f64 {
    let read = || {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        // After the name in brackets, user and system time are the 12th and 13th fields, in 1/100 s.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let mut next = || fields.next()?.parse::<f64>().ok();
        Some((next()? + next()?) / 100.0)
    };
    read().unwrap_or_else(|| began.elapsed().as_secs_f64())
}

fn peak_mib() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.map_or("?".to_owned(), |kib| (kib / 1024).to_string())
}

fn measure(name: &str, model: &Arc<Model>, length: &str, steps: usize) {
    // At one unit of epsilon per nat.
    let promise = Promise::within_radius("1".parse().unwrap(), "1".parse().unwrap());
    let design = Design { rule: Rule::Exponential, ..Preset::Sharp.design() };
    let length = length.parse().expect("a length");
    let blocks = Mechanism::in_blocks(model.clone(), design, promise, length).expect("a mechanism");
    let blocks = Arc::new(blocks);
    let source = Source::seeded(1);
    let mut randomness = source.open(blocks.fingerprint()).expect("seeded");
    let key = randomness.walk(b"real walk");
    let (own, from) = (OwnWalks::new(model.chain()), Origin::At(StateId::new(0)));
    let real = own.walk(from, steps, randomness.at(&key, 0, None));
    let mut releaser = Releaser::new(blocks.clone(), &source, Start::Initial).expect("seeded");
    let began = Instant::now();
    let before = cpu_seconds(began);
    let released = releaser.release("walk", &real).expect("states of the chain");
    let seconds = cpu_seconds(began) - before;
    let wrong = released.iter().zip(&real).skip(1).filter(|(y, x)| y != x).count();
    println!(
        "{name:>12} {:>6} {:>7} {:>8} {steps:>8} {seconds:>9.2} {:>9.0} {:>9.3} {:>7.3} {:>9.1e} {:>9}",
        model.chain().len(),
        model.chain().transitions(),
        match length {
            veilwalk::mechanism::BlockLength::Steps(steps) => steps.to_string(),
            _ => "all".to_owned(),
        },
        steps as f64 / seconds,
        seconds * 1e9 / (steps * model.chain().transitions()) as f64,
        wrong as f64 / steps as f64,
        blocks.blocks().expect("in blocks").rounding_cost(),
        peak_mib(),
    );
}

fn main() {
    println!(
        "{:>12} {:>6} {:>7} {:>8} {:>8} {:>9} {:>9} {:>9} {:>7} {:>9} {:>9}",
        "chain",
        "|S|",
        "|E|",
        "L",
        "steps",
        "CPU s",
        "steps/s",
        "ns/|E|",
        "wrong",
        "cost",
        "peak MiB"
    );
    for states in [250, 1000, 4000] {
        let model = Arc::new(Model::new(scattered(states)).expect("small enough"));
        for steps in [5_000, 10_000] {
            measure("scattered", &model, "25", steps);
        }
        measure("scattered", &model, "all", 10_000);
    }
    let Ok(path) = std::env::var("VEILWALK_WIKISPEEDIA") else {
        println!("wikispeedia skipped: VEILWALK_WIKISPEEDIA is not set");
        return;
    };
    let steps = std::env::var("VEILWALK_STEPS").map_or(1_000_000, |n| n.parse().expect("a number"));
    let model = Arc::new(Model::new(wikispeedia(&path)).expect("small enough"));
    for length in ["1", "5", "25", "all"] {
        measure("wikispeedia", &model, length, steps.min(10_000));
    }
    measure("wikispeedia", &model, "25", steps);
}
