//! How set-up, steps and memory grow with the chain: street grids from a hundred states to a million,
//! with the tables that small chains have by default and with distances on demand.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};
use veilwalk::CacheSize;
use veilwalk::analysis::{Origin, OwnWalks};
use veilwalk::chain::Grid;
use veilwalk::session::{Released, Releaser};
use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Source, Start};
use veilwalk_report::{Axis, Chart, Dash, Mark, Series, Tone, side_by_side};

/// Crossings along each side: 10² to 10⁶ states, two sizes to each power of ten.
const SIDES: [u32; 9] = [10, 18, 32, 56, 100, 178, 316, 562, 1000];
/// Beyond this, tables take more memory than a step is worth.
const MOST_STATES_WITH_TABLES: usize = 10_000;
const WALKS: usize = 100;
const STEPS: usize = 500;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Tables,
    OnDemand,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Tables => "tables",
            Self::OnDemand => "on demand",
        }
    }
}

struct Measured {
    kind: Kind,
    states: usize,
    set_up: Duration,
    median: Duration,
    p99: Duration,
    resident_mib: f64,
}

/// Measures all sizes, draws them, and gives the figures.
pub(crate) fn growth(picture: &Path) -> Result<Value> {
    let mut all = Vec::new();
    for side in SIDES {
        for kind in [Kind::Tables, Kind::OnDemand] {
            let states = side as usize * side as usize;
            if kind == Kind::OnDemand || states <= MOST_STATES_WITH_TABLES {
                let measured = measure(side, kind)?;
                eprintln!(
                    "{states} states, {}: {:?} to set up, {:?} a step (99th percentile {:?}), {:.0} MiB",
                    kind.name(),
                    measured.set_up,
                    measured.median,
                    measured.p99,
                    measured.resident_mib,
                );
                all.push(measured);
            }
        }
    }
    std::fs::write(picture, draw(&all))?;
    let figures = all.iter().map(|m| {
        json!({
            "states": m.states,
            "distances": m.kind.name(),
            "set_up_s": m.set_up.as_secs_f64(),
            "median_us": m.median.as_secs_f64() * 1e6,
            "p99_us": m.p99.as_secs_f64() * 1e6,
            "resident_mib": m.resident_mib,
        })
    });
    Ok(figures.collect())
}

/// The real walks are drawn from the chain, the released ones start where they do, and the mechanism
/// is `sharp` at epsilon 3 within a radius of 1.
fn measure(side: u32, kind: Kind) -> Result<Measured> {
    let side = side.try_into()?;
    let chain = Chain::grid(Grid { width: side, height: side, seed: 1 })?;
    let started = Instant::now();
    let model = Arc::new(match kind {
        Kind::Tables => Model::new(chain)?,
        Kind::OnDemand => Model::on_demand(chain, CacheSize::default()),
    });
    let promise = Promise::within_radius("3".parse()?, "1".parse()?);
    let mechanism = Mechanism::new(model.clone(), Preset::Sharp.design(), promise)?;
    let set_up = started.elapsed();
    let mut releaser = Releaser::new(Arc::new(mechanism), &Source::system(), Start::First)?;
    let own = OwnWalks::new(model.chain());
    let mut randomness = Source::seeded(1).open([0; 32])?;
    let key = randomness.walk(b"real");
    let words = randomness.at(&key, 0, None);
    let mut times = Vec::with_capacity(WALKS * STEPS);
    let mut released = Released::default();
    released.states.reserve(WALKS * STEPS);
    for number in 0..WALKS {
        let mut walk = releaser.walk(&number.to_string());
        for real in own.walk(Origin::Initial, STEPS - 1, words) {
            let started = Instant::now();
            releaser.push(&mut walk, real, std::hint::black_box(&mut released))?;
            times.push(started.elapsed());
        }
    }
    times.sort_unstable();
    let at = |per_mille: usize| times[(times.len() - 1) * per_mille / 1000];
    let states = model.chain().len();
    let resident_mib = resident_mib();
    Ok(Measured { kind, states, set_up, median: at(500), p99: at(990), resident_mib })
}

/// The memory this process has now, where the system tells.
fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.map_or(f64::NAN, |kib| kib / 1024.0)
}

fn draw(all: &[Measured]) -> String {
    let chart = |title: &str, unit: &str, least: f64| {
        let y = Axis::log(unit).from(least);
        Chart::new(title, Axis::log("states"), y).narrow().height(180.0)
    };
    let line = |kind: Kind, value: fn(&Measured) -> f64| {
        let measured = all.iter().filter(|m| m.kind == kind);
        Mark::line(measured.map(|m| (m.states as f64, value(m))).collect())
    };
    let series = |kind: Kind| match kind {
        Kind::Tables => Series::new(kind.name(), Tone::Vermilion),
        Kind::OnDemand => Series::new(kind.name(), Tone::Blue),
    };
    let both = |chart: Chart, value: fn(&Measured) -> f64| {
        [Kind::Tables, Kind::OnDemand]
            .into_iter()
            .fold(chart, |chart, kind| chart.with(series(kind), line(kind, value)))
    };
    let micros = |m: &Measured| m.median.as_secs_f64() * 1e6;
    let rare = |m: &Measured| m.p99.as_secs_f64() * 1e6;
    let slow = Series::new("99th percentile", Tone::Blue).dash(Dash::Dashed);
    let steps = both(chart("A step, median", "microseconds", 0.01), micros);
    side_by_side(&[
        both(chart("Set-up", "seconds", 1e-5), |m| m.set_up.as_secs_f64()).to_svg(),
        steps.with(slow, line(Kind::OnDemand, rare)).to_svg(),
        both(chart("Memory", "MiB", 1.0), |m| m.resident_mib).to_svg(),
    ])
}
