//! What a mechanism's promise means on its chain, in figures; `in_words` says it in sentences.

#[cfg(feature = "serde")]
use serde::Serialize;
use thiserror::Error;

use super::block_losses::BlockLosses;
use super::cover::{Cover, SuggestedRadii};
pub use super::example::{Covered, Example as WorkedExample};
use super::loss::{Effort, Losses, audited_loss};
use super::stay::Stays;
use super::step_losses::StepLosses;
use crate::distance::Ground;
use crate::measure::Measure;
use crate::mechanism::{Mechanism, Preset, Promise, Unit};
use crate::watch::{Stopped, Watch, part, unwatched};

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
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Guarantee {
    /// The mechanism's name, or its choices if it has none.
    pub mechanism: String,
    /// The metric, if it is another than nats.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub metric: Option<String>,
    /// What distances are counted in. Figures in nats are in 2²⁰ units of it.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub measure: Measure,
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
    /// What replacing one state loses.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub losses: LossReport,
    /// ε for one person's walks and releases together: one, or several.
    pub releases: Vec<Release>,
    /// Radii worth choosing; none on a chain of one state.
    pub suggested_radii: Option<SuggestedRadii>,
}

/// What replacing one state loses, step by step or in blocks.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
#[cfg_attr(feature = "serde", serde(untagged))]
pub enum LossReport {
    /// States are released one at a time.
    Steps(Box<StepLosses>),
    /// Several are released together.
    Blocks(Box<BlockLosses>),
}

/// The scale η in force.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
#[cfg_attr(feature = "serde", serde(untagged))]
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
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Alternatives {
    /// On average.
    pub mean: f64,
    /// Half of the states have at least this many.
    pub median: usize,
}

/// What holds for so many walks of one person, or releases of one walk.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
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
    Stopped(#[from] Stopped),
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
        let promise = mechanism.promise().ok_or(GuaranteeError::NoPromise)?;
        if let Some(blocks) = mechanism.blocks() {
            let losses = BlockLosses::new(mechanism, blocks, promise, effort, watch)?;
            let losses = LossReport::Blocks(Box::new(losses));
            return Self::explain(mechanism, promise, losses, &unwatched);
        }
        if mechanism.model().require_tables().is_err() {
            let losses = StepLosses::new(mechanism, promise, None);
            return Self::explain(mechanism, promise, LossReport::Steps(Box::new(losses)), watch);
        }
        let losses = audited_loss(mechanism, effort, watch)?;
        Self::from_losses(mechanism, &losses)
    }

    /// The same from losses that are already audited, one state at a time.
    ///
    /// # Errors
    ///
    /// If the mechanism has no promise.
    pub fn from_losses(mechanism: &Mechanism, losses: &Losses) -> Result<Self, GuaranteeError> {
        let promise = mechanism.promise().ok_or(GuaranteeError::NoPromise)?;
        let losses = StepLosses::new(mechanism, promise, Some(losses));
        Self::explain(mechanism, promise, LossReport::Steps(Box::new(losses)), &unwatched)
    }

    fn explain(
        mechanism: &Mechanism,
        promise: Promise,
        losses: LossReport,
        watch: Watch<'_>,
    ) -> Result<Self, GuaranteeError> {
        let model = mechanism.model();
        let epsilon = promise.epsilon.value().as_f64();
        let (radius_nats, substitutions) = match promise.unit {
            Unit::Radius(radius) => (Some(radius.value().as_f64()), None),
            Unit::Substitutions(b) => (None, Some(b.get())),
        };
        let cover = Cover::watched(model, promise.unit, &part(watch, 0.0..0.5))?;
        let suggested_radii = SuggestedRadii::watched(model, &part(watch, 0.5..1.0))?;
        Ok(Self {
            mechanism: name(mechanism, promise.unit),
            metric: (*model.ground() != Ground::Nats).then(|| model.ground().to_string()),
            measure: model.measure(),
            epsilon,
            radius_nats,
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
            losses,
            releases: [1, 2, 10].map(|times| released(epsilon, times)).into(),
            suggested_radii,
        })
    }

    /// What holds for so many walks of one person, or releases of one walk: the losses add up.
    #[must_use]
    pub fn released(&self, times: u32) -> Release {
        released(self.epsilon, times)
    }

    /// The losses where states are released one at a time; none in blocks.
    #[must_use]
    pub fn of_steps(&self) -> Option<&StepLosses> {
        match &self.losses {
            LossReport::Steps(losses) => Some(losses),
            LossReport::Blocks(_) => None,
        }
    }

    /// The losses where states are released in blocks; none one at a time.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use veilwalk::guarantee::{Effort, Guarantee};
    /// use veilwalk::unwatched;
    /// use veilwalk::{Chain, Design, Mechanism, Model, Preset, Promise, Rule};
    ///
    /// let model = Arc::new(Model::new(Chain::credit())?);
    /// let promise = Promise::within_radius("1".parse()?, "3.5".parse()?);
    /// let design = Design { rule: Rule::Exponential, ..Preset::Sharp.design() };
    /// let blocks = Mechanism::in_blocks(model, design, promise, "2".parse()?)?;
    /// let guarantee = Guarantee::new(&blocks, Effort::default(), &unwatched)?;
    /// let losses = guarantee.of_blocks().unwrap();
    /// assert!(losses.replacement_loss.as_ref().unwrap().per_nat <= losses.loss_per_nat_bound.unwrap());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of_blocks(&self) -> Option<&BlockLosses> {
        match &self.losses {
            LossReport::Steps(_) => None,
            LossReport::Blocks(losses) => Some(losses),
        }
    }
}

fn released(epsilon: f64, times: u32) -> Release {
    Release { times, epsilon: epsilon * f64::from(times) }
}

/// The preset with these choices and this unit, or else the choices. In blocks, a preset's name would
/// stand for another scale.
fn name(mechanism: &Mechanism, unit: Unit) -> String {
    if mechanism.blocks().is_some() {
        return mechanism.design().to_string();
    }
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
