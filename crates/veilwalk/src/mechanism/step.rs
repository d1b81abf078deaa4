//! What one step computes: the costs of the candidates, and the choice of one by its rule.

use pulp::{Arch, Simd, WithSimd};

use super::{CostScale, Mechanism, Rule, exponential};
use crate::chain::StateId;
use crate::distance::Rounded;
use crate::nats::Nats;
use crate::random::{COINS, ExpCoin, Flips, RoundedUnit, UnitExponent, Words};

/// Working space for steps, so that they need no memory of their own.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    distances: Vec<Nats>,
    pub(super) costs: Vec<u64>,
    rounded: Vec<[u16; COINS]>,
    flips: Flips,
    halvings: Vec<u32>,
}

/// A scale with what a step needs of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) cost: CostScale,
    coin: ExpCoin,
    unit: Option<UnitExponent>,
}

impl Scale {
    pub(super) fn new(cost: CostScale) -> Self {
        Self { cost, coin: ExpCoin::new(cost.denominator()), unit: cost.unit_exponent() }
    }

    /// Flips the coins of a step by rounded distances, which have been read, and by exact ones where
    /// those are not enough. False, with nothing done, if they are of no use at this scale.
    #[inline]
    fn flip_by_rounded(
        &self,
        rounded: Rounded<'_>,
        space: &mut Workspace,
        words: &mut impl Words,
    ) -> bool {
        let Some(unit) = self.unit.and_then(|unit| RoundedUnit::new(unit, rounded.shift)) else {
            return false;
        };
        let read = &space.rounded[..rounded.sixteens()];
        if !space.flips.settle_by_rounded(read, unit) {
            self.flip_open(rounded, space, words);
        }
        true
    }

    #[cold]
    fn flip_open(&self, rounded: Rounded<'_>, space: &mut Workspace, words: &mut impl Words) {
        let cost = |place| self.cost.cost(rounded.exact(place), Nats::ZERO);
        // The smallest is among those that are smallest when rounded.
        let all = &space.rounded.as_flattened()[..rounded.len()];
        let smallest = all.iter().min().expect("every state has a successor");
        let places = (0..all.len()).filter(|&place| all[place] == *smallest);
        let least = places.map(cost).min().expect("it is among them");
        self.coin.flip_open(|place| cost(place) - least, &mut space.flips, words);
    }
}

impl Mechanism {
    /// Takes one step: the released state that follows `previous` when the real state is `real`.
    ///
    /// Exact: the probability of each outcome is that of the rule on real numbers. After the first
    /// few steps, no memory is allocated.
    #[inline]
    pub fn step(
        &self,
        previous: StateId,
        real: StateId,
        words: &mut impl Words,
        workspace: &mut Workspace,
    ) -> StateId {
        let scale = self.scale_after(previous);
        let candidates = self.model.chain().successors(previous);
        let taken = match self.design.rule {
            Rule::PermuteAndFlip => {
                let rounded =
                    self.rounded.as_deref().map(|rows| rows.at(previous, candidates, real));
                // Before bits are drawn, so that they are drawn while memory answers.
                rounded.inspect(|rounded| rounded.read(&mut workspace.rounded));
                workspace.flips.draw(candidates.len(), words);
                let by_rounded = |rounded| scale.flip_by_rounded(rounded, workspace, words);
                if !rounded.is_some_and(by_rounded) {
                    let least = self.fill_costs(previous, real, scale.cost, workspace);
                    let Workspace { costs, flips, .. } = workspace;
                    scale.coin.flip_all(costs, least, flips, words);
                }
                workspace.flips.choose(words)
            }
            Rule::Exponential => {
                let least = self.fill_costs(previous, real, scale.cost, workspace);
                let Workspace { costs, halvings, .. } = workspace;
                exponential::select(costs, least, &scale.coin, halvings, words)
            }
        };
        candidates[taken]
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
