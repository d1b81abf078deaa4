//! The largest chain at hand: clicks between articles, 3,808 states. Slow, so only on request:
//!
//! ```text
//! VEILWALK_DATA=path/to/data cargo test --release --test guarantee_wikispeedia -- --ignored --nocapture
//! ```
//!
//! The data are not part of the repository (SNAP Wikispeedia; West and Leskovec 2012).

mod common;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use common::preset;
use veilwalk::chain::{BuildOptions, ChainBuilder, Entries, Scope};
use veilwalk::guarantee::{Coverage, Effort, Guarantee, audited_loss, calibrate, unwatched};
use veilwalk::{Model, Preset};

fn wikispeedia() -> Option<Arc<Model>> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../data");
    let data = std::env::var_os("VEILWALK_DATA").map_or_else(beside, PathBuf::from);
    let path = data.join("wikispeedia/transitions_finished_backclick_resolved.tsv");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: {} cannot be read; set VEILWALK_DATA", path.display());
        return None;
    };
    let mut builder = ChainBuilder::new(Entries::Counts);
    for line in text.lines() {
        let mut fields = line.split('\t');
        let mut next = || fields.next().expect("three fields a line");
        let (from, to) = (builder.state(next()), builder.state(next()));
        builder.transition(from, to, next().parse().unwrap()).unwrap();
    }
    let options = BuildOptions { scope: Scope::LargestComponent, ..Default::default() };
    Some(Arc::new(Model::new(builder.build(options).unwrap().0).unwrap()))
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("unknown");
    line.to_owned()
}

fn measure(name: Preset, effort: Effort, expected: Coverage) {
    let Some(model) = wikispeedia() else { return };
    assert_eq!((model.chain().len(), model.chain().transitions()), (3808, 58_500));
    let mechanism = preset(&model, name, "2", "2");
    let start = Instant::now();
    let losses = audited_loss(&mechanism, effort, &unwatched).unwrap();
    let took = start.elapsed();
    assert_eq!(losses.coverage, expected);
    println!("{name}, {expected:?}: {took:.1?}, {}", peak_memory());
    println!("{}", Guarantee::from_losses(&mechanism, &losses).unwrap());
    assert!(losses.any.max > 0.0);
    assert!(took.as_secs() < 1200);
}

#[test]
#[ignore = "takes minutes and needs data that are not in the repository"]
fn transitions_only() {
    measure(Preset::Cell, Effort::LEAST, Coverage::TransitionsOnly);
    measure(Preset::Paper, Effort::LEAST, Coverage::TransitionsOnly);
    measure(Preset::Exponential, Effort::LEAST, Coverage::TransitionsOnly);
}

#[test]
#[ignore = "takes minutes and needs data that are not in the repository"]
fn default_effort() {
    measure(Preset::Paper, Effort::default(), Coverage::TransitionsOnly);
}

#[test]
#[ignore = "takes minutes and needs data that are not in the repository"]
fn calibrated() {
    let Some(model) = wikispeedia() else { return };
    for (name, radius) in [(Preset::Paper, "3"), (Preset::Sharp, "3")] {
        let theorem = preset(&model, name, "3", radius);
        let start = Instant::now();
        let (mechanism, found) = calibrate(&theorem, Effort::default(), &unwatched).unwrap();
        println!("{name}: {:.1?}, {}: {found}", start.elapsed(), peak_memory());
        assert!(found.audited_epsilon <= 3.0 && found.audited_epsilon > 2.997);
        assert_eq!(mechanism.promise(), theorem.promise());
    }
}

#[test]
#[ignore = "takes minutes and needs data that are not in the repository"]
fn all_pairs() {
    measure(Preset::Sharp, Effort::UNLIMITED, Coverage::AllPairs);
}
