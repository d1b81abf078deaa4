//! The scale η, and costs as whole numbers over one denominator.
//!
//! # Privacy
//!
//! Let the distance `D` change by at most Δ in all, over the steps of two adjacent walks, for every
//! released walk. Both rules lose at most `2η` per unit of that change (see
//! [`permute_and_flip`](super::permute_and_flip) and [`exponential`](super::exponential)), so
//! `η = ε / 2Δ` gives ε. What Δ is:
//!
//! - *directed* and *symmetric*, walks within a radius ρ: replacing `x` by `x'` changes `D(y, ·)`
//!   by at most `d_sym(x, x')`, by the triangle inequality, which holds exactly on integers. Added
//!   up over the steps that is at most ρ, the definition of adjacency. Δ = ρ.
//! - *directed* and *symmetric*, b substitutions: each replaced state changes `D` by at most the
//!   largest distance. Δ = b·D_max.
//! - *hamming*, b substitutions: each replaced state changes `D` by at most one. Δ = b.
//! - *hamming*, walks within a radius ρ: two different states are at least `m` apart, the smallest
//!   symmetric distance there is, so the walks differ in at most `⌊ρ/m⌋` states. Δ = ⌊ρ/m⌋. (Where
//!   different states are at distance zero there is no such number, and the combination is refused.
//!   Where it is zero, no two walks are adjacent; the scale for one substitution is used.)
//!
//! - *cell*: the distance is made so that it changes by at most what the unit counts, and its scales
//!   have a calibration of their own, in [`cell`](super::cell). What this module gives for it is the
//!   general scale, half of what is allowed.
//!
//! One combination needs no factor two: *hamming* with the exponential rule and chain weight zero,
//! proven in [`exponential`](super::exponential).
//!
//! The offset `β·w(z, y)` is public and does not enter. A scale that does not fit the arithmetic is
//! rounded down, which makes every cost difference, and so the loss, smaller.

use thiserror::Error;

use super::design::{Design, Distance, Rule};
use super::plane::PlaneError;
use super::promise::{ChainWeight, Promise, Unit};
use crate::distance::CellsTooLarge;
use crate::measure::Measure;
use crate::model::{Model, TooLarge};
use crate::nats::Nats;
use crate::rational::{Rational, gcd};
use crate::remedy::Remedy;
use crate::watch::Stopped;

/// Why a promise cannot be kept by a design on a chain.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ScaleError {
    /// The hamming distance counts replaced states, and a radius does not bound their number.
    #[error(
        "the hamming distance counts replaced states, and on this chain {from:?} and {to:?} are at \
         distance zero, so a radius does not bound how many are replaced; give a number of \
         substitutions instead of a radius, or choose another distance"
    )]
    UnboundedSubstitutions {
        /// A state.
        from: String,
        /// Another, at distance zero.
        to: String,
    },
    /// Every two states are at distance zero.
    #[error(
        "all states of this chain are at distance zero from each other; only the hamming distance can tell them apart"
    )]
    NoDistances,
    /// A radius in another measure than the distances.
    #[error(
        "the radius is in {radius} ({promise}), and the distances of this model are in {model}; give {metric} to \
         take them from something else, or a {radius_flag} in {model}",
        radius = .promise.unit.measure().map_or("nothing", |measure| measure.name()),
        model = model.name(),
        metric = Remedy::Metric,
        radius_flag = Remedy::Radius
    )]
    OtherMeasure {
        /// What was asked for.
        promise: Promise,
        /// What distances are counted in.
        model: Measure,
    },
    /// The scale is below what the arithmetic can hold.
    #[error(
        "{promise} asks for a scale too small to be counted, at which the real walk would not matter; \
         raise epsilon, or lower the chain weight"
    )]
    TooSmall {
        /// What was asked for.
        promise: Promise,
    },
    /// There is no plane for it.
    #[error(transparent)]
    Plane(#[from] PlaneError),
    /// The tables that cells need would not fit.
    #[error(transparent)]
    CellsTooLarge(#[from] CellsTooLarge),
    /// The scale depends on the largest distance, which only a table of all distances tells.
    #[error(transparent)]
    NeedsTables(#[from] TooLarge),
    /// Stopped on request.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Refuses a radius in another measure than the distances.
pub(crate) fn same_measure(model: &Model, promise: Promise) -> Result<(), ScaleError> {
    match promise.unit.measure() {
        Some(measure) if measure != model.measure() => {
            Err(ScaleError::OtherMeasure { promise, model: model.measure() })
        }
        _ => Ok(()),
    }
}

/// The scale that the theorem gives: ε over twice (or once) the sensitivity.
pub(crate) fn theorem_scale(
    model: &Model,
    design: Design,
    promise: Promise,
) -> Result<Rational, ScaleError> {
    let factor = match (design.distance, design.rule, design.chain_weight) {
        (Distance::Hamming, Rule::Exponential, ChainWeight::ZERO) => 1,
        _ => 2,
    };
    scale_at(model, design, promise, factor)
}

/// The scale at a loss of `factor` per unit of sensitivity: the argument that always holds has two.
pub(super) fn scale_at(
    model: &Model,
    design: Design,
    promise: Promise,
    factor: u128,
) -> Result<Rational, ScaleError> {
    same_measure(model, promise)?;
    let epsilon = promise.epsilon.value();
    // Sensitivity as a fraction (above, below).
    let (above, below): (u128, u128) = match (design.distance, promise.unit) {
        (Distance::Hamming, Unit::Radius(radius)) => {
            (replaced_states(model, radius.value())?.max(1), 1)
        }
        (_, Unit::Radius(radius)) => {
            (radius.value().numerator().into(), radius.value().denominator().into())
        }
        (Distance::Directed | Distance::Symmetric, Unit::Substitutions(b)) => {
            model.require_tables()?;
            let diameter = model.diameter().distance;
            if diameter == Nats::ZERO && model.chain().len() > 1 {
                return Err(ScaleError::NoDistances);
            }
            let units = diameter.units().max(1);
            (u128::from(b.get()) * u128::from(units), Nats::PER_NAT.into())
        }
        (_, Unit::Substitutions(b)) => (b.get().into(), 1),
    };
    let scale = Rational::floor_of_products(
        [epsilon.numerator().into(), below],
        [epsilon.denominator().into(), factor, above],
    );
    // Beside a large chain weight there is less room for a small scale.
    match CostScale::new(scale, design.chain_weight).eta().is_zero() {
        true => Err(ScaleError::TooSmall { promise }),
        false => Ok(scale),
    }
}

/// In how many states two walks within a radius can differ: `⌊radius / smallest distance⌋`.
pub(super) fn replaced_states(model: &Model, radius: Rational) -> Result<u128, ScaleError> {
    let Some(closest) = model.closest_pair() else {
        return Ok(0);
    };
    let units = u128::from(closest.distance.units());
    if units == 0 {
        let label = |state| model.chain().label(state).to_owned();
        let (from, to) = (label(closest.from), label(closest.to));
        return Err(ScaleError::UnboundedSubstitutions { from, to });
    }
    // Below 2⁶⁴·2²⁰ and 2⁶⁴·2³².
    let radius_units = u128::from(radius.numerator()) * u128::from(Nats::PER_NAT);
    Ok(radius_units / (u128::from(radius.denominator()) * units))
}

/// Costs as whole numbers: `c = distance·D + weight·w`, over `denominator`, for `D` and `w` in units
/// of 2⁻²⁰ nats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CostScale {
    /// The factor of the distance.
    distance: u32,
    /// The factor of the transition's weight.
    weight: u32,
    /// What both are over, without the 2²⁰ of the units.
    common: u64,
}

impl CostScale {
    /// Factors stay below this, so that a cost always fits 64 bits.
    const FACTOR_LIMIT: u128 = 1 << 31;
    const COMMON_LIMIT: u128 = 1 << 43;

    /// The costs for a scale η and a chain weight β. Exact where the numbers fit, which they do for
    /// parameters of some seven digits; otherwise η is rounded down to a fraction that does.
    ///
    /// Every product below fits 128 bits: η has parts below 2⁶⁴, β parts below 2³⁰ and 2²⁰
    /// ([`ChainWeight::new`] sees to that), and a shift is below 32.
    pub(super) fn new(eta: Rational, beta: ChainWeight) -> Self {
        let (n, d) = (u128::from(eta.numerator()), u128::from(eta.denominator()));
        let beta = beta.value();
        let (bn, bd) = (u128::from(beta.numerator()), u128::from(beta.denominator()));
        let fits = |distance: u128, weight: u128, common: u128| {
            let fits = distance < Self::FACTOR_LIMIT
                && weight < Self::FACTOR_LIMIT
                && common < Self::COMMON_LIMIT;
            fits.then_some(Self {
                distance: distance as u32,
                weight: weight as u32,
                common: common as u64,
            })
        };
        let common = d / gcd(d, bd) * bd;
        if let Some(exact) = fits(n * (common / d), bn * (common / bd), common) {
            return exact;
        }
        (0..32u32)
            .rev()
            .find_map(|shift| {
                let common = bd << shift;
                fits(n * common / d, bn << shift, common)
            })
            .unwrap_or(Self {
                distance: (Self::FACTOR_LIMIT - 1) as u32,
                weight: bn.min(Self::FACTOR_LIMIT - 1) as u32,
                common: bd as u64,
            })
    }

    /// The costs for a scale η without chain weight, over a power of two that leaves room for offsets beside
    /// them: below 2⁵³. η is rounded down to as many digits as fit; `None` if that is zero.
    pub(super) fn dyadic(eta: Rational) -> Option<Self> {
        let (n, d) = (u128::from(eta.numerator()), u128::from(eta.denominator()));
        let common = (0..=32u32).rev().map(|shift| 1u64 << shift);
        let mut fitting = common.filter_map(|common| {
            let distance = n * u128::from(common) / d;
            let fits = distance < Self::FACTOR_LIMIT;
            fits.then_some(Self { distance: distance as u32, weight: 0, common })
        });
        fitting.next().filter(|scale| scale.distance > 0)
    }

    /// The cost of a candidate, over [`CostScale::denominator`].
    #[inline]
    #[must_use]
    pub fn cost(self, distance: Nats, weight: Nats) -> u64 {
        // Factors are below 2³¹ and units below 2³²: no product reaches 2⁶³, no sum 2⁶⁴. Said this
        // way, the compiler does several at a time.
        let product = |factor: u32, nats: Nats| u64::from(factor) * u64::from(nats.units());
        product(self.distance, distance).wrapping_add(product(self.weight, weight))
    }

    /// What costs are over: below 2⁶³, since the common denominator is below 2⁴³.
    #[inline]
    #[must_use]
    pub fn denominator(self) -> u64 {
        self.common << Nats::FRACTION_BITS
    }

    /// The scale η in force: that which was asked for, or a little below.
    #[must_use]
    pub fn eta(self) -> Rational {
        Rational::new(self.distance.into(), self.common).expect("the denominator is positive")
    }

    /// The factors of distance and weight, and what both are over.
    #[must_use]
    pub fn parts(self) -> [u64; 3] {
        [self.distance.into(), self.weight.into(), self.common]
    }

    /// The scale with these [parts](Self::parts); `None` if costs could overflow.
    #[must_use]
    pub fn from_parts([distance, weight, common]: [u64; 3]) -> Option<Self> {
        let fits = |factor: u64| u128::from(factor) < Self::FACTOR_LIMIT;
        let fits =
            fits(distance) && fits(weight) && common > 0 && u128::from(common) < Self::COMMON_LIMIT;
        fits.then_some(Self { distance: distance as u32, weight: weight as u32, common })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ordinary_parameters_are_exact() {
        let scale = CostScale::new(Rational::new(1, 7).unwrap(), ChainWeight::HALF);
        assert_eq!(scale.parts(), [2, 7, 14]);
        assert_eq!(scale.eta(), Rational::new(1, 7).unwrap());
        assert_eq!(scale.cost(Nats::from_units(10), Nats::from_units(3)), 41);
        assert_eq!(scale.denominator(), 14 << 20);
    }

    proptest! {
        #[test]
        fn never_above_what_was_asked_for_and_never_overflowing(
            n in 1u64..1 << 32, d in 1u64..1 << 32, bn in 0u64..1_000_000, bd in 1u64..1_000_000
        ) {
            let eta = Rational::new(n, d).unwrap();
            let beta = ChainWeight::new(Rational::new(bn, bd).unwrap()).unwrap();
            let scale = CostScale::new(eta, beta);
            prop_assert!(scale.eta() <= eta);
            prop_assert!(scale.denominator() > 0);
            let _ = scale.cost(Nats::MAX, Nats::MAX);
            let beta_in_force = f64::from(scale.weight) / scale.common as f64;
            let beta = beta.value().as_f64();
            prop_assert!((beta_in_force - beta).abs() <= beta * 1e-9);
        }
    }
}
