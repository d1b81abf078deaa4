//! What a user asked for, and the mechanism made of it.
//!
//! The command, Python and Spark all ask in the same terms: a name or `auto`, parts of it that are
//! overridden, a promise, how the scale is found, and how many steps are released together. A
//! [`Request`] holds these, decides what is left open, and refuses what does not go together. Only the
//! words differ from one front end to the next (see [`Remedy`]).
//!
//! ```
//! use std::sync::Arc;
//! use veilwalk::internal::request::{Base, Request};
//! use veilwalk::unwatched;
//! use veilwalk::{Chain, Model, Promise};
//!
//! let model = Arc::new(Model::new(Chain::credit())?);
//! let promise = Promise::within_radius("1".parse()?, "3.5".parse()?);
//! let made = Request::new(Base::Auto, promise).make(&model, &unwatched)?;
//! assert_eq!(made.name, "cell");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::Arc;

use thiserror::Error;

use crate::chain::Chain;
use crate::distance::Cells;
use crate::guarantee::{Calibrated, CalibrationError, Effort, calibrate};
use crate::mechanism::{
    BlockError, BlockLength, Calibration, ChainWeight, Design, Distance, Mechanism, Preset,
    Promise, Rule, ScaleError, Unit,
};
use crate::model::Model;
use crate::remedy::Remedy;
use crate::watch::Watch;

/// Where the choices come from that a request leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Base {
    /// The most accurate one for the chain: `cell` where its tables fit, else `sharp`; `sharp` in
    /// blocks.
    #[default]
    Auto,
    /// A mechanism with a name.
    Preset(Preset),
    /// All of them were tuned for one state at a time.
    Tuned(Design),
}

/// What a user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Where choices come from that are not made below.
    pub base: Base,
    /// What is promised.
    pub promise: Promise,
    /// Another distance.
    pub distance: Option<Distance>,
    /// Another rule.
    pub rule: Option<Rule>,
    /// Another chain weight.
    pub chain_weight: Option<ChainWeight>,
    /// How the scale is found.
    pub calibration: Option<Calibration>,
    /// How many steps are released together; none for one state at a time.
    pub block: Option<BlockLength>,
}

/// What a request amounts to on a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The name it goes by.
    pub name: String,
    /// All choices but the scale.
    pub design: Design,
    /// How the scale is found.
    pub calibration: Calibration,
}

/// A mechanism, and what users are told about it.
#[derive(Clone, Debug)]
pub struct Made {
    /// The name it goes by.
    pub name: String,
    /// The mechanism.
    pub mechanism: Arc<Mechanism>,
    /// What it promises.
    pub promise: Promise,
    /// How its scale was found.
    pub calibration: Calibration,
    /// What an exact calibration by one common factor gained.
    pub calibrated: Option<Calibrated>,
}

/// Why a request cannot be met.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A mechanism that counts replaced states, and a radius.
    #[error(
        "`{0}` protects a number of replaced states, not a radius; give {count} instead of {radius}",
        count = Remedy::Substitutions,
        radius = Remedy::Radius
    )]
    CountsSubstitutions(Preset),
    /// An exact scale for blocks.
    #[error(
        "{} is for one state at a time; in blocks the scale is that of the theorem, so leave it out",
        Remedy::ExactScale
    )]
    ExactScaleInBlocks,
    /// A rule that does not draw blocks.
    #[error(
        "{block}: blocks are drawn by the exponential rule, not by {0}; leave {rule} out",
        block = Remedy::Blocks,
        rule = Remedy::Rule
    )]
    RuleInBlocks(Rule),
    /// A mechanism whose own rule does not draw blocks.
    #[error(
        "{block}: `{0}` has the permute-and-flip rule, which is for one state at a time; \
         `exponential` has its distance with the exponential rule, and `auto` is the most accurate \
         choice",
        block = Remedy::Blocks
    )]
    PresetInBlocks(Preset),
    /// A tuned mechanism.
    #[error(
        "{}: a mechanism from a file was tuned for one state at a time; choose one by its name",
        Remedy::Blocks
    )]
    TunedInBlocks,
    /// No scale keeps the promise.
    #[error(transparent)]
    Scale(#[from] ScaleError),
    /// No scale was found whose audited loss keeps it.
    #[error(transparent)]
    Calibration(#[from] CalibrationError),
    /// Blocks cannot keep it.
    #[error(transparent)]
    Blocks(#[from] BlockError),
}

impl Request {
    /// A request that leaves everything else open.
    #[must_use]
    pub const fn new(base: Base, promise: Promise) -> Self {
        Self {
            base,
            promise,
            distance: None,
            rule: None,
            chain_weight: None,
            calibration: None,
            block: None,
        }
    }

    /// What it amounts to on a chain. Nothing is computed for it.
    ///
    /// # Errors
    ///
    /// If its parts do not go together.
    pub fn settle(&self, chain: &Chain) -> Result<Settled, RequestError> {
        let (preset, base) = match self.block {
            None => match self.base {
                Base::Tuned(design) => return Ok(self.tuned(design)),
                Base::Preset(preset) => (preset, preset.design()),
                Base::Auto => {
                    let affordable = Cells::affordable(chain).is_ok();
                    let preset = if affordable { Preset::Cell } else { Preset::Sharp };
                    (preset, preset.design())
                }
            },
            Some(_) => {
                let preset = self.preset_for_blocks()?;
                (preset, Design { rule: Rule::Exponential, ..preset.design() })
            }
        };
        let design = Design {
            distance: self.distance.unwrap_or(base.distance),
            rule: self.rule.unwrap_or(base.rule),
            chain_weight: self.chain_weight.unwrap_or(base.chain_weight),
        };
        let name = if design != preset.design() {
            format!("{preset} with {design}")
        } else if preset.counts_substitutions() && matches!(self.promise.unit, Unit::Radius(_)) {
            return Err(RequestError::CountsSubstitutions(preset));
        } else {
            preset.name().to_owned()
        };
        let calibration = match self.block {
            None => self.calibration.unwrap_or(Calibration::default_for(design)),
            Some(_) => Calibration::Theorem,
        };
        Ok(Settled { name, design, calibration })
    }

    fn tuned(&self, design: Design) -> Settled {
        let name = match Preset::of(design, self.promise.unit) {
            Some(preset) => preset.name().to_owned(),
            None => format!("tuned: {design}"),
        };
        let calibration = self.calibration.unwrap_or(Calibration::default_for(design));
        Settled { name, design, calibration }
    }

    /// Whose choices blocks begin with.
    fn preset_for_blocks(&self) -> Result<Preset, RequestError> {
        if let Base::Tuned(_) = self.base {
            return Err(RequestError::TunedInBlocks);
        }
        if self.calibration == Some(Calibration::Exact) {
            return Err(RequestError::ExactScaleInBlocks);
        }
        if let Some(rule @ Rule::PermuteAndFlip) = self.rule {
            return Err(RequestError::RuleInBlocks(rule));
        }
        match self.base {
            Base::Preset(paper @ Preset::Paper) if self.rule.is_none() => {
                Err(RequestError::PresetInBlocks(paper))
            }
            Base::Preset(preset) => Ok(preset),
            Base::Auto | Base::Tuned(_) => Ok(Preset::Sharp),
        }
    }

    /// Makes the mechanism on a model, which may take long.
    ///
    /// # Errors
    ///
    /// If its parts do not go together, no scale keeps the promise, or the watcher asks to stop.
    pub fn make(&self, model: &Arc<Model>, watch: Watch<'_>) -> Result<Made, RequestError> {
        let Settled { name, design, calibration } = self.settle(model.chain())?;
        let (mechanism, calibrated) = match self.block {
            Some(length) => {
                (Mechanism::in_blocks(model.clone(), design, self.promise, length)?, None)
            }
            None => self.one_by_one(model, design, calibration, watch)?,
        };
        let (mechanism, promise) = (Arc::new(mechanism), self.promise);
        Ok(Made { name, mechanism, promise, calibration, calibrated })
    }

    fn one_by_one(
        &self,
        model: &Arc<Model>,
        design: Design,
        calibration: Calibration,
        watch: Watch<'_>,
    ) -> Result<(Mechanism, Option<Calibrated>), RequestError> {
        let goes_by_cells = design.distance.nearest().is_some();
        let (model, promise) = (model.clone(), self.promise);
        if goes_by_cells {
            return Ok((Mechanism::with_cells(model, design, promise, calibration, watch)?, None));
        }
        let made = Mechanism::watched(model, design, promise, watch)?;
        match calibration {
            Calibration::Theorem => Ok((made, None)),
            Calibration::Exact => {
                let (mechanism, found) = calibrate(&made, Effort::default(), watch)?;
                Ok((mechanism, Some(found)))
            }
        }
    }
}
