//! Steps with distances on demand, from ten thousand states to a million.
//!
//! `cargo bench -p veilwalk --bench on_demand [-- SIDE ...]`: for grids of these sides (100, 316 and
//! 1000 if none are given), with the searches kept as they are by default and with none kept: the
//! time to make the chain and to get ready, the time of a step (median, 99th percentile, largest),
//! the states its searches have seen, and the most memory the process has had. The real walks are
//! drawn from the chain, the released ones start where they do, and the mechanism is `sharp` at
//! epsilon 3 within a radius of 1. Columns are separated by tabs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use veilwalk::CacheSize;
use veilwalk::analysis::{Origin, OwnWalks};
use veilwalk::chain::Grid;
use veilwalk::session::{Released, Releaser};
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Source, Start};

const WALKS: usize = 200;
const STEPS: usize = 500;

fn main() {
    let mut sides: Vec<u32> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    if sides.is_empty() {
        sides = vec![100, 316, 1000];
    }
    println!(
        "states\ttransitions\tcache\tmake_s\tready_s\tmedian_us\tp99_us\tmax_us\tmean_us\t\
         seen_median\tseen_p99\tseen_max\twrong\tresident_mib"
    );
    for side in sides {
        measure(side);
    }
}

fn measure(side: u32) {
    let side = side.try_into().expect("a side");
    let started = Instant::now();
    let chain = Chain::grid(Grid { width: side, height: side, seed: 1 }).expect("small enough");
    let made = started.elapsed();
    for cache in [CacheSize::default(), CacheSize(0)] {
        let chain = chain.clone();
        let started = Instant::now();
        let model = Arc::new(Model::on_demand(chain, cache));
        steps(model, cache, made, started.elapsed());
    }
}

fn steps(model: Arc<Model>, cache: CacheSize, made: Duration, ready: Duration) {
    let promise = Promise::within_radius("3".parse().expect("ε"), "1".parse().expect("a radius"));
    let design = Preset::Sharp.design();
    let mechanism = Mechanism::new(model.clone(), design, promise).expect("a mechanism");
    let source = Source::seeded(1);
    let mut releaser = Releaser::new(Arc::new(mechanism), &source, Start::First).expect("a seed");
    let chain = model.chain();
    let searches = model.searches().expect("on demand");
    let own = OwnWalks::new(chain);
    let mut randomness = source.open([0; 32]).expect("a seed");
    let key = randomness.walk(b"real");
    let words = randomness.at(&key, 0, None);
    let (mut times, mut seen, mut wrong) = (Vec::new(), Vec::new(), 0usize);
    let mut released = Released::default();
    for number in 0..WALKS {
        let mut walk = releaser.walk(&number.to_string());
        for real in own.walk(Origin::Initial, STEPS - 1, words) {
            let before = searches.states_seen();
            let started = Instant::now();
            released.clear();
            releaser.push(&mut walk, real, &mut released).expect("one process");
            times.push(started.elapsed());
            seen.push(searches.states_seen() - before);
            wrong += usize::from(released.states != [real]);
        }
    }
    times.sort_unstable();
    seen.sort_unstable();
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let share = |per_mille: usize| (times.len() - 1) * per_mille / 1000;
    println!(
        "{}\t{}\t{}\t{:.2}\t{:.2}\t{:.2}\t{:.2}\t{:.1}\t{:.2}\t{}\t{}\t{}\t{:.4}\t{:.0}",
        chain.len(),
        chain.transitions(),
        cache.0,
        made.as_secs_f64(),
        ready.as_secs_f64(),
        micros(times[share(500)]),
        micros(times[share(990)]),
        micros(times[times.len() - 1]),
        micros(times.iter().sum::<Duration>()) / times.len() as f64,
        seen[share(500)],
        seen[share(990)],
        seen[seen.len() - 1],
        wrong as f64 / times.len() as f64,
        resident_mib(),
    );
}

/// The most memory this process has had, where the system tells.
fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.map_or(f64::NAN, |kib| kib / 1024.0)
}
