//! Simulated walks: the real sampler, on all cores, as an independent route to the exact figures.
//!
//! Walks come in batches of a fixed size, each with a stream of random words of its own, and are
//! added up in the order of the batches. So the result depends on the seed and on nothing else, not
//! even on the number of threads.
//!
//! It is also how the probability of a *typical* walk is found where an enclosure
//! ([`typical`](super::typical)) would take too long. An estimate is labelled as one, by its type.

use rayon::prelude::*;
#[cfg(feature = "serde")]
use serde::Serialize;

use super::figures::entropy_rate;
use super::{Origin, OwnWalks, edge_weights};
use crate::chain::{Chain, StateId};
use crate::mechanism::Mechanism;
use crate::random::{Source, Words};
use crate::session::{Start, Walker};
use crate::watch::{Stage, Stopped, Watch, report};

/// Which real walks are released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealWalks<'a> {
    /// This one, again and again.
    Given(&'a [StateId]),
    /// The chain's own: so many steps from here.
    Own {
        /// Where they start.
        origin: Origin,
        /// How many steps they take after the start.
        steps: usize,
    },
}

/// What to simulate, and what to look at.
#[derive(Clone, Copy, Debug)]
pub struct Simulation<'a> {
    /// The real walks.
    pub real: RealWalks<'a>,
    /// How released walks start.
    pub start: Start,
    /// How many walks are made.
    pub walks: u64,
    /// The seed: the same one gives the same figures. Simulated walks are not released, so they
    /// need no secret.
    pub seed: u64,
    /// Distances to exceed, in nats.
    pub levels: &'a [f64],
    /// How far from the entropy rate a typical walk may be, in nats per transition.
    pub etas: &'a [f64],
}

/// An estimate with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Estimate {
    /// The mean over all walks.
    pub mean: f64,
    /// Its standard error. Zero where all walks gave the same, which says little about what is rare.
    pub standard_error: f64,
}

/// The figures of [`super::Utility`], estimated.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct SimulatedUtility {
    /// How many walks were made.
    pub walks: u64,
    /// How many steps each took after the start.
    pub steps: usize,
    /// The distance from the released to the real state, averaged over steps 1 to the last.
    pub mean_distance_nats: Estimate,
    /// The share of steps at which the released state is not the real one.
    pub wrong_state_share: Estimate,
    /// Entropies per transition.
    pub entropy_nats: SimulatedEntropy,
    /// How often a distance is exceeded.
    pub exceedance: Vec<SimulatedExceedance>,
    /// How often the released walk is typical. Empty if the chain has no known entropy rate.
    pub typical: Vec<Typical>,
    /// The shares of the mass that were dropped from beliefs, added up over a walk; none where nothing is
    /// observed.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub dropped: Option<Estimate>,
}

/// Estimated `−ln P` per transition.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct SimulatedEntropy {
    /// Of the released walk.
    pub released: Estimate,
    /// Of the real walk.
    pub real: Estimate,
}

/// How often a distance was exceeded.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct SimulatedExceedance {
    /// The level in nats.
    pub nats: f64,
    /// The share of steps above it.
    pub per_step: Estimate,
    /// The share of walks that were above it at any step, the start included.
    pub ever: Estimate,
    /// The share of walks above it at each step, from step 0.
    pub at_step: Vec<f64>,
    /// The share of walks that were above it at that step or before, from step 0.
    pub ever_by_step: Vec<f64>,
}

/// How often the released walk is η-typical: its weights per transition within η of the entropy
/// rate.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Typical {
    /// η, in nats per transition.
    pub eta: f64,
    /// The share of released walks.
    pub released: Estimate,
    /// The share of real walks, for comparison.
    pub real: Estimate,
}

const WALKS_PER_BATCH: u64 = 256;
const BATCHES_AT_A_TIME: u64 = 16;

/// Makes the walks and adds up the figures.
///
/// # Errors
///
/// If the watcher asks to stop.
///
/// # Panics
///
/// If a given walk is empty.
pub fn simulate(
    mechanism: &Mechanism,
    simulation: Simulation<'_>,
    watch: Watch<'_>,
) -> Result<SimulatedUtility, Stopped> {
    let simulator = Simulator::new(mechanism, simulation);
    let batches = simulation.walks.div_ceil(WALKS_PER_BATCH);
    let mut sums = simulator.empty();
    for first in (0..batches).step_by(BATCHES_AT_A_TIME as usize) {
        report(watch, Stage::Simulation, first as usize, batches as usize)?;
        let last = (first + BATCHES_AT_A_TIME).min(batches);
        let done: Vec<Sums> =
            (first..last).into_par_iter().map(|batch| simulator.batch(batch)).collect();
        done.iter().for_each(|batch| sums.add(batch));
    }
    report(watch, Stage::Simulation, batches as usize, batches as usize)?;
    Ok(simulator.finish(&sums))
}

/// A running sum with the sum of squares.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    sum: f64,
    squares: f64,
}

impl Moments {
    fn push(&mut self, value: f64) {
        self.sum += value;
        self.squares += value * value;
    }

    fn estimate(self, walks: u64) -> Estimate {
        let n = walks as f64;
        let mean = self.sum / n;
        let variance = (self.squares / n - mean * mean).max(0.0) * n / (n - 1.0).max(1.0);
        Estimate { mean, standard_error: (variance / n).sqrt() }
    }
}

#[derive(Clone, Debug)]
struct Sums {
    distance: Moments,
    wrong: Moments,
    released: Moments,
    real: Moments,
    dropped: Moments,
    levels: Vec<LevelSums>,
    typical: Vec<[Moments; 2]>,
}

#[derive(Clone, Debug)]
struct LevelSums {
    per_step: Moments,
    at_step: Vec<u64>,
    first_at: Vec<u64>,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        let add = |a: &mut Moments, b: &Moments| {
            a.sum += b.sum;
            a.squares += b.squares;
        };
        add(&mut self.distance, &other.distance);
        add(&mut self.wrong, &other.wrong);
        add(&mut self.released, &other.released);
        add(&mut self.real, &other.real);
        add(&mut self.dropped, &other.dropped);
        for (a, b) in self.levels.iter_mut().zip(&other.levels) {
            add(&mut a.per_step, &b.per_step);
            a.at_step.iter_mut().zip(&b.at_step).for_each(|(a, b)| *a += b);
            a.first_at.iter_mut().zip(&b.first_at).for_each(|(a, b)| *a += b);
        }
        for (a, b) in self.typical.iter_mut().zip(&other.typical) {
            a.iter_mut().zip(b).for_each(|(a, b)| add(a, b));
        }
    }
}

struct Simulator<'a> {
    mechanism: &'a Mechanism,
    simulation: Simulation<'a>,
    steps: usize,
    rate: Option<f64>,
    weights: Vec<f64>,
    own_walks: OwnWalks<'a>,
}

impl<'a> Simulator<'a> {
    fn new(mechanism: &'a Mechanism, simulation: Simulation<'a>) -> Self {
        let chain = mechanism.model().chain();
        let steps = match simulation.real {
            RealWalks::Given(walk) => walk.len().checked_sub(1).expect("a walk has a first state"),
            RealWalks::Own { steps, .. } => steps,
        };
        Self {
            mechanism,
            simulation,
            steps,
            rate: entropy_rate(chain),
            weights: edge_weights(chain),
            own_walks: OwnWalks::new(chain),
        }
    }

    fn empty(&self) -> Sums {
        let by_step = vec![0; self.steps + 1];
        let level =
            LevelSums { per_step: Moments::default(), at_step: by_step.clone(), first_at: by_step };
        let etas = if self.rate.is_some() { self.simulation.etas.len() } else { 0 };
        Sums {
            distance: Moments::default(),
            wrong: Moments::default(),
            released: Moments::default(),
            real: Moments::default(),
            dropped: Moments::default(),
            levels: vec![level; self.simulation.levels.len()],
            typical: vec![[Moments::default(); 2]; etas],
        }
    }

    fn batch(&self, batch: u64) -> Sums {
        let source = Source::seeded(self.simulation.seed);
        let mut randomness =
            source.open(self.mechanism.fingerprint()).expect("a seed needs no operating system");
        let key = randomness.walk(format!("simulation batch {batch}").as_bytes());
        let words = randomness.at(&key, 0, None);
        let mut walker = Walker::new(self.mechanism);
        let mut sums = self.empty();
        let first = batch * WALKS_PER_BATCH;
        for _ in first..(first + WALKS_PER_BATCH).min(self.simulation.walks) {
            self.walk(words, &mut walker, &mut sums);
        }
        sums
    }

    fn walk(&self, words: &mut impl Words, walker: &mut Walker<'_>, sums: &mut Sums) {
        let model = self.mechanism.model();
        let chain = model.chain();
        let drawn;
        let reals: &[StateId] = match self.simulation.real {
            RealWalks::Given(walk) => walk,
            RealWalks::Own { origin, steps } => {
                drawn = self.own_walks.walk(origin, steps, words);
                &drawn
            }
        };
        let answers = &walker.release(self.simulation.start, reals, words).states;
        let levels = self.simulation.levels;
        let mut above = vec![0u32; levels.len()];
        let mut ever = vec![false; levels.len()];
        let (mut distance, mut wrong, mut released, mut real) = (0.0, 0u32, 0.0, 0.0);
        for (t, (&x, &z)) in reals.iter().zip(answers).enumerate() {
            if t > 0 {
                real += self.weight(chain, reals[t - 1], x);
                released += self.weight(chain, answers[t - 1], z);
            }
            let v = model.directed().between(z, x).as_f64();
            if t > 0 {
                distance += v;
                wrong += u32::from(x != z);
            }
            for (k, sums) in sums.levels.iter_mut().enumerate().filter(|(k, _)| v > levels[*k]) {
                sums.at_step[t] += 1;
                above[k] += u32::from(t > 0);
                if !std::mem::replace(&mut ever[k], true) {
                    sums.first_at[t] += 1;
                }
            }
        }
        let steps = self.steps.max(1) as f64;
        sums.distance.push(distance / steps);
        sums.wrong.push(f64::from(wrong) / steps);
        sums.released.push(released / steps);
        sums.real.push(real / steps);
        sums.dropped.push(walker.dropped());
        let level_sums = sums.levels.iter_mut().zip(above);
        level_sums.for_each(|(sums, above)| sums.per_step.push(f64::from(above) / steps));
        if let Some(rate) = self.rate {
            for (eta, typical) in self.simulation.etas.iter().zip(&mut sums.typical) {
                for (moments, weight) in typical.iter_mut().zip([released, real]) {
                    let within = (weight / steps - rate).abs() <= *eta;
                    moments.push(f64::from(u8::from(within)));
                }
            }
        }
    }

    /// `−ln P` of a move; infinite for one that the chain does not have.
    fn weight(&self, chain: &Chain, from: StateId, to: StateId) -> f64 {
        match chain.successors(from).binary_search(&to) {
            Ok(place) => self.weights[chain.row(from)][place],
            Err(_) => f64::INFINITY,
        }
    }

    fn finish(&self, sums: &Sums) -> SimulatedUtility {
        let walks = self.simulation.walks;
        let share = |count: u64| count as f64 / walks as f64;
        let level = |(&nats, sums): (&f64, &LevelSums)| {
            let reached = sums.first_at.iter().scan(0, |sum, first| {
                *sum += first;
                Some(*sum)
            });
            let ever: u64 = sums.first_at.iter().sum();
            let moments = Moments { sum: ever as f64, squares: ever as f64 };
            SimulatedExceedance {
                nats,
                per_step: sums.per_step.estimate(walks),
                ever: moments.estimate(walks),
                at_step: sums.at_step.iter().map(|&count| share(count)).collect(),
                ever_by_step: reached.map(share).collect(),
            }
        };
        let etas = self.simulation.etas.iter().zip(&sums.typical);
        let observes = self.mechanism.observation().is_some();
        SimulatedUtility {
            walks,
            steps: self.steps,
            mean_distance_nats: sums.distance.estimate(walks),
            wrong_state_share: sums.wrong.estimate(walks),
            entropy_nats: SimulatedEntropy {
                released: sums.released.estimate(walks),
                real: sums.real.estimate(walks),
            },
            exceedance: self.simulation.levels.iter().zip(&sums.levels).map(level).collect(),
            typical: etas
                .map(|(&eta, [released, real])| Typical {
                    eta,
                    released: released.estimate(walks),
                    real: real.estimate(walks),
                })
                .collect(),
            dropped: observes.then(|| sums.dropped.estimate(walks)),
        }
    }
}
