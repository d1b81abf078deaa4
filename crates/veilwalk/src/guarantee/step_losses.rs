//! What replacing one state loses where states are released one at a time.

#[cfg(feature = "serde")]
use serde::Serialize;

use super::example::Example;
use super::loss::{Coverage, FigureKind, FirstStateLoss, Losses, Summary, Worst};
use crate::chain::Chain;
use crate::mechanism::{ChainWeight, Distance, Mechanism, Promise, Rule, Unit};
use crate::nats::Nats;

/// The losses of replacing one state, and an example.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct StepLosses {
    /// The loss per nat of distance.
    pub loss_per_nat: LossPerNat,
    /// Replacing one state by any other.
    pub substitution_loss: LossFigures,
    /// Replacing one state by the other end of a transition.
    pub neighbour_loss: LossFigures,
    /// Replacing one state by another that keeps the walk possible.
    pub feasible_loss: LossFigures,
    /// Replacing the first state, where it is drawn near the real one; none where that is not known.
    pub first_state_loss: Option<FirstStateLoss>,
    /// Two whole walks that the promise covers.
    pub walk_loss: WalkFigures,
    /// Which pairs were compared; none where the chain is too large for an audit.
    pub coverage: Option<Coverage>,
    /// An example from the chain; none on a chain of one state.
    pub example: Option<Example>,
}

/// The loss per nat of symmetric distance.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct LossPerNat {
    /// What the proof bounds it by at this scale: ε over the radius, for the theorem's scale. None
    /// where there is no such bound, because different states are at distance zero.
    pub bound: Option<f64>,
    /// The largest over all pairs, rounded up; where not all were compared, an upper bound.
    pub exact: f64,
    /// The largest over pairs within the radius, which is what the promise is about.
    pub within_radius: Option<f64>,
}

/// The losses of a kind of replacement, rounded up. Infinite where no pair is of that kind, or
/// nothing is known: then nothing is covered.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct LossFigures {
    /// The largest.
    pub max: f64,
    /// The mean over pairs.
    pub mean: f64,
    /// How many pairs there are.
    pub pairs: u64,
    /// Whether these are the losses or bounds on them.
    pub figures: FigureKind,
    /// Where the largest is attained.
    pub worst: Option<WorstCase>,
}

/// A pair with the largest loss, by name.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct WorstCase {
    /// A real state.
    pub real: String,
    /// The one that replaces it.
    pub other: String,
    /// The last released state that tells them apart best, where the loss is exact.
    pub previous: Option<String>,
    /// The outcome that does.
    pub outcome: Option<String>,
}

/// The loss of two whole walks that the promise covers.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct WalkFigures {
    /// ε.
    pub promised: f64,
    /// The largest, as audited and rounded up; zero where no two walks are adjacent.
    pub audited: f64,
}

impl StepLosses {
    /// From losses that were audited, or else from what is proven.
    pub(super) fn new(mechanism: &Mechanism, promise: Promise, losses: Option<&Losses>) -> Self {
        let chain = mechanism.model().chain();
        let epsilon = promise.epsilon.value().as_f64();
        let each = match promise.unit {
            Unit::Radius(_) => None,
            Unit::Substitutions(b) => Some(epsilon / f64::from(b.get())),
        };
        let bound = rate_bound(mechanism, promise);
        let unaudited = LossFigures {
            max: each.unwrap_or(f64::INFINITY),
            mean: each.unwrap_or(f64::INFINITY),
            pairs: 0,
            figures: FigureKind::UpperBound,
            worst: None,
        };
        // Without a pair there is no loss to tell, which is not a loss of zero.
        let if_any = |summary: &Summary, loss| match summary.pairs {
            0 => f64::INFINITY,
            _ => loss,
        };
        let figures = |summary: Option<&Summary>| {
            summary.map_or_else(
                || unaudited.clone(),
                |summary| LossFigures {
                    max: if_any(summary, settle(summary.figures, summary.max, each)),
                    mean: if_any(summary, settle(summary.figures, summary.mean, each)),
                    pairs: summary.pairs,
                    figures: summary.figures,
                    worst: summary.worst.map(|worst| WorstCase::new(chain, worst)),
                },
            )
        };
        let per_nat = |summary: Option<&Summary>| match summary {
            Some(summary) => settle(summary.figures, summary.per_nat, bound),
            None => bound.unwrap_or(f64::INFINITY),
        };
        let within_radius = match (promise.unit, losses) {
            (_, Some(losses)) => losses.within_radius.map(|within| per_nat(Some(&within))),
            (Unit::Radius(_), None) => Some(per_nat(None)),
            (Unit::Substitutions(_), None) => None,
        };
        let audited = losses.and_then(|losses| losses.walk).unwrap_or(f64::INFINITY);
        Self {
            loss_per_nat: LossPerNat {
                bound,
                exact: per_nat(losses.map(|losses| &losses.any)),
                within_radius,
            },
            substitution_loss: figures(losses.map(|losses| &losses.any)),
            neighbour_loss: figures(losses.map(|losses| &losses.transitions)),
            feasible_loss: figures(losses.map(|losses| &losses.feasible)),
            first_state_loss: losses.and_then(|losses| losses.first_state),
            // Both are upper bounds.
            walk_loss: WalkFigures { promised: epsilon, audited: audited.min(epsilon) },
            coverage: losses.map(|losses| losses.coverage),
            example: Example::new(mechanism),
        }
    }
}

/// What is proven of the loss per nat at the scale in force: each rule at most doubles a change of
/// cost (see [`scale`](crate::mechanism::scale)), and a cost changes by η per nat, or by η per
/// replaced state. Cells that come with a certificate keep to ε per radius, which is less.
fn rate_bound(mechanism: &Mechanism, promise: Promise) -> Option<f64> {
    let design = mechanism.design();
    let etas = mechanism.model().chain().states().map(|z| mechanism.scale(z).eta());
    let eta = etas.max()?.as_f64();
    let counts_states = match (design.distance, promise.unit) {
        (Distance::Directed | Distance::Symmetric, _) if !design.observes() => false,
        (Distance::Hamming, _) | (_, Unit::Substitutions(_)) => true,
        (_, Unit::Radius(radius))
            if mechanism.certificate().is_some() || mechanism.observation().is_some() =>
        {
            return Some(promise.epsilon.value().as_f64() / radius.value().as_f64());
        }
        (_, Unit::Radius(_)) => false,
    };
    if !counts_states {
        return Some(2.0 * eta);
    }
    let single = design.distance == Distance::Hamming
        && design.rule == Rule::Exponential
        && design.chain_weight == ChainWeight::ZERO;
    let per_state = if single { eta } else { 2.0 * eta };
    let closest = mechanism.model().closest_pair()?.distance;
    (closest > Nats::ZERO).then(|| per_state / closest.as_f64())
}

/// The audited figure, or the proven bound: both are upper bounds, and the smaller one is told.
/// An exact figure gives way only within its own rounding, so that a proof that did not hold would
/// show.
fn settle(figures: FigureKind, audited: f64, proven: Option<f64>) -> f64 {
    const ROUNDING: f64 = 1e-9;
    let Some(proven) = proven else { return audited };
    match figures {
        FigureKind::UpperBound => audited.min(proven),
        FigureKind::Exact if audited <= proven * (1.0 + ROUNDING) => audited.min(proven),
        FigureKind::Exact => audited,
    }
}

impl WorstCase {
    fn new(chain: &Chain, worst: Worst) -> Self {
        let label = |state| chain.label(state).to_owned();
        Self {
            real: label(worst.real),
            other: label(worst.other),
            previous: worst.attained.map(|(previous, _)| label(previous)),
            outcome: worst.attained.map(|(_, outcome)| label(outcome)),
        }
    }
}
