//! Blocks: a delay buys accuracy, at no cost in privacy.
//!
//! Instead of one state at a time, a block of `L` steps is released together. Given the last
//! released state `y₀` and the real states `x₁ … x_L`, the block `y₁ … y_L`, each a transition of the
//! chain, is drawn with probability proportional to
//!
//! ```text
//! exp(−C(y)),        C(y) = Σ_t c(y_t | y_{t−1}, x_t),
//! ```
//!
//! with the costs of [`mechanism`](crate::mechanism) at one scale η for all states. `L = 1` is the
//! exponential rule. `L` as long as the walk is an offline mechanism.
//!
//! # Privacy
//!
//! **Claim.** If the distance `D` changes by at most Δ in all, over the steps of two adjacent walks,
//! the released walk's probability changes by a factor of at most `exp(2ηΔ)`, for every `L`.
//!
//! **Proof.** Every real state enters exactly one block, and the walk's probability is a public first
//! factor times a product over blocks of `K(y) = exp(−C(y)) / Z`, where `Z` adds up `exp(−C)` over the
//! paths from the last released state, which are public. Let `m_i` bound the change of `Σ_t D` over
//! the steps of block `i`, for every path. `C` changes by at most `η·m_i`, so does the logarithm of
//! every term of `Z`, hence that of `Z`, and the block loses at most `2η·m_i`. These add up to
//! `2ηΔ`. ∎
//!
//! What Δ is follows from the distance and the unit as in [`scale`]. Three things
//! differ from single steps, as soon as `L > 1`:
//!
//! - *hamming* without chain weight has the factor two as well. The proof that it needs none
//!   ([`exponential`](super::exponential)) rests on the same normaliser for every real state
//!   among the candidates; over several steps the normaliser depends on how many paths lead through
//!   that state.
//! - *cells* are used with the scale of the claim, `λ/2`. Their cost changes by at most what the unit
//!   counts, whatever `z` is, so the claim covers them. The larger scales that are calibrated for
//!   each `z` are not covered: their proof bounds the range of a one-step normaliser.
//! - the *rule* is the exponential one; any other is refused.
//!
//! **Borders depend on the step number alone.** A border placed by what the real walk does (at a
//! long stay, say, or where the path is certain) would tell the reader what it did: where the borders
//! are is part of the release, and the proof above needs them to be the same for both walks.
//!
//! ## What rounding costs
//!
//! The sampler ([`messages`]) goes by backward messages that are computed in doubles. It draws `y_t`
//! with probability exactly proportional to `exp(−c(y_t|y_{t−1},x_t))·W_t(y_t)`, where `W_L = 1` and, for
//! `t < L`,
//!
//! ```text
//! W_t(z) = Q_{t+1}(z)·exp(−e_t(z)),      Q_t(z) = Σ_y exp(−c(y|z,x_t))·W_t(y),      |e_t(z)| ≤ δ.
//! ```
//!
//! `e` is the rounding of that one message, computed from messages that are what they are; nothing
//! accumulates. Multiplying the choices, everything between the first and the last step cancels but
//! the roundings:
//!
//! ```text
//! ln K̃(y) = Σ_t [−c_t + ln W_t(y_t) − ln Q_t(y_{t−1})] = −C(y) − E(y) − ln Q_1(y₀),   E(y) = Σ_{t=1}^{L−1} e_t(y_t).
//! ```
//!
//! Since the choices are probabilities, `Q_1(y₀) = Σ exp(−C − E)`, exactly. For two real walks, `C + E`
//! changes by at most `η·m_i + 2(L−1)δ`, and the logarithm of `Q_1` by as much: the block loses at
//! most `2η·m_i + 4(L−1)δ`.
//!
//! The second term is paid by few blocks. Two walks that agree on a block lead to the same
//! arithmetic, bit for bit. So do two states at distance zero, whose costs are equal. So the term is
//! paid at most once for each state that is replaced by one at a positive distance: `b` times for b
//! substitutions, `⌊ρ/m⌋` times for a radius ρ, with `m` the smallest positive symmetric distance; and
//! at most once for a block that is the whole walk. That many times `4(L−1)δ` is taken off ε before
//! η is computed ([`Blocks::rounding_cost`]). It is of the order of 10⁻¹².

mod enumerate;
pub mod messages;
mod powers;
mod reach;
mod release;
mod weight;

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;

pub(super) use release::BlockSpace;
pub(super) use weight::Weight;

use super::first_state::FirstState;
use super::promise::{Epsilon, Promise, Unit};
use super::scale::{self, ScaleError};
use super::{Calibration, Design, Mechanism, Rule, Workspace, cell};
use crate::chain::StateId;
use crate::distance::Metric;
use crate::model::Model;
use crate::nats::Nats;
use crate::rational::Rational;
use messages::Arithmetic;

/// How many steps are released together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockLength {
    /// This many, and what is left at the end of a walk.
    Steps(NonZeroU32),
    /// All steps of a walk, which has at most so many. The limit is there because rounding is paid
    /// for in advance; a longer walk is refused.
    Whole {
        /// The most steps that a walk may have.
        longest: NonZeroU32,
    },
}

impl BlockLength {
    /// The whole walk, of up to about a million steps.
    pub const WHOLE: Self = Self::Whole { longest: NonZeroU32::new(1 << 20).unwrap() };

    /// The most steps in a block.
    #[must_use]
    pub const fn most_steps(self) -> NonZeroU32 {
        match self {
            Self::Steps(steps) => steps,
            Self::Whole { longest } => longest,
        }
    }
}

impl fmt::Display for BlockLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(steps) if steps.get() == 1 => f.write_str("1 step"),
            Self::Steps(steps) => write!(f, "{steps} steps"),
            Self::Whole { longest } => write!(f, "the whole walk, of at most {longest} steps"),
        }
    }
}

/// A text that is not a length of blocks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not a length of blocks; give a number of steps from 1 up, or `all`")]
pub struct NotABlockLength(String);

impl FromStr for BlockLength {
    type Err = NotABlockLength;

    /// Reads a number of steps, or `all`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "all" => Ok(Self::WHOLE),
            steps => steps.parse().map(Self::Steps).map_err(|_| NotABlockLength(text.to_owned())),
        }
    }
}

/// Why there is no block mechanism for a promise.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BlockError {
    /// A rule other than the exponential one.
    #[error(
        "blocks are drawn by the exponential rule, and the design has the {0} rule; choose the \
         exponential rule, or release one state at a time"
    )]
    Rule(Rule),
    /// No scale keeps the promise.
    #[error(transparent)]
    Scale(#[from] ScaleError),
    /// Costs beyond all exponents.
    #[error(
        "a block of {length} can cost more than can be counted at this scale; lower epsilon, raise the \
         radius, or choose shorter blocks"
    )]
    TooSteep {
        /// The blocks.
        length: BlockLength,
    },
    /// Rounding would cost all there is.
    #[error(
        "rounding in blocks of {length} costs {cost:.1e} of epsilon, which leaves nothing of \
         {promise}; choose shorter blocks or raise epsilon"
    )]
    RoundingTakesAll {
        /// What was asked for.
        promise: Promise,
        /// The blocks.
        length: BlockLength,
        /// What rounding costs.
        cost: f64,
    },
}

/// What a mechanism that releases several steps together has beyond one that does not.
pub struct Blocks {
    length: BlockLength,
    arithmetic: Arithmetic,
    /// What rounding costs in each block that pays for it, and what was taken off ε for all of them, in
    /// units of 2⁻⁶⁰.
    block_cost: u128,
    cost: u128,
}

impl Blocks {
    /// How many steps are released together.
    #[must_use]
    pub fn length(&self) -> BlockLength {
        self.length
    }

    /// What was taken off the promised ε for the rounding of messages, before η was computed. Zero
    /// for blocks of one step, which are exact.
    #[must_use]
    pub fn rounding_cost(&self) -> f64 {
        self.cost as f64 / messages::COST_UNITS
    }

    /// By how much rounding can move the logarithm of any block's probability: `2(L−1)δ`.
    #[must_use]
    pub fn log_law_error(&self) -> f64 {
        self.block_cost as f64 / messages::COST_UNITS / 2.0
    }
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks").field("length", &self.length).finish_non_exhaustive()
    }
}

/// Draws the blocks of a mechanism that has them.
#[derive(Clone, Copy)]
pub(super) struct Sampler<'m> {
    mechanism: &'m Mechanism,
    blocks: &'m Blocks,
}

impl Sampler<'_> {
    fn model(&self) -> &Model {
        &self.mechanism.model
    }

    fn metric(&self) -> &dyn Metric {
        &*self.mechanism.metric
    }

    /// Whether the distance of a candidate is the same whatever the last released state.
    fn distance_ignores_previous(&self) -> bool {
        self.mechanism.design.distance.nearest().is_none()
    }

    fn check_length(&self, reals: &[StateId]) {
        let most = self.blocks.length.most_steps().get() as usize;
        assert!(reals.len() <= most, "{} steps in a block of {most}", reals.len());
    }
}

impl Mechanism {
    /// The mechanism of this design that keeps this promise, and releases so many steps together.
    ///
    /// With blocks of one step it is the mechanism that [`Mechanism::new`] makes of the same design;
    /// for cells, at half of what is allowed.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use veilwalk::{Chain, Design, Mechanism, Model, Preset, Promise, Rule};
    ///
    /// let model = Arc::new(Model::new(Chain::credit())?);
    /// let promise = Promise::within_radius("3.5".parse()?, "3.5".parse()?);
    /// let design = Design { rule: Rule::Exponential, ..Preset::Sharp.design() };
    /// let mechanism = Mechanism::in_blocks(model.clone(), design, promise, "5".parse()?)?;
    /// assert!(mechanism.blocks().unwrap().rounding_cost() < 1e-11);
    ///
    /// // From B, with the real walk staying at B for two steps: every path, with its probability.
    /// let b = model.chain().require("B")?;
    /// let likeliest = mechanism.log_law(b, &[b, b]).into_iter().max_by(|p, q| p.1.total_cmp(&q.1));
    /// assert_eq!(likeliest.unwrap().0, [b, b]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the rule is not the exponential one, no scale keeps the promise on this chain, cells would
    /// need too much memory, or the scale is beyond all reason.
    pub fn in_blocks(
        model: Arc<Model>,
        design: Design,
        promise: Promise,
        length: BlockLength,
    ) -> Result<Self, BlockError> {
        refuse_unless_in_blocks(&model, design)?;
        let cost = messages::block_cost(model.chain(), length);
        let cost = cost.saturating_mul(times_paid(&model, promise.unit, length));
        let left = left_of(promise.epsilon.value(), cost).ok_or_else(|| {
            let cost = cost as f64 / messages::COST_UNITS;
            BlockError::RoundingTakesAll { promise, length, cost }
        })?;
        let kept = Promise { epsilon: left, unit: promise.unit };
        let eta = match length.most_steps().get() {
            1 if design.distance.nearest().is_none() => scale::theorem_scale(&model, design, kept)?,
            _ => scale::scale_at(&model, design, kept, 2)?,
        };
        let mut made = Self::drawn_in_blocks(model.clone(), design, eta, length, cost)?;
        if let (Some(nearest), Unit::Substitutions(_)) = (design.distance.nearest(), promise.unit) {
            let cells = model.cells(nearest).map_err(ScaleError::from)?.clone();
            made.metric = Arc::new(cell::BySubstitution(cells));
        }
        made.promise = Some(promise);
        let exact = Calibration::Exact;
        made.first_state = FirstState::for_promise(&model, design.distance, kept, exact)?;
        Ok(made)
    }

    /// The same with a scale of the caller's choice. It makes no promise of its own.
    ///
    /// # Errors
    ///
    /// If the rule is not the exponential one, the chain is too large for a table, cells would need
    /// too much memory, or the scale is beyond all reason.
    pub fn in_blocks_with_scale(
        model: Arc<Model>,
        design: Design,
        eta: Rational,
        length: BlockLength,
    ) -> Result<Self, BlockError> {
        refuse_unless_in_blocks(&model, design)?;
        Self::drawn_in_blocks(model, design, eta, length, 0)
    }

    fn drawn_in_blocks(
        model: Arc<Model>,
        design: Design,
        eta: Rational,
        length: BlockLength,
        cost: u128,
    ) -> Result<Self, BlockError> {
        let block_cost = messages::block_cost(model.chain(), length);
        let mut made = Self::with_scale(model, design, eta).map_err(ScaleError::from)?;
        // One scale for all states.
        let scale = made.scale(StateId::new(0));
        let arithmetic = Arithmetic::new(made.model(), scale, length);
        let arithmetic = arithmetic.ok_or(BlockError::TooSteep { length })?;
        made.blocks = Some(Arc::new(Blocks { length, arithmetic, block_cost, cost }));
        Ok(made)
    }

    pub(super) fn sampler(&self) -> Option<Sampler<'_>> {
        Some(Sampler { mechanism: self, blocks: self.blocks()? })
    }

    /// The costs of the successors of `previous`, in nats, for analysis.
    pub(crate) fn costs_in_nats(
        &self,
        previous: StateId,
        real: StateId,
        space: &mut Workspace,
        out: &mut Vec<f64>,
    ) {
        let scale = self.scale(previous);
        self.fill_costs(previous, real, scale, space);
        let per_unit = 1.0 / scale.denominator() as f64;
        out.clear();
        out.extend(space.costs.iter().map(|&cost| cost as f64 * per_unit));
    }

    /// What the distance from a real state costs, for every released one, in nats. For distances
    /// that ignore the last released state, and one scale for all.
    pub(crate) fn distance_costs_in_nats(&self, real: StateId) -> Vec<f64> {
        let states: Vec<StateId> = self.model().chain().states().collect();
        let mut distances = vec![Nats::ZERO; states.len()];
        self.metric.fill(real, &states, real, &mut distances);
        let scale = self.scale(real);
        let per_unit = 1.0 / scale.denominator() as f64;
        distances.into_iter().map(|d| scale.cost(d, Nats::ZERO) as f64 * per_unit).collect()
    }
}

fn refuse_unless_in_blocks(model: &Model, design: Design) -> Result<(), BlockError> {
    if design.rule != Rule::Exponential {
        return Err(BlockError::Rule(design.rule));
    }
    Ok(model.require_tables().map_err(ScaleError::from)?)
}

/// In how many blocks adjacent walks can differ by more than states at distance zero.
fn times_paid(model: &Model, unit: Unit, length: BlockLength) -> u128 {
    let replaced = match unit {
        Unit::Substitutions(b) => u128::from(b.get()),
        Unit::Radius(radius) => smallest_positive_distance(model).map_or(0, |smallest| {
            // Below 2⁶⁴·2²⁰ and 2⁶⁴·2³².
            let units = u128::from(radius.value().numerator()) * u128::from(Nats::PER_NAT);
            units / (u128::from(radius.value().denominator()) * u128::from(smallest.units()))
        }),
    };
    match length {
        BlockLength::Steps(_) => replaced,
        BlockLength::Whole { .. } => replaced.min(1),
    }
}

fn smallest_positive_distance(model: &Model) -> Option<Nats> {
    let table = model.symmetric();
    let rows = model.chain().states().flat_map(|x| table.to(x));
    rows.copied().filter(|&distance| distance > Nats::ZERO).min()
}

/// ε less a cost in units of 2⁻⁶⁰, rounded down; `None` if nothing is left.
fn left_of(epsilon: Rational, cost: u128) -> Option<Epsilon> {
    if cost == 0 {
        return Epsilon::new(epsilon);
    }
    let units = (u128::from(epsilon.numerator()) << 60) / u128::from(epsilon.denominator());
    let left = units.checked_sub(cost)?;
    // Of the 124 bits at most, those beyond 64: no more than 60.
    let excess_bits = (u128::BITS - left.leading_zeros()).saturating_sub(u64::BITS);
    let above = u64::try_from(left >> excess_bits).expect("cut to 64 bits");
    Epsilon::new(Rational::new(above, 1 << (60 - excess_bits))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Chain;
    use crate::mechanism::{ChainWeight, Distance, Preset};

    fn design(distance: Distance) -> Design {
        Design::of_moves(distance, Rule::Exponential, ChainWeight::ZERO)
    }

    #[test]
    fn what_is_left_is_rounded_down() {
        let one = Rational::ONE;
        assert_eq!(left_of(one, 0), Epsilon::new(one));
        assert_eq!(left_of(one, 1 << 59).map(Epsilon::value), Some(Rational::HALF));
        assert_eq!(left_of(one, 1 << 60), None);
        assert_eq!(left_of(one, 1 << 61), None);
        let third = Rational::new(1, 3).unwrap();
        assert!(left_of(third, 1).unwrap().value() < third);
        let large = Rational::whole(u64::MAX);
        let left = left_of(large, 1).unwrap().value();
        assert!(left < large && left.as_f64() > 1.8e19);
    }

    #[test]
    fn lengths_are_read_and_shown() {
        assert_eq!("25".parse::<BlockLength>().unwrap().to_string(), "25 steps");
        assert_eq!("all".parse(), Ok(BlockLength::WHOLE));
        for text in ["0", "-1", "ALL", "", "2.5"] {
            assert!(text.parse::<BlockLength>().is_err(), "{text}");
        }
    }

    #[test]
    fn rounding_is_paid_once_for_each_state_that_can_be_replaced() {
        let model = Arc::new(Model::new(Chain::credit()).unwrap());
        let cost = |unit: Unit, length: &str| {
            let promise = Promise { epsilon: "1".parse().unwrap(), unit };
            let length = length.parse().unwrap();
            let made =
                Mechanism::in_blocks(model.clone(), design(Distance::Symmetric), promise, length);
            made.unwrap().blocks().unwrap().rounding_cost()
        };
        let radius = |text: &str| Unit::Radius(text.parse().unwrap());
        let states = |b: u32| Unit::Substitutions(b.try_into().unwrap());
        assert_eq!(cost(radius("3.5"), "1"), 0.0);
        // The closest two states are 2.73 nats apart.
        assert_eq!(cost(radius("2.7"), "25"), 0.0);
        let once = cost(radius("3.5"), "25");
        assert!(once > 0.0 && once < 1e-11, "{once}");
        assert_eq!(cost(radius("5.6"), "25"), 2.0 * once);
        assert_eq!(cost(states(7), "25"), 7.0 * once);
        assert_eq!(cost(states(7), "all"), cost(states(1), "all"));
    }

    #[test]
    fn what_is_not_proven_is_refused() {
        let model = Arc::new(Model::new(Chain::credit()).unwrap());
        let promise = Promise::within_radius("1".parse().unwrap(), "3.5".parse().unwrap());
        let five: BlockLength = "5".parse().unwrap();
        let error = Mechanism::in_blocks(model.clone(), Preset::Sharp.design(), promise, five);
        assert!(error.unwrap_err().to_string().contains("permute-and-flip"));
        let steep = Mechanism::in_blocks_with_scale(
            model.clone(),
            design(Distance::Symmetric),
            Rational::whole(1 << 30),
            BlockLength::WHOLE,
        );
        assert!(matches!(steep, Err(BlockError::TooSteep { .. })));
        let tiny = Promise::for_substitutions("1e-15".parse().unwrap(), 1.try_into().unwrap());
        let error = Mechanism::in_blocks(model, design(Distance::Hamming), tiny, five).unwrap_err();
        assert!(matches!(error, BlockError::RoundingTakesAll { .. }), "{error}");
    }

    /// Hamming without chain weight loses nothing to the normaliser at one step, and does at more.
    #[test]
    fn scales_are_those_of_the_proof() {
        let model = Arc::new(Model::new(Chain::credit()).unwrap());
        let promise = Promise::for_substitutions("1".parse().unwrap(), 1.try_into().unwrap());
        let eta = |distance, length: &str| {
            let length = length.parse().unwrap();
            let made = Mechanism::in_blocks(model.clone(), design(distance), promise, length);
            made.unwrap().scale(StateId::new(0)).eta().as_f64()
        };
        assert_eq!(eta(Distance::Hamming, "1"), 1.0);
        let two = eta(Distance::Hamming, "2");
        assert!(two < 0.5 && two > 0.5 - 1e-8, "{two}");
        assert_eq!(eta(Distance::Cell, "1"), 0.5);
    }
}
