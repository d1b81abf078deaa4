//! Backward messages as whole numbers: how cheap it is to go on from a state.
//!
//! The message `V_t(z)` is `−ln` of the sum, over everything the block can still do after step `t`
//! from state `z`, of `exp(−cost)`. It is computed backward,
//!
//! ```text
//! V_t(z) = −ln Σ_y exp(−c(y|z,x_{t+1}) − V_{t+1}(y)),
//! ```
//!
//! in doubles, and rounded to a whole number of units of `1/N`, with `N` a multiple of the
//! denominator of the costs by a power of two. Doubles come from `libm`, sums are taken in a fixed
//! order, so messages are the same on every platform. They are 128 bits wide, which holds any block
//! without overflow, so that nothing saturates, and a message is a logarithm, so that nothing
//! underflows to zero.
//!
//! For distances that do not depend on the last released state the exponent is a part for the state
//! `y`, computed once for all its predecessors, and a part for the transition, computed once for all
//! steps: a sum costs one multiplication a transition. The shift of the exponents is then common to
//! all `z`; where a sum comes out below 2⁻⁶⁴ it is taken again with a shift of its own.
//!
//! # Precision
//!
//! Let u = 2⁻⁵³, n the largest number of successors, and all bounds be to first order; the constant
//! has nearly a factor two of room for the rest.
//!
//! *Terms.* A cost as a double is three roundings (the whole number, the inverse of `N`, their
//! product; `N` itself is a double), so `exp(−a)` is off by a relative `3u·a`, and by `2u` for an `exp`
//! that is good to one unit in the last place. A term `p = exp(−a)·exp(−b)` of the fast sum is
//! therefore off by a relative `3u(a+b) + 5u`. (Terms that underflow are below n·2⁻¹⁰⁷⁴ in all,
//! nothing beside a sum of 2⁻⁶⁴.)
//!
//! *Sums.* Let `S = Σ p`. The weights `p/S` have entropy at most `ln n`, which is the mean of `a + b`
//! plus `ln S`; so the mean of `a + b` is at most `ln n − ln S`, and S is off by a relative
//! `u(3 ln n + 3A + 5 + n − 1)`, with `A = max(0, −ln S) ≤ 64 ln 2`. With a shift of its own `A = 0`.
//!
//! *Logarithm.* It adds `2u·|ln S|`, the product with `N` another `u·|ln S|`, and `|ln S|` is at most
//! `A + ln n`. Rounding to a whole number adds `1/2N`.
//!
//! Together `u(6 ln n + 6A + n + 4) + 1/2N ≤ u(2n + 280) + 1/2N`. What is reckoned with is
//!
//! ```text
//! δ = u(2n + 512) + 1/2N.
//! ```
//!
//! A test compares messages with sums in whole numbers of several hundred bits.

use super::{BlockLength, CostScale};
use crate::chain::{Chain, StateId};
use crate::model::Model;
use crate::nats::Nats;
use crate::random::ExpCoin;

/// Messages need no more bits behind the point: beyond, the doubles they come from are coarser.
pub(super) const FINEST: u32 = 55;

/// Units in which what rounding costs is counted, for one nat.
pub(super) const COST_UNITS: f64 = (1u64 << 60) as f64;

/// A sum below this is taken again with a shift of its own.
const LEAST_SUM: f64 = 1.0 / (1u128 << 64) as f64;

/// What the loss of one block grows by for rounding, `4(L−1)δ`, in units of 2⁻⁶⁰ and rounded up, if
/// messages have this many bits behind the point.
pub(super) fn block_cost(model: &Model, length: BlockLength, fineness: u32) -> u128 {
    let successors = model.chain().largest_out_degree() as u128;
    // In units of 2^-80.
    let delta = ((2 * successors + 512) << 27) + (1 << (79 - fineness));
    let roundings = u128::from(length.most_steps().get() - 1);
    (4 * roundings * delta).div_ceil(1 << 20)
}

/// How messages and costs are brought to one denominator.
#[derive(Debug)]
pub(super) struct Arithmetic {
    /// Costs are multiplied by two to this.
    shift: u32,
    /// `N`.
    denominator: u64,
    per_unit: f64,
    pub(super) coin: ExpCoin,
    /// `exp(−β·w)` of every transition.
    transitions: Vec<f64>,
}

/// Working space for messages.
#[derive(Clone, Debug, Default)]
pub(super) struct MessageSpace {
    /// By state: what a move to it costs from there on.
    potentials: Vec<i128>,
    /// By state: `exp` of minus that, above the cheapest.
    weights: Vec<f64>,
    distances: Vec<Nats>,
    costs: Vec<i128>,
}

impl Arithmetic {
    pub(super) fn new(chain: &Chain, scale: CostScale, length: BlockLength) -> Self {
        let bits = |n: u64| u64::BITS - n.leading_zeros();
        // What a whole block costs stays below 2^120.
        let largest =
            bits(scale.cost(Nats::MAX, Nats::MAX)) + bits(length.most_steps().get().into());
        let shift = (FINEST + 1).saturating_sub(bits(scale.denominator())).min(120 - largest);
        let denominator = scale.denominator() << shift;
        let per_cost = 1.0 / scale.denominator() as f64;
        let weights = chain.states().flat_map(|z| chain.weights(z));
        let transitions =
            weights.map(|&w| libm::exp(-(scale.weight_cost(w) as f64 * per_cost))).collect();
        let per_unit = 1.0 / denominator as f64;
        Self { shift, denominator, per_unit, coin: ExpCoin::new(denominator), transitions }
    }

    pub(super) fn denominator(&self) -> u64 {
        self.denominator
    }

    /// How many bits messages have behind the point, at least and at most [`FINEST`].
    pub(super) fn fineness(&self) -> u32 {
        self.denominator.ilog2().min(FINEST)
    }

    pub(super) fn is_as_fine_as(&self, fineness: u32) -> bool {
        self.fineness() >= fineness
    }

    /// A cost over `N`.
    #[inline]
    pub(super) fn widened(&self, cost: u64) -> i128 {
        i128::from(cost) << self.shift
    }

    /// `exp(−excess)`.
    #[inline]
    fn exp_minus(&self, excess: i128) -> f64 {
        // Both conversions round to nearest; the first is faster.
        let excess = u64::try_from(excess).map_or_else(|_| excess as f64, |small| small as f64);
        libm::exp(-(excess * self.per_unit))
    }

    /// `base − ln(sum)`, rounded to a whole number.
    #[inline]
    fn less_log(&self, base: i128, sum: f64) -> i128 {
        base - (libm::log(sum) * self.denominator as f64).round() as i128
    }

    /// `−ln Σ exp(−cost)`, with a shift of its own.
    fn minus_log_sum(&self, costs: &[i128]) -> i128 {
        let least = *costs.iter().min().expect("every state has a successor");
        let sum = costs.iter().map(|cost| self.exp_minus(cost - least)).sum();
        self.less_log(least, sum)
    }
}

/// `Σ factor·weight`, in four interleaved sums, so that no addition waits for the one before it.
#[inline]
fn weighted_sum(states: &[StateId], factors: &[f64], weights: &[f64]) -> f64 {
    let term = |y: &StateId, factor: &f64| factor * weights[y.index()];
    let (fours, rest) = states.as_chunks::<4>();
    let (four_factors, rest_factors) = factors.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (states, factors) in fours.iter().zip(four_factors) {
        for ((sum, y), factor) in sums.iter_mut().zip(states).zip(factors) {
            *sum += term(y, factor);
        }
    }
    let rest: f64 = rest.iter().zip(rest_factors).map(|(y, factor)| term(y, factor)).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

impl super::BlockMechanism {
    /// The messages of the states `from`, written to `out` in order, when the real walk comes to
    /// `real` next. `after` has the messages of the states `to`, in order, among which are all
    /// successors of `from`.
    pub(super) fn step_back(
        &self,
        from: &[StateId],
        real: StateId,
        (to, after): (&[StateId], &[i128]),
        space: &mut MessageSpace,
        out: &mut Vec<i128>,
    ) {
        let chain = self.model().chain();
        space.potentials.resize(chain.len(), 0);
        space.weights.resize(chain.len(), 0.0);
        out.clear();
        if self.distance_ignores_previous() {
            let least = self.fill_potentials(real, to, after, space);
            out.extend(from.iter().map(|&z| self.message(z, least, space)));
        } else {
            for (y, &message) in to.iter().zip(after) {
                space.potentials[y.index()] = message;
            }
            out.extend(from.iter().map(|&z| {
                let candidates = chain.successors(z);
                space.distances.resize(candidates.len(), Nats::ZERO);
                self.metric().fill(z, candidates, real, &mut space.distances);
                let MessageSpace { potentials, distances, costs, .. } = &mut *space;
                let moves = candidates.iter().zip(distances.iter().zip(chain.weights(z)));
                costs.clear();
                costs.extend(moves.map(|(y, (&d, &w))| {
                    self.arithmetic.widened(self.scale.cost(d, w)) + potentials[y.index()]
                }));
                self.arithmetic.minus_log_sum(costs)
            }));
        }
    }

    /// What every state of `to` costs from there on, and `exp` of it. Gives the least.
    fn fill_potentials(
        &self,
        real: StateId,
        to: &[StateId],
        after: &[i128],
        space: &mut MessageSpace,
    ) -> i128 {
        space.distances.resize(to.len(), Nats::ZERO);
        // The distance is the same for every last released state, so any will do.
        self.metric().fill(real, to, real, &mut space.distances);
        let mut least = i128::MAX;
        for ((y, message), &d) in to.iter().zip(after).zip(&space.distances) {
            let potential = message + self.arithmetic.widened(self.scale.cost(d, Nats::ZERO));
            space.potentials[y.index()] = potential;
            least = least.min(potential);
        }
        for y in to {
            let excess = space.potentials[y.index()] - least;
            space.weights[y.index()] = self.arithmetic.exp_minus(excess);
        }
        least
    }

    /// The message of one state, from the potentials of its successors.
    #[inline]
    fn message(&self, z: StateId, least: i128, space: &mut MessageSpace) -> i128 {
        let chain = self.model().chain();
        let candidates = chain.successors(z);
        let sum =
            weighted_sum(candidates, &self.arithmetic.transitions[chain.row(z)], &space.weights);
        if sum >= LEAST_SUM {
            return self.arithmetic.less_log(least, sum);
        }
        let MessageSpace { potentials, costs, .. } = space;
        costs.clear();
        costs.extend(candidates.iter().zip(chain.weights(z)).map(|(y, &w)| {
            potentials[y.index()] + self.arithmetic.widened(self.scale.weight_cost(w))
        }));
        self.arithmetic.minus_log_sum(costs)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use num_bigint::BigUint;

    use super::super::BlockMechanism;
    use super::super::reach::Frontier;
    use super::super::release::{BlockWorkspace, Keep};
    use super::*;
    use crate::chain::{ChainBuilder, Entries};
    use crate::mechanism::{ChainWeight, Design, Distance, Rule};
    use crate::random::exp_enclosure;

    const PLACES: u32 = 400;

    /// Every state leads to every other, with entries over as many powers of ten.
    fn dense_chain(states: usize, decades: i32) -> Chain {
        let mut builder = ChainBuilder::new(Entries::Counts);
        let ids: Vec<_> = (0..states).map(|i| builder.state(&i.to_string())).collect();
        let mut random = 12345u64;
        for &i in &ids {
            for &j in &ids {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let share = (random >> 33) as f64 / 2f64.powi(31);
                let entry = 10f64.powf(-share * f64::from(decades));
                builder.transition(i, j, entry).unwrap();
            }
        }
        builder.build(Default::default()).unwrap().0
    }

    /// Whether `−ln Σ exp(−cost)` is within `slack` of the message, all in units of 1/N. One nat is
    /// added to both, so that no exponent is below zero.
    fn agrees(costs: &[i128], message: i128, slack: u64, denominator: u64) -> bool {
        let (mut low, mut high) = (BigUint::ZERO, BigUint::ZERO);
        for cost in costs {
            let exponent = cost - message + i128::from(denominator);
            match u64::try_from(exponent) {
                Ok(a) => {
                    let (below, above) = exp_enclosure(a, denominator, PLACES);
                    low += below;
                    high += above;
                }
                // Hundreds of nats, below the last place.
                Err(_) => high += 1u8,
            }
        }
        let (least, _) = exp_enclosure(denominator + slack, denominator, PLACES);
        let (_, most) = exp_enclosure(denominator - slack, denominator, PLACES);
        least <= low && high <= most
    }

    /// A quarter of what is reckoned with is enough, on both routes to a sum.
    #[test]
    fn messages_are_within_the_allowance_of_exact_sums() {
        for (states, decades) in [(2, 1), (6, 280), (40, 4), (90, 30)] {
            let model = Arc::new(Model::new(dense_chain(states, decades)).unwrap());
            let chain = model.chain();
            let reals = [1, 0, states / 2, states - 1, 0].map(StateId::new);
            for (eta, distance) in [
                ("0.01", Distance::Symmetric),
                ("0.7", Distance::Directed),
                ("3", Distance::Symmetric),
                ("1.3", Distance::Cell),
                ("2", Distance::Hamming),
            ] {
                let design =
                    Design { distance, rule: Rule::Exponential, chain_weight: ChainWeight::HALF };
                let (model, eta) = (model.clone(), eta.parse().unwrap());
                let length = BlockLength::WHOLE;
                let blocks = BlockMechanism::with_scale(model, design, eta, length).unwrap();
                let arithmetic = &blocks.arithmetic;
                assert_eq!(arithmetic.fineness(), FINEST);
                let units = u128::from(arithmetic.denominator) * (2 * states as u128 + 512);
                let slack = (units >> 55) as u64 + 1;
                let mut space = BlockWorkspace::default();
                let start = Frontier::at(StateId::new(0));
                let layers = blocks.layers(&start, &reals, None, Keep::All, &mut space);
                for (t, pair) in layers.windows(2).enumerate().skip(1) {
                    let [here, next] = pair else { unreachable!() };
                    for (&z, &message) in
                        here.states.iter().zip(&here.messages).step_by(1 + states / 7)
                    {
                        let candidates = chain.successors(z);
                        let mut distances = vec![Nats::ZERO; candidates.len()];
                        blocks.metric().fill(z, candidates, reals[t], &mut distances);
                        let costs: Vec<i128> = (candidates.iter().zip(chain.weights(z)))
                            .zip(distances)
                            .map(|((y, &w), d)| {
                                let place = next.states.binary_search(y).unwrap();
                                let cost = arithmetic.widened(blocks.scale.cost(d, w));
                                cost + next.messages[place]
                            })
                            .collect();
                        let denominator = arithmetic.denominator;
                        assert!(
                            agrees(&costs, message, slack, denominator),
                            "{states} states, {distance}, step {t}"
                        );
                        assert!(!agrees(
                            &costs,
                            message + 4 * i128::from(slack),
                            slack,
                            denominator
                        ));
                    }
                }
            }
        }
    }
}
