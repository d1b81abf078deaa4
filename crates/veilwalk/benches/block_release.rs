//! Time and memory of releasing one long walk in blocks: time grows as the walk's length times |E|.
//!
//! `cargo bench -p veilwalk --bench block_release`. With `VEILWALK_WIKISPEEDIA` set to a file of click
//! counts (from, to, count, separated by tabs) that chain is measured as well, over `VEILWALK_STEPS`
//! steps (a million unless told). Memory is the largest that the process has had (Linux).

#[path = "common/chains.rs"]
mod chains;

use std::sync::Arc;
use std::time::Instant;

use chains::{scattered, wikispeedia};
use veilwalk::mechanism::{BlockMechanism, Design};
use veilwalk::random::Words;
use veilwalk::session::BlockReleaser;
use veilwalk::{Chain, Model, Preset, Promise, Rule, Source, Start, StateId};

/// A walk of the chain from its first state.
fn walk(chain: &Chain, states: usize, words: &mut impl Words) -> Vec<StateId> {
    let mut walk = vec![StateId::new(0)];
    while walk.len() < states {
        let here = walk[walk.len() - 1];
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
    let blocks = BlockMechanism::new(model.clone(), design, promise, length).expect("a mechanism");
    let blocks = Arc::new(blocks);
    let source = Source::seeded(1);
    let mut randomness = source.open(blocks.fingerprint()).expect("seeded");
    let key = randomness.walk(b"real walk");
    let real = walk(model.chain(), steps + 1, randomness.at(&key, 0, None));
    let mut releaser = BlockReleaser::new(blocks.clone(), &source, Start::Initial).expect("seeded");
    let began = Instant::now();
    let released = releaser.release("walk", &real).expect("states of the chain");
    let seconds = began.elapsed().as_secs_f64();
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
        blocks.rounding_cost(),
        peak_mib(),
    );
}

fn main() {
    println!(
        "{:>12} {:>6} {:>7} {:>8} {:>8} {:>9} {:>9} {:>9} {:>7} {:>9} {:>9}",
        "chain", "|S|", "|E|", "L", "steps", "s", "steps/s", "ns/|E|", "wrong", "cost", "peak MiB"
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
