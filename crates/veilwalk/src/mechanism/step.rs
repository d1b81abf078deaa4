//! What one step computes: the costs of the candidates, and the choice of one by its rule.

use pulp::{Arch, Simd, WithSimd};

use super::{CostScale, Mechanism, Rule, exponential};
use crate::chain::StateId;
use crate::distance::Rounded;
use crate::nats::Nats;
use crate::random::{COINS, Coins, ExpCoin, Flips, Lanes, RoundedUnit, UnitExponent, Words};

/// Working space for steps, so that they need no memory of their own.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    distances: Vec<Nats>,
    pub(super) costs: Vec<u64>,
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
        let candidates = || self.model.chain().successors(previous);
        let flips = &mut workspace.flips;
        match self.design.rule {
            Rule::PermuteAndFlip => {
                if let Some(mut coins) = self.by_rounded(previous, real, scale) {
                    let taken = scale.coin.take_heads(&mut coins, flips, words);
                    return coins.rounded.candidate(taken);
                }
                let least = self.fill_costs(previous, real, scale.cost, workspace);
                let Workspace { costs, flips, .. } = workspace;
                let mut coins = scale.coin.by_costs(costs, least);
                candidates()[scale.coin.take_heads(&mut coins, flips, words)]
            }
            Rule::Exponential => {
                let least = self.fill_costs(previous, real, scale.cost, workspace);
                let Workspace { costs, halvings, .. } = workspace;
                candidates()[exponential::select(costs, least, &scale.coin, halvings, words)]
            }
        }
    }

    /// The coins of a step by rounded distances, if these are at hand and of use at this scale.
    #[inline(always)]
    fn by_rounded(&self, previous: StateId, real: StateId, scale: &Scale) -> Option<ByRounded<'_>> {
        let rounded = self.rounded.as_deref()?.at(previous, real)?;
        let unit = RoundedUnit::new(scale.unit?, rounded.shift)?;
        Some(ByRounded { rounded, least: 0, unit, cost: scale.cost })
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

/// The coins of a step by rounded distances first, and by exact ones where those are not enough.
#[derive(Debug)]
struct ByRounded<'a> {
    rounded: Rounded<'a>,
    /// The least distance, once it is read.
    least: u16,
    unit: RoundedUnit,
    cost: CostScale,
}

impl Coins for ByRounded<'_> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.rounded.count()
    }

    #[inline(always)]
    fn read(&mut self) {
        self.least = self.rounded.least();
    }

    #[inline(always)]
    fn look_at(&self, places: &[u16; COINS], bits: &[u64; 4]) -> Lanes {
        self.unit.decide(&self.rounded.of(places), self.least, bits)
    }

    #[inline(always)]
    fn look_from(&self, sixteen: usize, bits: &[u64; 4]) -> Lanes {
        self.unit.decide(&self.rounded.sixteen(sixteen), self.least, bits)
    }

    #[cold]
    fn exponent(&self, place: usize) -> u64 {
        let cost = |place| self.cost.cost(self.rounded.exact(place), Nats::ZERO);
        // The smallest is among those that are smallest when rounded.
        let smallest = |&place: &usize| self.rounded.distance(place) == self.least;
        let least = (0..self.count()).filter(smallest).map(cost).min();
        cost(place) - least.expect("it is among them")
    }
}
