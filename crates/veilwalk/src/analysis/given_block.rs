//! One real walk, released in blocks: forward and backward passes.
//!
//! Given the real states of a block, the released one is a Markov chain whose kernel at step `t` is
//! `K_t(y|z) ∝ exp(−c(y|z,x_t) − V_t(y))`, with `V_t(y)` the message of what follows (see
//! [`block`](crate::mechanism::block)). One pass backward gives the messages, one forward the
//! distribution of the released state at every step, and the same figures as for single steps.

use super::edge_weights;
use super::figures::Utility;
use super::given_walk::{figures_along, first_law};
use crate::chain::StateId;
use crate::mechanism::{Blocks, Mechanism, Workspace};
use crate::session::Start;
use crate::watch::{Stopped, Watch};

/// All figures for one real walk, the first state included as step 0.
///
/// # Complexity
///
/// Two passes over all transitions for each step, and the messages of one block in memory.
pub(super) fn utility(
    mechanism: &Mechanism,
    blocks: &Blocks,
    real: &[StateId],
    start: Start,
    levels: &[f64],
    watch: Watch<'_>,
) -> Result<Utility, Stopped> {
    let model = mechanism.model();
    let first = *real.first().expect("a walk has a first state");
    let mut law = first_law(mechanism, start, first);
    let mut passes = Passes::new(mechanism);
    let most = blocks.length().most_steps().get() as usize;
    let end = |t: usize| t.saturating_add(most).min(real.len());
    let mut block_starts = 1;
    if start == Start::Private && mechanism.starts_in_a_block() {
        block_starts = 0;
        passes.backward(&real[..end(0)]);
        passes.weigh_first(&mut law);
    }
    figures_along(model, real, law, levels, watch, |t, laws| {
        if t >= block_starts && (t - block_starts).is_multiple_of(most) {
            passes.backward(&real[t..end(t)]);
        }
        passes.forward(real[t], laws)
    })
}

struct Passes<'m> {
    mechanism: &'m Mechanism,
    weights: Vec<f64>,
    /// Of the steps of the block that are still to come, the nearest last.
    messages: Vec<Vec<f64>>,
    space: Workspace,
    kernel: Vec<f64>,
}

impl<'m> Passes<'m> {
    fn new(mechanism: &'m Mechanism) -> Self {
        let weights = edge_weights(mechanism.model().chain());
        let space = Workspace::default();
        Self { mechanism, weights, messages: Vec::new(), space, kernel: Vec::new() }
    }

    /// Fills the kernel, of which only the proportions matter, with the cheapest cost taken out.
    /// Gives that cost and the sum.
    fn fill_kernel(&mut self, z: StateId, real: StateId, messages: &[f64]) -> (f64, f64) {
        self.mechanism.costs_in_nats(z, real, &mut self.space, &mut self.kernel);
        let successors = self.mechanism.model().chain().successors(z);
        let costs = self.kernel.iter_mut().zip(successors);
        costs.for_each(|(cost, y)| *cost += messages[y.index()]);
        let least = self.kernel.iter().copied().fold(f64::INFINITY, f64::min);
        self.kernel.iter_mut().for_each(|cost| *cost = (least - *cost).exp());
        (least, self.kernel.iter().sum())
    }

    fn backward(&mut self, reals: &[StateId]) {
        let chain = self.mechanism.model().chain();
        self.messages = vec![vec![0.0; chain.len()]];
        for &real in reals[1..].iter().rev() {
            let after = self.messages.pop().expect("at least the last step's");
            let mut before: Vec<f64> = chain
                .states()
                .map(|z| {
                    let (least, sum) = self.fill_kernel(z, real, &after);
                    least - sum.ln()
                })
                .collect();
            // Only differences matter, and they keep their digits.
            let least = before.iter().copied().fold(f64::INFINITY, f64::min);
            before.iter_mut().for_each(|message| *message -= least);
            self.messages.extend([after, before]);
        }
    }

    /// What the law of the first state becomes with what follows it in its block.
    fn weigh_first(&mut self, law: &mut [f64]) {
        let messages = self.messages.pop().expect("one for each state of the block");
        law.iter_mut().zip(&messages).for_each(|(p, message)| *p *= (-message).exp());
        let total: f64 = law.iter().sum();
        law.iter_mut().for_each(|p| *p /= total);
    }

    /// Moves the laws by one step. Gives the expected weight of the move under the first.
    fn forward(&mut self, real: StateId, laws: &mut [Vec<f64>]) -> f64 {
        let chain = self.mechanism.model().chain();
        let messages = self.messages.pop().expect("one for each step of the block");
        let mut next = vec![vec![0.0; chain.len()]; laws.len()];
        let mut expected = 0.0;
        for z in chain.states().filter(|z| laws[0][z.index()] > 0.0) {
            let (_, sum) = self.fill_kernel(z, real, &messages);
            let weights = &self.weights[chain.row(z)];
            let mean = self.kernel.iter().zip(weights).map(|(k, w)| k * w).sum::<f64>();
            expected += laws[0][z.index()] * mean / sum;
            for (law, next) in laws.iter().zip(&mut next) {
                let mass = law[z.index()] / sum;
                for (y, k) in chain.successors(z).iter().zip(&self.kernel) {
                    next[y.index()] += mass * k;
                }
            }
        }
        laws.clone_from_slice(&next);
        expected
    }
}
