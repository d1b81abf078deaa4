//! One real walk: the released state's distribution moves by one sparse step per time.
//!
//! With the real walk known, the released walk is a Markov chain whose kernel changes from step to
//! step: `f ← f K_x`. The same pass carries one more law for each level `v`, from which whatever
//! exceeds `v` is taken out for good; what was taken out is the probability of having exceeded it.
//!
//! ```
//! use std::sync::Arc;
//! use veilwalk::unwatched;
//! use veilwalk::internal::given_walk;
//! use veilwalk::{Chain, Mechanism, Model, Preset, Promise, Start};
//!
//! let model = Arc::new(Model::new(Chain::credit())?);
//! let promise = Promise::within_radius("1".parse()?, "3.5".parse()?);
//! let mechanism = Mechanism::new(model.clone(), Preset::Sharp.design(), promise)?;
//!
//! let real = ["B", "B", "Caa", "Ca/C"].map(|label| model.chain().state(label).unwrap());
//! let figures = given_walk::utility(&mechanism, &real, Start::First, &[2.0], &unwatched)?;
//! assert_eq!(figures.steps, 3);
//! assert_eq!(figures.wrong_by_step[0], 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::figures::{Collected, DistanceLaw, Utility};
use super::{edge_weights, given_block};
use crate::chain::StateId;
use crate::mechanism::{KernelWorkspace, Mechanism};
use crate::model::Model;
use crate::session::Start;
use crate::watch::{Stage, Stopped, Watch, report};

/// The exact distribution of the released state, moved along a real walk.
#[derive(Clone, Debug)]
pub struct ReleasedLaw<'m> {
    steps: Stepper<'m>,
    law: [Vec<f64>; 1],
}

impl<'m> ReleasedLaw<'m> {
    /// The distribution of the first released state, when the real walk starts at `first`.
    #[must_use]
    pub fn new(mechanism: &'m Mechanism, start: Start, first: StateId) -> Self {
        Self { steps: Stepper::new(mechanism), law: [first_law(mechanism, start, first)] }
    }

    /// Moves on by one step, in which the real walk comes to `real`. Gives the expected weight
    /// `−ln P` of the released move.
    pub fn advance(&mut self, real: StateId) -> f64 {
        self.steps.advance(real, &mut self.law)
    }

    /// The probability of every state.
    #[must_use]
    pub fn probabilities(&self) -> &[f64] {
        &self.law[0]
    }

    /// The distribution of the distance to a real state.
    #[must_use]
    pub fn distance_to(&self, real: StateId) -> DistanceLaw {
        let row = self.steps.mechanism.model().directed().to(real);
        DistanceLaw::collect(row.iter().copied().zip(self.law[0].iter().copied()))
    }
}

/// All figures for one real walk, the first state included as step 0.
///
/// A real walk may take moves that the chain does not have; its own entropy is then infinite.
///
/// # Errors
///
/// If the watcher asks to stop.
///
/// # Panics
///
/// If the walk is empty.
///
/// # Complexity
///
/// One kernel for each state that the released walk may be in, at each step. In blocks, two passes over
/// all transitions for each step, and the messages of one block in memory.
pub fn utility(
    mechanism: &Mechanism,
    real: &[StateId],
    start: Start,
    levels: &[f64],
    watch: Watch<'_>,
) -> Result<Utility, Stopped> {
    if let Some(blocks) = mechanism.blocks() {
        return given_block::utility(mechanism, blocks, real, start, levels, watch);
    }
    let first = *real.first().expect("a walk has a first state");
    let mut steps = Stepper::new(mechanism);
    let law = first_law(mechanism, start, first);
    figures_along(mechanism.model(), real, law, levels, watch, |t, laws| {
        steps.advance(real[t], laws)
    })
}

/// The figures for one real walk, from the law of the first released state. `advance` takes the
/// number of a step and moves any number of laws by it; it gives the expected weight of the move
/// under the first.
pub(super) fn figures_along(
    model: &Model,
    real: &[StateId],
    first: Vec<f64>,
    levels: &[f64],
    watch: Watch<'_>,
    mut advance: impl FnMut(usize, &mut [Vec<f64>]) -> f64,
) -> Result<Utility, Stopped> {
    let (chain, directed) = (model.chain(), model.directed());
    // The law itself, then one for each level without what has exceeded it.
    let mut laws = vec![first; levels.len() + 1];
    let mut collected = Collected::new(levels.len());
    let mut ever: Vec<Vec<f64>> = vec![Vec::with_capacity(real.len()); levels.len()];
    for (t, &x) in real.iter().enumerate() {
        if t > 0 {
            report(watch, Stage::Steps, t, real.len() - 1)?;
            collected.released_weight += advance(t, &mut laws);
            collected.real_weight += -chain.probability(real[t - 1], x).ln();
        }
        let row = directed.to(x);
        let (law, survivors) = laws.split_first_mut().expect("at least the law itself");
        let mean = law.iter().zip(row).map(|(p, d)| p * d.as_f64()).sum();
        collected.distance.push(mean);
        collected.wrong.push(law.iter().sum::<f64>() - law[x.index()]);
        for (k, (&level, survivors)) in levels.iter().zip(survivors).enumerate() {
            let above = |d: &crate::nats::Nats| d.as_f64() > level;
            let now = law.iter().zip(row).filter(|(_, d)| above(d)).map(|(p, _)| p).sum();
            collected.above[k].push(now);
            let mut taken = ever[k].last().copied().unwrap_or(0.0);
            for (p, _) in survivors.iter_mut().zip(row).filter(|(_, d)| above(d)) {
                taken += std::mem::take(p);
            }
            ever[k].push(taken);
        }
    }
    Ok(collected.finish(chain, levels, ever))
}

/// The distribution of the first released state. With a private start in blocks, that of the first state
/// drawn by itself.
///
/// # Panics
///
/// If the start is private and the mechanism cannot start so.
pub(super) fn first_law(mechanism: &Mechanism, start: Start, first: StateId) -> Vec<f64> {
    let chain = mechanism.model().chain();
    let at = |state: StateId| {
        let mut law = vec![0.0; chain.len()];
        law[state.index()] = 1.0;
        law
    };
    match start {
        Start::Private => mechanism.first_law(first).unwrap_or_else(|why| panic!("{why}")),
        Start::Initial => chain.states().map(|s| chain.initial().probability(s)).collect(),
        Start::First => at(first),
        Start::At(state) => at(state),
    }
}

/// Moves any number of laws by the same kernel, which is computed once.
#[derive(Clone, Debug)]
struct Stepper<'m> {
    mechanism: &'m Mechanism,
    weights: Vec<f64>,
    kernel: Vec<f64>,
    next: Vec<f64>,
    space: KernelWorkspace,
}

impl<'m> Stepper<'m> {
    fn new(mechanism: &'m Mechanism) -> Self {
        let chain = mechanism.model().chain();
        Self {
            mechanism,
            weights: edge_weights(chain),
            kernel: Vec::new(),
            next: Vec::new(),
            space: KernelWorkspace::default(),
        }
    }

    /// Gives the expected weight of the move under the first law. Every other law must be zero
    /// wherever the first is.
    fn advance(&mut self, real: StateId, laws: &mut [Vec<f64>]) -> f64 {
        let chain = self.mechanism.model().chain();
        let states = chain.len();
        self.next.clear();
        self.next.resize(states * laws.len(), 0.0);
        let mut expected = 0.0;
        for z in chain.states() {
            let mass = laws[0][z.index()];
            if mass == 0.0 {
                continue;
            }
            let successors = chain.successors(z);
            self.kernel.resize(successors.len(), 0.0);
            self.mechanism.kernel_into(z, real, &mut self.space, &mut self.kernel);
            let weights = &self.weights[chain.row(z)];
            expected += mass * self.kernel.iter().zip(weights).map(|(k, w)| k * w).sum::<f64>();
            for (law, next) in laws.iter().zip(self.next.chunks_mut(states)) {
                let mass = law[z.index()];
                for (y, k) in successors.iter().zip(&self.kernel) {
                    next[y.index()] += mass * k;
                }
            }
        }
        for (law, next) in laws.iter_mut().zip(self.next.chunks(states)) {
            law.copy_from_slice(next);
        }
        expected
    }
}
