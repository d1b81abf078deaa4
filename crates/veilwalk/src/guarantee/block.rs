//! The exact loss of a block: of two given ones by enumerating every path, and the worst of
//! replacing one state by passes over the steps.
//!
//! Two real blocks that differ at step `t` alone give a released block costs that differ by
//! `Δ(y_t) = c(y_t|y_{t−1}, x′_t) − c(y_t|y_{t−1}, x_t)`, which for the distances that ignore the last
//! released state depends on `y_t` alone. The normalisers then differ by the mean of `exp(−Δ)` under
//! the first block's own law of `y_t`, so that the loss, seen from the last released state `z`, is
//!
//! ```text
//! max over y_t within t steps of z of |Δ(y_t) + ln E[exp(−Δ(Y_t))]|.
//! ```
//!
//! One pass backward and one forward give the law at every step for all replacements at once. What
//! remains is to go through all real blocks, of which there are |S| to the power of L.

#[cfg(feature = "serde")]
use serde::Serialize;

use crate::chain::StateId;
use crate::mechanism::{Blocks, Mechanism, Workspace};
use crate::rounding::log_kernel_error;
use crate::watch::{Stage, Stopped, Watch, report_share};

/// The largest log-ratio of the probabilities of any released block, over every last released state,
/// when the real block is `reals` and when it is `others`. Rounded up by what doubles can be off.
///
/// # Panics
///
/// If the two have different lengths, or are longer than a block.
///
/// # Complexity
///
/// The number of paths of that length in the whole chain.
#[must_use]
pub fn block_loss(mechanism: &Mechanism, reals: &[StateId], others: &[StateId]) -> f64 {
    assert_eq!(reals.len(), others.len(), "adjacent walks are of equal length");
    if reals == others {
        return 0.0;
    }
    let chain = mechanism.model().chain();
    let candidates = chain.largest_out_degree();
    let losses = chain.states().flat_map(|previous| {
        let one = mechanism.log_law(previous, reals);
        let two = mechanism.log_law(previous, others);
        let pairs = one.into_iter().zip(two);
        pairs.map(|((_, a), (_, b))| {
            // One rounding error for each of the choices that a path is made of.
            let each = log_kernel_error(candidates, a.abs().max(b.abs()));
            (a - b).abs() + 2.0 * reals.len() as f64 * each
        })
    });
    losses.fold(0.0, f64::max)
}

/// The worst of replacing one state of a block by another, rounded up.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct ReplacementLoss {
    /// How many steps the blocks that were compared have. A walk's last block can be that short.
    pub steps: usize,
    /// The largest loss.
    pub max: f64,
    /// The largest loss per nat between the two states.
    pub per_nat: f64,
    /// The block that is worst hit, by the names of its states.
    pub real: Vec<String>,
    /// Which of its steps is replaced, from 1.
    pub step: usize,
    /// By which state.
    pub other: String,
}

/// About how many exponentials the worst replacement in blocks of so many steps takes.
#[must_use]
pub fn replacement_work(mechanism: &Mechanism, steps: usize) -> f64 {
    let chain = mechanism.model().chain();
    let (states, transitions) = (chain.len() as f64, chain.transitions() as f64);
    let each_step = states * transitions + states * states * states;
    states.powi(steps.try_into().unwrap_or(i32::MAX)) * steps as f64 * each_step
}

/// The worst of replacing one state, over all real blocks of so many steps and all last released
/// states; `within` says which pairs of states to look at. `None` if there is no such pair, for
/// distances that depend on the last released state, and for a mechanism that releases no blocks: its
/// losses are those of pairs ([`pair_loss`](super::pair_loss)).
///
/// # Errors
///
/// If the watcher asks to stop.
///
/// # Panics
///
/// If that is longer than a block, or zero.
pub fn worst_replacement(
    mechanism: &Mechanism,
    steps: usize,
    within: impl Fn(StateId, StateId) -> bool,
    watch: Watch<'_>,
) -> Result<Option<ReplacementLoss>, Stopped> {
    let Some(blocks) = mechanism.blocks() else { return Ok(None) };
    let most = blocks.length().most_steps().get() as usize;
    assert!((1..=most).contains(&steps), "{steps} steps in a block of {most}");
    if mechanism.design().distance.nearest().is_some() {
        return Ok(None);
    }
    let chain = mechanism.model().chain();
    let mut passes = Passes::new(mechanism, blocks, steps);
    let mut worst: Option<Found> = None;
    let mut per_nat = 0.0f64;
    let mut reals = vec![StateId::new(0); steps];
    loop {
        if reals[1..].iter().all(|x| x.index() == 0) {
            report_share(watch, Stage::Losses, reals[0].index() as f64 / chain.len() as f64)?;
        }
        passes.settle(&reals);
        for previous in chain.states() {
            passes.forward(previous, &reals);
            for (t, &real) in reals.iter().enumerate() {
                for other in chain.states().filter(|&y| y != real && within(real, y)) {
                    let loss = passes.loss(t, real, other);
                    let apart = mechanism.model().symmetric().between(real, other).as_f64();
                    per_nat = per_nat.max(if apart > 0.0 { loss / apart } else { 0.0 });
                    if worst.as_ref().is_none_or(|found| loss > found.loss) {
                        worst = Some(Found { loss, reals: reals.clone(), t, other });
                    }
                }
            }
        }
        if !advance(&mut reals, chain.len()) {
            break;
        }
    }
    Ok(worst.map(|found| {
        let label = |state: &StateId| chain.label(*state).to_owned();
        ReplacementLoss {
            steps,
            max: found.loss,
            per_nat,
            real: found.reals.iter().map(label).collect(),
            step: found.t + 1,
            other: label(&found.other),
        }
    }))
}

struct Found {
    loss: f64,
    reals: Vec<StateId>,
    t: usize,
    other: StateId,
}

/// The next block in order; false after the last one.
fn advance(reals: &mut [StateId], states: usize) -> bool {
    for real in reals.iter_mut().rev() {
        let next = real.index() + 1;
        *real = StateId::new(next % states);
        if next < states {
            return true;
        }
    }
    false
}

/// Logarithms of everything, so that nothing underflows.
struct Passes<'m> {
    mechanism: &'m Mechanism,
    /// `−ln` of the sum over all that can follow, by step and state.
    messages: Vec<Vec<f64>>,
    /// The logarithm of the law of the released state, by step and state; minus infinity for those
    /// that cannot be reached.
    laws: Vec<Vec<f64>>,
    /// What a move to `y` costs for its distance from `x`, by `x`, then `y`.
    distance_costs: Vec<Vec<f64>>,
    slack: f64,
    space: Workspace,
    kernel: Vec<f64>,
}

impl<'m> Passes<'m> {
    fn new(mechanism: &'m Mechanism, blocks: &Blocks, steps: usize) -> Self {
        let (model, states) = (mechanism.model(), mechanism.model().chain().len());
        let distance_costs: Vec<Vec<f64>> =
            model.chain().states().map(|x| mechanism.distance_costs_in_nats(x)).collect();
        let largest = distance_costs.iter().flatten().copied().fold(0.0, f64::max);
        // Both laws are off by what messages are rounded by, and doubles by one rounding error for
        // each choice in each pass.
        let candidates = model.chain().largest_out_degree().max(states);
        let each = log_kernel_error(candidates, largest * steps as f64 + 700.0);
        let slack = 2.0 * blocks.log_law_error() + 6.0 * steps as f64 * each;
        let rows = |count: usize, value: f64| vec![vec![value; states]; count];
        Self {
            mechanism,
            messages: rows(steps + 1, 0.0),
            laws: rows(steps + 1, f64::NEG_INFINITY),
            distance_costs,
            slack,
            space: Workspace::default(),
            kernel: Vec::new(),
        }
    }

    /// Fills the kernel with the costs of a step and all that follows it.
    fn fill(&mut self, z: StateId, real: StateId, after: usize) {
        self.mechanism.costs_in_nats(z, real, &mut self.space, &mut self.kernel);
        let successors = self.mechanism.model().chain().successors(z);
        let messages = &self.messages[after];
        self.kernel.iter_mut().zip(successors).for_each(|(cost, y)| *cost += messages[y.index()]);
    }

    /// The pass backward.
    fn settle(&mut self, reals: &[StateId]) {
        let chain = self.mechanism.model().chain();
        for (t, &real) in reals.iter().enumerate().skip(1).rev() {
            for z in chain.states() {
                self.fill(z, real, t + 1);
                self.messages[t][z.index()] = -log_sum(self.kernel.iter().map(|cost| -cost));
            }
        }
    }

    /// The pass forward.
    fn forward(&mut self, previous: StateId, reals: &[StateId]) {
        let chain = self.mechanism.model().chain();
        self.laws.iter_mut().for_each(|law| law.fill(f64::NEG_INFINITY));
        self.laws[0][previous.index()] = 0.0;
        for (t, &real) in reals.iter().enumerate() {
            for z in chain.states() {
                let here = self.laws[t][z.index()];
                if here == f64::NEG_INFINITY {
                    continue;
                }
                self.fill(z, real, t + 1);
                let here = here - log_sum(self.kernel.iter().map(|cost| -cost));
                for (y, cost) in chain.successors(z).iter().zip(&self.kernel) {
                    let slot = &mut self.laws[t + 1][y.index()];
                    *slot = log_sum([*slot, here - cost].into_iter());
                }
            }
        }
    }

    /// What replacing the real state of one step loses, as seen from the start of the pass.
    fn loss(&self, t: usize, real: StateId, other: StateId) -> f64 {
        let law = &self.laws[t + 1];
        let costs = self.distance_costs[real.index()].iter();
        let changes = || costs.clone().zip(&self.distance_costs[other.index()]).map(|(a, b)| b - a);
        let reached = || law.iter().zip(changes()).filter(|(log, _)| **log > f64::NEG_INFINITY);
        let mean = log_sum(reached().map(|(log, change)| log - change));
        let losses = reached().map(|(_, change)| (change + mean).abs());
        losses.fold(0.0, f64::max) + self.slack
    }
}

/// `ln Σ exp`.
fn log_sum(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + logs.map(|log| (log - largest).exp()).sum::<f64>().ln()
}
