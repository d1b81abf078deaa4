//! What one step computes: the costs of the candidates, and the choice of one by its rule.

use pulp::{Arch, Simd, WithSimd};

use super::block::BlockSpace;
use super::observation::ObservationSpace;
use super::{CostScale, Mechanism, Rule, exponential};
use crate::chain::StateId;
use crate::nats::Nats;
use crate::outcome::Outcome;
use crate::random::{AllFlips, ExpCoin, Words};

/// Working space for steps and blocks, so that most of it is allocated once.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    pub(super) distances: Vec<Nats>,
    pub(super) costs: Vec<u64>,
    flips: AllFlips,
    pub(super) halvings: Vec<u32>,
    pub(super) block: BlockSpace,
    observation: ObservationSpace,
}

/// A scale with what a step needs of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) cost: CostScale,
    pub(super) coin: ExpCoin,
}

impl Scale {
    pub(super) fn new(cost: CostScale) -> Self {
        Self { cost, coin: ExpCoin::new(cost.denominator()) }
    }
}

impl Mechanism {
    /// Takes one step: the released state that follows `previous` when the real state is `real`.
    ///
    /// Exact: the probability of each outcome is that of the rule on real numbers. After the first
    /// few steps, no memory is allocated.
    ///
    /// # Panics
    ///
    /// If what is drawn are points on a plane: [`Mechanism::draw`] gives those.
    #[inline]
    pub fn step(
        &self,
        previous: StateId,
        real: StateId,
        words: &mut impl Words,
        workspace: &mut Workspace,
    ) -> StateId {
        if self.observation().is_some() {
            let drawn = self.draw(previous, real, words, workspace).state();
            return drawn.expect("points on a plane are not states");
        }
        let scale = self.scale_after(previous);
        let least = self.fill_costs(previous, real, scale.cost, workspace);
        let Workspace { costs, flips, halvings, .. } = workspace;
        let taken = match self.design.rule {
            Rule::PermuteAndFlip => scale.coin.pick_heads(costs, least, flips, words),
            Rule::Exponential => exponential::select(costs, least, &scale.coin, halvings, words),
        };
        self.model.chain().successors(previous)[taken]
    }

    /// Draws what is drawn for one real state after `previous`: the released state, or an observation.
    pub fn draw(
        &self,
        previous: StateId,
        real: StateId,
        words: &mut impl Words,
        workspace: &mut Workspace,
    ) -> Outcome {
        match self.observation() {
            Some(observation) => {
                let predicted = self.predicted_after(previous);
                observation.draw(predicted, real, words, &mut workspace.observation)
            }
            None => self.step(previous, real, words, workspace).into(),
        }
    }

    /// Puts the costs of all candidates into the workspace, and gives the smallest.
    pub(super) fn fill_costs(
        &self,
        previous: StateId,
        real: StateId,
        scale: CostScale,
        space: &mut Workspace,
    ) -> u64 {
        let chain = self.model.chain();
        let candidates = chain.successors(previous);
        space.distances.resize(candidates.len(), Nats::ZERO);
        self.metric.fill(previous, candidates, real, &mut space.distances);
        space.costs.resize(candidates.len(), 0);
        Arch::new().dispatch(Costs {
            distances: &space.distances,
            weights: chain.weights(previous),
            scale,
            out: &mut space.costs,
        })
    }
}

/// The costs of candidates, and the smallest of them, in whatever vector registers the machine has.
struct Costs<'a> {
    distances: &'a [Nats],
    weights: &'a [Nats],
    scale: CostScale,
    out: &'a mut [u64],
}

impl WithSimd for Costs<'_> {
    type Output = u64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> u64 {
        let Self { distances, weights, scale, out } = self;
        let inputs = distances.iter().zip(weights);
        out.iter_mut().zip(inputs).fold(u64::MAX, |least, (out, (&distance, &weight))| {
            *out = scale.cost(distance, weight);
            least.min(*out)
        })
    }
}
