//! What a mechanism's promise means on its chain, in figures; `words` says it in sentences.

use serde::Serialize;
use thiserror::Error;

use super::cover::{Cover, SuggestedRadii};
use super::example::Example;
pub use super::example::{Covered, Example as WorkedExample};
use super::loss::{Coverage, Effort, FigureKind, Losses, Summary, Worst, audited_loss};
use super::stay::Stays;
use super::{Cancelled, Watch, unwatched};
use crate::chain::Chain;
use crate::mechanism::{ChainWeight, Distance, Mechanism, Preset, Promise, Rule, Unit};
use crate::nats::Nats;

/// The guarantee of a mechanism on its chain, computed from public things only.
///
/// As JSON its keys are the names of the fields; infinite figures are `null` there. `Display` says
/// it in words.
///
/// ```
/// use std::sync::Arc;
/// use veilwalk::guarantee::{Effort, Guarantee};
/// use veilwalk::unwatched;
/// use veilwalk::{Chain, Mechanism, Model, Preset, Promise};
///
/// let model = Arc::new(Model::new(Chain::credit())?);
/// let promise = Promise::within_radius("1".parse()?, "1".parse()?);
/// let paper = Mechanism::new(model, Preset::Paper.design(), promise)?;
/// let guarantee = Guarantee::new(&paper, Effort::default(), &unwatched)?;
/// assert!(guarantee.vacuous, "no two states are within one nat of each other");
/// println!("{guarantee}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Guarantee {
    /// The mechanism's name, or its choices if it has none.
    pub mechanism: String,
    /// ε.
    pub epsilon: f64,
    /// The radius, if the promise has one.
    pub radius_nats: Option<f64>,
    /// The number of substitutions, if the promise counts those.
    pub substitutions: Option<u32>,
    /// The scale η in force.
    pub scale: ScaleInForce,
    /// Whether nothing is protected: no two different walks are adjacent.
    pub vacuous: bool,
    /// How many states the chain has.
    pub states: usize,
    /// The smallest radius that protects anything; none on a chain of one state.
    pub smallest_radius_nats: Option<f64>,
    /// The share of states with at least one covered alternative.
    pub covered_states: f64,
    /// How many unordered pairs of states are covered.
    pub covered_pairs: u64,
    /// How many states a state is confused with.
    pub alternatives: Alternatives,
    /// How long a stay is covered; none on a chain of one state.
    pub stays: Option<Stays>,
    /// The loss per nat of distance.
    pub loss_per_nat: LossPerNat,
    /// Replacing one state by any other.
    pub substitution_loss: LossFigures,
    /// Replacing one state by the other end of a transition.
    pub neighbour_loss: LossFigures,
    /// Replacing one state by another that keeps the walk possible.
    pub feasible_loss: LossFigures,
    /// Two whole walks that the promise covers.
    pub walk_loss: WalkFigures,
    /// Which pairs were compared; none where the chain is too large for an audit.
    pub coverage: Option<Coverage>,
    /// ε for one person's walks and releases together: one, or several.
    pub releases: Vec<Release>,
    /// Radii worth choosing; none on a chain of one state.
    pub suggested_radii: Option<SuggestedRadii>,
    /// An example from the chain; none on a chain of one state.
    pub example: Option<Example>,
}

/// The scale η in force.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ScaleInForce {
    /// The same whatever was released last.
    Uniform(f64),
    /// It depends on the last released state.
    PerState {
        /// The smallest.
        min: f64,
        /// The largest.
        max: f64,
    },
}

/// How many states a state is confused with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Alternatives {
    /// On average.
    pub mean: f64,
    /// Half of the states have at least this many.
    pub median: usize,
}

/// The loss per nat of symmetric distance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WalkFigures {
    /// ε.
    pub promised: f64,
    /// The largest, as audited and rounded up; zero where no two walks are adjacent.
    pub audited: f64,
}

/// What holds for so many walks of one person, or releases of one walk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Release {
    /// How many times.
    pub times: u32,
    /// ε for all of them together.
    pub epsilon: f64,
}

/// Why there is no guarantee to report.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GuaranteeError {
    /// The mechanism was made without a promise.
    #[error("the mechanism makes no promise to explain; make it with one")]
    NoPromise,
    /// Stopped on request.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl Guarantee {
    /// Audits a mechanism and explains its promise. On a chain too large for a table of all distances
    /// there is no audit: the losses are what is proven of them.
    ///
    /// # Errors
    ///
    /// If the mechanism has no promise, or the watcher asks to stop.
    pub fn new(
        mechanism: &Mechanism,
        effort: Effort,
        watch: Watch<'_>,
    ) -> Result<Self, GuaranteeError> {
        if mechanism.promise().is_none() {
            return Err(GuaranteeError::NoPromise);
        }
        if mechanism.model().require_tables().is_err() {
            return Self::explain(mechanism, None, watch);
        }
        let losses = audited_loss(mechanism, effort, watch)?;
        Self::from_losses(mechanism, &losses)
    }

    /// The same from losses that are already audited.
    ///
    /// # Errors
    ///
    /// If the mechanism has no promise.
    pub fn from_losses(mechanism: &Mechanism, losses: &Losses) -> Result<Self, GuaranteeError> {
        Self::explain(mechanism, Some(losses), &unwatched)
    }

    fn explain(
        mechanism: &Mechanism,
        losses: Option<&Losses>,
        watch: Watch<'_>,
    ) -> Result<Self, GuaranteeError> {
        let promise = mechanism.promise().ok_or(GuaranteeError::NoPromise)?;
        let (model, chain) = (mechanism.model(), mechanism.model().chain());
        let epsilon = promise.epsilon.value().as_f64();
        let (radius, substitutions) = match promise.unit {
            Unit::Radius(radius) => (Some(radius.value().as_f64()), None),
            Unit::Substitutions(b) => (None, Some(b.get())),
        };
        let each = substitutions.map(|b| epsilon / f64::from(b));
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
        let cover = Cover::watched(model, promise.unit, &|done| watch(done / 2.0))?;
        let suggested_radii = SuggestedRadii::watched(model, &|done| watch(0.5 + done / 2.0))?;
        Ok(Self {
            mechanism: name(mechanism, promise.unit),
            epsilon,
            radius_nats: radius,
            substitutions,
            scale: ScaleInForce::new(mechanism),
            vacuous: cover.is_vacuous(),
            states: cover.states,
            smallest_radius_nats: suggested_radii.map(|radii| radii.something.as_f64()),
            covered_states: cover.share(),
            covered_pairs: cover.covered_pairs,
            alternatives: Alternatives {
                mean: cover.mean_alternatives,
                median: cover.median_alternatives,
            },
            stays: suggested_radii.map(|radii| Stays::new(promise.unit, radii)),
            loss_per_nat: LossPerNat {
                bound,
                exact: per_nat(losses.map(|losses| &losses.any)),
                within_radius: match losses {
                    Some(losses) => losses.within_radius.map(|within| per_nat(Some(&within))),
                    None => radius.map(|_| per_nat(None)),
                },
            },
            substitution_loss: figures(losses.map(|losses| &losses.any)),
            neighbour_loss: figures(losses.map(|losses| &losses.transitions)),
            feasible_loss: figures(losses.map(|losses| &losses.feasible)),
            walk_loss: WalkFigures {
                promised: epsilon,
                // Both are upper bounds.
                audited: losses
                    .and_then(|losses| losses.walk)
                    .unwrap_or(f64::INFINITY)
                    .min(epsilon),
            },
            coverage: losses.map(|losses| losses.coverage),
            releases: [1, 2, 10].map(|times| released(epsilon, times)).into(),
            suggested_radii,
            example: Example::new(mechanism),
        })
    }

    /// What holds for so many walks of one person, or releases of one walk: the losses add up.
    #[must_use]
    pub fn released(&self, times: u32) -> Release {
        released(self.epsilon, times)
    }
}

pub(super) fn released(epsilon: f64, times: u32) -> Release {
    Release { times, epsilon: epsilon * f64::from(times) }
}

/// What is proven of the loss per nat at the scale in force: each rule at most doubles a change of
/// cost (see [`scale`](crate::mechanism::scale)), and a cost changes by η per nat, or by η per
/// replaced state. Cells that come with a certificate keep to ε per radius, which is less.
fn rate_bound(mechanism: &Mechanism, promise: Promise) -> Option<f64> {
    let design = mechanism.design();
    let etas = mechanism.model().chain().states().map(|z| mechanism.scale(z).eta());
    let eta = etas.max()?.as_f64();
    let counts_states = match (design.distance, promise.unit) {
        (Distance::Directed | Distance::Symmetric, _) => false,
        (Distance::Hamming, _) | (_, Unit::Substitutions(_)) => true,
        (_, Unit::Radius(radius)) if mechanism.certificate().is_some() => {
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

/// The preset with these choices and this unit, or else the choices.
fn name(mechanism: &Mechanism, unit: Unit) -> String {
    let counts = matches!(unit, Unit::Substitutions(_));
    let mut alike: Vec<Preset> = Preset::NAMES.iter().map(|(_, preset)| *preset).collect();
    alike.retain(|preset| preset.design() == mechanism.design());
    // Two names may stand for the same choices in different units.
    let named = alike.iter().find(|p| p.counts_substitutions() == counts).or(alike.first());
    named.map_or_else(|| mechanism.design().to_string(), ToString::to_string)
}

impl ScaleInForce {
    fn new(mechanism: &Mechanism) -> Self {
        let states = || mechanism.model().chain().states();
        let etas = || states().map(|z| mechanism.scale(z).eta());
        let (min, max) = (etas().min(), etas().max());
        let value = |eta: Option<crate::rational::Rational>| eta.map_or(0.0, |eta| eta.as_f64());
        if min == max {
            Self::Uniform(value(min))
        } else {
            Self::PerState { min: value(min), max: value(max) }
        }
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
