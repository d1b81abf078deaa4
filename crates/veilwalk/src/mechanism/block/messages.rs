//! Backward messages: how much weight there is behind a state.
//!
//! The message `W_t(z)` is the sum, over everything the block can still do after step `t` from state
//! `z`, of `exp(−cost)`. It is computed backward,
//!
//! ```text
//! W_t(z) = Σ_y exp(−β·w(z,y)) · exp(−η·D(y,x_{t+1})) · W_{t+1}(y),
//! ```
//!
//! from the end of the block, where it is one. A message is a double with an exponent of its own, so
//! that none is ever zero. The two exponentials are powers of one number each, since distances and
//! weights are whole numbers, and come from small tables: no exponential and no
//! logarithm is computed while walks are released. Sums are taken in a fixed order, and nothing but
//! products, sums and powers of two is used, so messages are the same on every platform.
//!
//! For distances that do not depend on the last released state, what belongs to `y` is multiplied once
//! for all its predecessors, and a sum costs one multiplication a transition. Its terms are then in
//! units that are common to all `z`; where a sum comes out below 2⁻⁶⁴ of them, it is taken again in
//! units of its own.
//!
//! # Precision
//!
//! Let u = 2⁻⁵³, n the largest number of successors, and all bounds be to first order; the constant
//! has a factor two of room for the rest.
//!
//! *Terms.* A power is off by a relative `5u`. Powers of two cost nothing. A term is
//! the product of two powers and a message, which is what it is: two powers and two products are
//! `12u`. (Terms that vanish are below 2⁻⁸⁰⁰ of the units in all, nothing beside a sum of 2⁻⁶⁴, or of
//! the largest term.)
//!
//! *Sums.* All terms are positive, so a sum is off by no more than the worst of its terms, and by
//! `(n − 1)u` for the additions. Together `u(n + 11)`. What is reckoned with is
//!
//! ```text
//! δ = u(2n + 32).
//! ```
//!
//! A test compares messages with sums in whole numbers of several hundred bits.

use super::BlockLength;
use super::powers::Powers;
use super::weight::{Product, Weight};
use crate::chain::{Chain, StateId};
use crate::mechanism::CostScale;
use crate::model::Model;
use crate::nats::Nats;

/// Units in which what rounding costs is counted, for one nat.
pub(super) const COST_UNITS: f64 = (1u64 << 60) as f64;

/// A sum below this is taken again in units of its own.
const LEAST_SUM: f64 = 1.0 / (1u128 << 64) as f64;

/// What the loss of one block grows by for rounding, `4(L−1)δ`, in units of 2⁻⁶⁰.
pub(super) fn block_cost(chain: &Chain, length: BlockLength) -> u128 {
    // Fewer than 2³² candidates and 2³² steps: below 2⁴¹, and below 2⁷⁵.
    let delta = (2 * chain.largest_out_degree() as u128 + 32) << 7;
    4 * u128::from(length.most_steps().get() - 1) * delta
}

/// The tables that messages are made with.
#[derive(Debug)]
pub(super) struct Arithmetic {
    /// `exp(−η·d)` by distance.
    distances: Powers,
    /// `exp(−β·w)` of every transition.
    transitions: Vec<Product>,
    /// The same as plain doubles, zero where it is below 2⁻¹⁰⁰⁰.
    plain_transitions: Vec<f64>,
}

/// Working space for messages.
#[derive(Clone, Debug, Default)]
pub(super) struct MessageSpace {
    /// By state: the weight of a move to it, the transition's own part left out.
    moves: Vec<Product>,
    /// The same in common units.
    plain_moves: Vec<f64>,
    distances: Vec<Nats>,
    factors: Vec<f64>,
    terms: Vec<Product>,
}

impl Arithmetic {
    /// `None` if what a block can cost is beyond all exponents.
    ///
    /// A block that is accepted costs fewer than 2⁶⁰ nats on any path, so the exponent of every
    /// message is above −2⁶¹ and no sum or difference of a few exponents leaves 64 bits. One step
    /// costs fewer than 2³⁰ nats, so that its halvings are below 2³¹.
    pub(super) fn new(model: &Model, scale: CostScale, length: BlockLength) -> Option<Self> {
        let chain = model.chain();
        // Hamming distance is one nat.
        let farthest = model.diameter().distance.max(Nats::from_units(Nats::PER_NAT));
        let weights = || chain.states().flat_map(|z| chain.weights(z).iter().copied());
        let heaviest = weights().max().unwrap_or(Nats::ZERO);
        let most_nats = scale.cost(farthest, heaviest) / scale.denominator() + 1;
        let steps = u64::from(length.most_steps().get());
        if most_nats >= 1 << 30 || most_nats.checked_mul(steps).is_none_or(|all| all >= 1 << 60) {
            return None;
        }
        let one = Nats::from_units(1);
        let unit_cost = |distance, weight| scale.cost(distance, weight);
        let denominator = scale.denominator();
        let powers = |cost: u64, largest: Nats| Powers::new(cost, denominator, largest.units());
        let by_weight = powers(unit_cost(Nats::ZERO, one), heaviest);
        let transitions: Vec<Product> = weights().map(|w| by_weight.power(w.units())).collect();
        Some(Self {
            distances: powers(unit_cost(one, Nats::ZERO), farthest),
            plain_transitions: transitions.iter().map(|power| power.over(0)).collect(),
            transitions,
        })
    }
}

/// The sum of these in units of the largest.
fn exact_sum(terms: &[Product]) -> Weight {
    let largest = terms.iter().map(|term| term.exponent()).max();
    let largest = largest.expect("every state has a successor");
    Weight::new(terms.iter().map(|term| term.over(largest)).sum(), largest)
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

impl super::Sampler<'_> {
    /// The messages of the states `from`, written to `out` in order, when the real walk comes to
    /// `real` next. `after` has the messages of the states `to`, in order, among which are all
    /// successors of `from`.
    pub(super) fn step_back(
        &self,
        from: &[StateId],
        real: StateId,
        (to, after): (&[StateId], &[Weight]),
        space: &mut MessageSpace,
        out: &mut Vec<Weight>,
    ) {
        let states = self.model().chain().len();
        space.moves.resize(states, Product::default());
        space.plain_moves.resize(states, 0.0);
        out.clear();
        if self.distance_ignores_previous() {
            space.distances.resize(to.len(), Nats::ZERO);
            // The distance is the same for every last released state, so any will do.
            self.metric().fill(real, to, real, &mut space.distances);
            let MessageSpace { moves, distances, .. } = space;
            for ((y, &message), d) in to.iter().zip(after).zip(distances) {
                let power = self.blocks.arithmetic.distances.power(d.units());
                moves[y.index()] = power.times(message.into());
            }
            let units = space.bring_to_common_units(to);
            out.extend(from.iter().map(|&z| self.message(z, units, space)));
        } else {
            for (y, &message) in to.iter().zip(after) {
                space.moves[y.index()] = message.into();
            }
            let units = space.bring_to_common_units(to);
            out.extend(from.iter().map(|&z| self.message_by_previous(z, real, units, space)));
        }
    }

    /// The message of one state, from the weights of moves to its successors.
    #[inline]
    fn message(&self, z: StateId, units: i64, space: &mut MessageSpace) -> Weight {
        let chain = self.model().chain();
        let (candidates, row) = (chain.successors(z), chain.row(z));
        let factors = &self.blocks.arithmetic.plain_transitions[row.clone()];
        let sum = weighted_sum(candidates, factors, &space.plain_moves);
        if sum >= LEAST_SUM {
            return Weight::new(sum, units);
        }
        let transitions = &self.blocks.arithmetic.transitions[row];
        space.terms.clear();
        let terms = candidates.iter().zip(transitions);
        let moves = &space.moves;
        space.terms.extend(terms.map(|(y, power)| power.times(moves[y.index()])));
        exact_sum(&space.terms)
    }

    /// The same where the distance depends on the last released state.
    fn message_by_previous(
        &self,
        z: StateId,
        real: StateId,
        units: i64,
        space: &mut MessageSpace,
    ) -> Weight {
        let chain = self.model().chain();
        let candidates = chain.successors(z);
        space.distances.resize(candidates.len(), Nats::ZERO);
        self.metric().fill(z, candidates, real, &mut space.distances);
        let MessageSpace { moves, plain_moves, distances, factors, terms } = space;
        terms.clear();
        let transitions = &self.blocks.arithmetic.transitions[chain.row(z)];
        let powers = distances.iter().map(|d| self.blocks.arithmetic.distances.power(d.units()));
        terms.extend(powers.zip(transitions).map(|(power, &own)| power.times(own)));
        factors.clear();
        factors.extend(terms.iter().map(|power| power.over(0)));
        let sum = weighted_sum(candidates, factors, plain_moves);
        if sum >= LEAST_SUM {
            return Weight::new(sum, units);
        }
        let products = terms.iter_mut().zip(candidates);
        products.for_each(|(term, y)| *term = term.times(moves[y.index()]));
        exact_sum(terms)
    }
}

impl MessageSpace {
    /// Brings the weights of moves to these states to units of the largest. Gives its exponent.
    fn bring_to_common_units(&mut self, to: &[StateId]) -> i64 {
        let Self { moves, plain_moves, .. } = self;
        let exponents = to.iter().map(|&y| moves[y.index()].exponent());
        let units = exponents.max().expect("a block can always go on");
        for &y in to {
            plain_moves[y.index()] = moves[y.index()].over(units);
        }
        units
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use num_bigint::BigUint;

    use super::super::reach::Frontier;
    use super::super::release::Keep;
    use super::*;
    use crate::chain::dense::dense_chain;
    use crate::mechanism::{ChainWeight, Design, Distance, Mechanism, Rule, Workspace};
    use crate::random::exp_enclosure;

    /// Entries over as many powers of ten.
    fn over(decades: i32) -> impl Fn(u64) -> f64 {
        move |random| {
            let share = (random >> 33) as f64 / 2f64.powi(31);
            10f64.powf(-share * f64::from(decades))
        }
    }

    /// A weight over 2^(least − 53), exactly.
    fn whole(weight: Weight, least: i64) -> BigUint {
        let mantissa = BigUint::from((weight.mantissa() * 2f64.powi(53)) as u64);
        mantissa << u32::try_from(weight.exponent() - least).unwrap()
    }

    /// Whether a message is within `slack` times 2⁻⁵³ of `Σ exp(−cost)·message`.
    fn agrees(terms: &[(u64, Weight)], message: Weight, slack: u64, denominator: u64) -> bool {
        let weights = terms.iter().map(|(_, weight)| weight.exponent());
        let least = weights.chain([message.exponent()]).min().unwrap();
        let most_nats = terms.iter().map(|(cost, _)| cost / denominator).max().unwrap();
        let places = 200 + u32::try_from(2 * most_nats).unwrap();
        let (mut low, mut high) = (BigUint::ZERO, BigUint::ZERO);
        for &(cost, weight) in terms {
            let (below, above) = exp_enclosure(cost, denominator, places.into());
            low += below * whole(weight, least);
            high += above * whole(weight, least);
        }
        let ours = (whole(message, least) << places) << 53u8;
        let unit = BigUint::from(1u64 << 53);
        low * (&unit - slack) <= ours && ours <= high * (&unit + slack)
    }

    /// Half of what is reckoned with is enough, on both routes to a sum.
    #[test]
    fn messages_are_within_the_allowance_of_exact_sums() {
        for (states, decades) in [(2, 1), (6, 280), (40, 4), (90, 30)] {
            let model = Arc::new(Model::new(dense_chain(states, over(decades))).unwrap());
            let chain = model.chain();
            let reals = [1, 0, states / 2, states - 1, 0].map(StateId::new);
            for (eta, distance) in [
                ("0.01", Distance::Symmetric),
                ("0.7", Distance::Directed),
                ("3", Distance::Symmetric),
                ("1.3", Distance::Cell),
                ("2", Distance::Hamming),
            ] {
                let design = Design::of_moves(distance, Rule::Exponential, ChainWeight::HALF);
                let (model, eta) = (model.clone(), eta.parse().unwrap());
                let length = BlockLength::WHOLE;
                let made = Mechanism::in_blocks_with_scale(model, design, eta, length).unwrap();
                let (blocks, scale) = (made.sampler().unwrap(), made.scale(StateId::new(0)));
                let slack = states as u64 + 16;
                let mut space = Workspace::default();
                let start = Frontier::at(StateId::new(0));
                let layers = blocks.layers(&start, &reals, None, Keep::All, &mut space);
                for (t, pair) in layers.windows(2).enumerate().skip(1) {
                    let [here, next] = pair else { unreachable!() };
                    for (&z, &message) in
                        here.states.iter().zip(&here.messages).step_by(1 + states / 5)
                    {
                        let candidates = chain.successors(z);
                        let mut distances = vec![Nats::ZERO; candidates.len()];
                        blocks.metric().fill(z, candidates, reals[t], &mut distances);
                        let terms: Vec<(u64, Weight)> = (candidates.iter().zip(chain.weights(z)))
                            .zip(distances)
                            .map(|((y, &w), d)| {
                                let place = next.states.binary_search(y).unwrap();
                                (scale.cost(d, w), next.messages[place])
                            })
                            .collect();
                        let denominator = scale.denominator();
                        assert!(
                            agrees(&terms, message, slack, denominator),
                            "{states} states, {distance}, step {t}"
                        );
                        let off = Weight::new(
                            message.mantissa() * (1.0 + 4.0 * slack as f64 * 2f64.powi(-53)),
                            message.exponent(),
                        );
                        assert!(!agrees(&terms, off, slack, denominator));
                    }
                }
            }
        }
    }
}
