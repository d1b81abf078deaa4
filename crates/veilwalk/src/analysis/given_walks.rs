//! Several real walks: the figures of each, put together.
//!
//! Every step counts the same, so what is averaged over steps weighs a walk by its length. What is
//! said of a whole walk (whether a distance was ever exceeded, whether the release is typical) counts
//! every walk the same. Figures of one step are averaged over the walks that come so far.
//!
//! Walks are taken in batches, on all cores, and added up in their order: the number of threads
//! changes nothing.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::figures::{EntropyFigures, Exceedance, Utility, entropy_rate};
use super::given_walk;
use super::simulate::{
    Estimate, RealWalks, SimulatedEntropy, SimulatedExceedance, SimulatedUtility, Simulation,
    Typical, simulate as simulate_one,
};
use super::typical::{self, Spending, TypicalEnclosure};
use crate::chain::StateId;
use crate::mechanism::Mechanism;
use crate::session::Start;
use crate::watch::{Progress, Stage, Stopped, Watch, report};

const WALKS_PER_BATCH: usize = 256;

/// The exact figures of all walks together; `steps` is how many they take in all.
///
/// # Errors
///
/// If the watcher asks to stop.
///
/// # Panics
///
/// If a walk is empty.
pub fn utility(
    mechanism: &Mechanism,
    walks: &[Vec<StateId>],
    start: Start,
    levels: &[f64],
    watch: Watch<'_>,
) -> Result<Utility, Stopped> {
    let all_steps: usize = walks.iter().map(|walk| walk.len().saturating_sub(1)).sum();
    let done = AtomicU64::new(0);
    let count = |_: Progress| -> ControlFlow<()> {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        watch(Progress { stage: Stage::Steps, share: done as f64 / all_steps.max(1) as f64 })
    };
    let mut sums = Sums::new(walks, levels.len());
    for batch in walks.chunks(WALKS_PER_BATCH) {
        let each = batch.par_iter();
        let each = each.map(|walk| given_walk::utility(mechanism, walk, start, levels, &count));
        let each: Vec<Utility> = each.collect::<Result<_, _>>()?;
        each.iter().for_each(|figures| sums.add(figures));
    }
    let rate = entropy_rate(mechanism.model().chain());
    Ok(sums.finish(all_steps, walks.len(), levels, rate))
}

/// Totals over walks.
struct Sums {
    /// How many walks come to each step.
    reaching: Vec<f64>,
    distance: Vec<f64>,
    wrong: Vec<f64>,
    /// One list for each level.
    above: Vec<Vec<f64>>,
    ever: Vec<Vec<f64>>,
    ever_at_all: Vec<f64>,
    released: f64,
    real: f64,
}

impl Sums {
    fn new(walks: &[Vec<StateId>], levels: usize) -> Self {
        let zeros = vec![0.0; walks.iter().map(Vec::len).max().unwrap_or(0)];
        Self {
            reaching: zeros.clone(),
            distance: zeros.clone(),
            wrong: zeros.clone(),
            above: vec![zeros.clone(); levels],
            ever: vec![zeros; levels],
            ever_at_all: vec![0.0; levels],
            released: 0.0,
            real: 0.0,
        }
    }

    fn add(&mut self, figures: &Utility) {
        fn add(sums: &mut [f64], by_step: &[f64]) {
            sums.iter_mut().zip(by_step).for_each(|(sum, value)| *sum += value);
        }
        self.reaching[..=figures.steps].iter_mut().for_each(|count| *count += 1.0);
        add(&mut self.distance, &figures.distance_by_step);
        add(&mut self.wrong, &figures.wrong_by_step);
        for (k, level) in figures.exceedance.iter().enumerate() {
            add(&mut self.above[k], &level.at_step);
            add(&mut self.ever[k], &level.ever_by_step);
            self.ever_at_all[k] += level.ever;
        }
        self.released += figures.entropy_nats.released * figures.steps as f64;
        self.real += figures.entropy_nats.real * figures.steps as f64;
    }

    fn finish(self, steps: usize, walks: usize, levels: &[f64], rate: Option<f64>) -> Utility {
        let per_step = |sum: f64| if steps == 0 { 0.0 } else { sum / steps as f64 };
        let after_start = |sums: &[f64]| per_step(sums.iter().skip(1).sum());
        let by_step = |sums: &[f64]| -> Vec<f64> {
            sums.iter().zip(&self.reaching).map(|(sum, walks)| sum / walks).collect()
        };
        let exceedance = levels.iter().enumerate().map(|(k, &nats)| Exceedance {
            nats,
            per_step: after_start(&self.above[k]),
            ever: self.ever_at_all[k] / walks.max(1) as f64,
            at_step: by_step(&self.above[k]),
            ever_by_step: by_step(&self.ever[k]),
        });
        Utility {
            steps,
            mean_distance_nats: after_start(&self.distance),
            wrong_state_share: after_start(&self.wrong),
            entropy_nats: EntropyFigures {
                released: per_step(self.released),
                real: per_step(self.real),
                rate,
            },
            exceedance: exceedance.collect(),
            distance_by_step: by_step(&self.distance),
            wrong_by_step: by_step(&self.wrong),
        }
    }
}

/// The share of walks whose release is η-typical, enclosed; walks of one state have no transition
/// and are left out. `None` if what may be spent, on all walks together, does not give a useful
/// width: simulate then.
///
/// # Errors
///
/// If the watcher asks to stop.
///
/// # Panics
///
/// If a walk is empty.
pub fn typical(
    mechanism: &Mechanism,
    walks: &[Vec<StateId>],
    start: Start,
    eta: f64,
    spending: Spending,
    watch: Watch<'_>,
) -> Result<Option<TypicalEnclosure>, Stopped> {
    let moving: Vec<&Vec<StateId>> = walks.iter().filter(|walk| walk.len() > 1).collect();
    let share = Spending { operations: spending.operations / moving.len() as f64, ..spending };
    let mut sum = TypicalEnclosure { eta, at_least: 0.0, at_most: 0.0, width_nats: 0.0 };
    for (done, walk) in moving.iter().enumerate() {
        report(watch, Stage::Typical, done, moving.len())?;
        let relay = |_: Progress| {
            let share = done as f64 / moving.len() as f64;
            watch(Progress { stage: Stage::Typical, share })
        };
        let found = typical::of_given_walk(mechanism, walk, start, eta, share, &relay)?;
        let Some(one) = found else { return Ok(None) };
        sum.at_least += one.at_least / moving.len() as f64;
        sum.at_most += one.at_most / moving.len() as f64;
        sum.width_nats = sum.width_nats.max(one.width_nats);
    }
    Ok((!moving.is_empty()).then_some(sum))
}

/// Simulates `simulation.walks` releases of every real walk, with a seed of its own each. What
/// `simulation` says of real walks is not looked at.
///
/// # Errors
///
/// If the watcher asks to stop.
///
/// # Panics
///
/// If a walk is empty.
pub fn simulate(
    mechanism: &Mechanism,
    walks: &[Vec<StateId>],
    simulation: Simulation<'_>,
    watch: Watch<'_>,
) -> Result<SimulatedUtility, Stopped> {
    let all_steps: usize = walks.iter().map(|walk| walk.len() - 1).sum();
    let longest = walks.iter().map(Vec::len).max().unwrap_or(0);
    let mut reaching = vec![0.0; longest];
    let mut sums = SimulatedUtility::nothing(all_steps, longest, simulation.levels);
    for (place, walk) in walks.iter().enumerate() {
        let relay = |inner: Progress| {
            let share = (place as f64 + inner.share) / walks.len() as f64;
            watch(Progress { stage: Stage::Simulation, share })
        };
        let (real, seed) = (RealWalks::Given(walk), simulation.seed.wrapping_add(place as u64));
        let one = simulate_one(mechanism, Simulation { real, seed, ..simulation }, &relay)?;
        reaching[..walk.len()].iter_mut().for_each(|count| *count += 1.0);
        let by_steps = (walk.len() - 1) as f64 / all_steps.max(1) as f64;
        sums.add(&one, by_steps, 1.0 / walks.len() as f64);
    }
    // Walks of one state have no entropy to be typical by.
    let moving = walks.iter().filter(|walk| walk.len() > 1).count();
    sums.finish(&reaching, walks.len() as f64 / moving.max(1) as f64);
    Ok(sums)
}

impl Estimate {
    const NOTHING: Self = Self { mean: 0.0, standard_error: 0.0 };

    /// Adds a share of an independent estimate.
    fn add(&mut self, other: Self, share: f64) {
        self.mean += share * other.mean;
        self.standard_error = self.standard_error.hypot(share * other.standard_error);
    }
}

impl SimulatedUtility {
    fn nothing(steps: usize, longest: usize, levels: &[f64]) -> Self {
        let level = |&nats: &f64| SimulatedExceedance {
            nats,
            per_step: Estimate::NOTHING,
            ever: Estimate::NOTHING,
            at_step: vec![0.0; longest],
            ever_by_step: vec![0.0; longest],
        };
        Self {
            walks: 0,
            steps,
            mean_distance_nats: Estimate::NOTHING,
            wrong_state_share: Estimate::NOTHING,
            entropy_nats: SimulatedEntropy { released: Estimate::NOTHING, real: Estimate::NOTHING },
            exceedance: levels.iter().map(level).collect(),
            typical: Vec::new(),
            dropped: None,
        }
    }

    fn add(&mut self, one: &Self, by_steps: f64, by_walks: f64) {
        self.walks += one.walks;
        if one.steps > 0 {
            self.mean_distance_nats.add(one.mean_distance_nats, by_steps);
            self.wrong_state_share.add(one.wrong_state_share, by_steps);
            self.entropy_nats.released.add(one.entropy_nats.released, by_steps);
            self.entropy_nats.real.add(one.entropy_nats.real, by_steps);
        }
        if let Some(dropped) = one.dropped {
            self.dropped.get_or_insert(Estimate::NOTHING).add(dropped, by_walks);
        }
        for (sum, level) in self.exceedance.iter_mut().zip(&one.exceedance) {
            sum.per_step.add(level.per_step, by_steps);
            sum.ever.add(level.ever, by_walks);
            let at_step = sum.at_step.iter_mut().zip(&level.at_step);
            at_step.for_each(|(sum, value)| *sum += value);
            let by_step = sum.ever_by_step.iter_mut().zip(&level.ever_by_step);
            by_step.for_each(|(sum, value)| *sum += value);
        }
        if one.steps == 0 {
            return;
        }
        if self.typical.is_empty() {
            let nothing = |typical: &Typical| Typical {
                eta: typical.eta,
                released: Estimate::NOTHING,
                real: Estimate::NOTHING,
            };
            self.typical = one.typical.iter().map(nothing).collect();
        }
        for (sum, typical) in self.typical.iter_mut().zip(&one.typical) {
            sum.released.add(typical.released, by_walks);
            sum.real.add(typical.real, by_walks);
        }
    }

    fn finish(&mut self, reaching: &[f64], typical_by: f64) {
        for level in &mut self.exceedance {
            let by_step = level.at_step.iter_mut().zip(reaching);
            by_step.for_each(|(sum, walks)| *sum /= walks);
            let by_step = level.ever_by_step.iter_mut().zip(reaching);
            by_step.for_each(|(sum, walks)| *sum /= walks);
        }
        for typical in &mut self.typical {
            for estimate in [&mut typical.released, &mut typical.real] {
                estimate.mean *= typical_by;
                estimate.standard_error *= typical_by;
            }
        }
    }
}
