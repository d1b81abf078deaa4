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
//! assert_eq!(made.name, "tight");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod auto;
mod person;
mod visit;

pub use person::PersonTotal;
pub use visit::{NotASpan, Span, Visit, seconds_in};

use std::sync::Arc;

use thiserror::Error;

use crate::ahead::{Ahead, TooLargeToLookAhead};
use crate::chain::Chain;
use crate::distance::Cells;
use crate::guarantee::{Calibrated, CalibrationError, Effort, calibrate};
use crate::mechanism::{
    BlockError, BlockLength, Calibration, CandidateKind, Candidates, ChainWeight, Design, Distance,
    LeastShare, Mechanism, Preset, Promise, Rule, ScaleError, Start, StateWeights, TrackAim,
    Tracking, Unit,
};
use crate::model::{LookAheadError, Model};
use crate::rational::Rational;
use crate::remedy::Remedy;
use crate::watch::Watch;

/// Where the choices come from that a request leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Base {
    /// The most accurate one for the chain, the promise, the start and the delay, by the rule of
    /// `auto`.
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
    /// Other candidates.
    pub candidates: CandidateChoice,
    /// How a walk is made of observations.
    pub track: TrackChoice,
    /// How released walks start: only `auto` asks.
    pub start: Start,
}

/// Which candidates a user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CandidateChoice {
    /// The kind.
    pub kind: Option<CandidateKind>,
    /// The weights of all states.
    pub weights: Option<StateWeights>,
    /// From which share of the largest predicted mass on a state is believed possible.
    pub least_share: Option<LeastShare>,
}

/// How a user wants a walk to be made of observations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackChoice {
    /// What it is to be good at.
    pub aim: Option<TrackAim>,
    /// What one nat of a move's own weight counts for.
    pub gamma: Option<Rational>,
    /// How many more steps are observed before a step is answered.
    pub lag: Option<u32>,
}

impl TrackChoice {
    /// These choices, all of them made.
    #[must_use]
    pub fn of(tracking: Tracking) -> Self {
        let Tracking { aim, gamma, lag } = tracking;
        Self { aim: Some(aim), gamma: Some(gamma), lag: Some(lag) }
    }

    /// What was asked for, if anything was; the first of it.
    fn asked(self) -> Option<Remedy> {
        let Self { aim, gamma, lag } = self;
        let asked = [
            (aim.is_some(), Remedy::Track),
            (gamma.is_some(), Remedy::Typicality),
            (lag.is_some(), Remedy::Lag),
        ];
        asked.into_iter().find_map(|(asked, what)| asked.then_some(what))
    }

    /// The choices, with what is usual for those that were not made.
    #[must_use]
    pub fn tracking(self) -> Tracking {
        let usual = Tracking::default();
        Tracking {
            aim: self.aim.unwrap_or(usual.aim),
            gamma: self.gamma.unwrap_or(usual.gamma),
            lag: self.lag.unwrap_or(usual.lag),
        }
    }
}

impl CandidateChoice {
    /// The candidates that are meant, beginning with those of a base.
    fn over(self, base: Candidates) -> Result<Candidates, RequestError> {
        let kind = self.kind.unwrap_or(CandidateKind::of(base));
        let candidates = match (kind, base) {
            (CandidateKind::Moves, _) => Candidates::Moves,
            (CandidateKind::States, Candidates::States(weights)) => {
                Candidates::States(self.weights.unwrap_or(weights))
            }
            (CandidateKind::States, _) => Candidates::States(self.weights.unwrap_or_default()),
            (CandidateKind::Believed, Candidates::Believed(least)) => {
                Candidates::Believed(self.least_share.unwrap_or(least))
            }
            (CandidateKind::Believed, _) => {
                Candidates::Believed(self.least_share.unwrap_or(LeastShare::TENTH))
            }
            (CandidateKind::Plane, _) => Candidates::Plane,
        };
        match (self.weights, self.least_share, kind) {
            (Some(_), _, CandidateKind::Moves | CandidateKind::Believed | CandidateKind::Plane) => {
                Err(RequestError::WeightsWithout)
            }
            (_, Some(_), CandidateKind::Moves | CandidateKind::States | CandidateKind::Plane) => {
                Err(RequestError::LeastShareWithout)
            }
            _ => Ok(candidates),
        }
    }
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
    /// Observations in blocks.
    #[error(
        "{}: observations are not released in blocks; {} waits for the observations of later steps instead, \
         and draws nothing anew",
        Remedy::Blocks,
        Remedy::Lag
    )]
    ObservationsInBlocks,
    /// Observations by another rule, distance or chain weight.
    #[error(
        "observations are drawn by the exponential rule and without a chain weight, and over all states or on a \
         plane by what the promise counts; leave out {what}"
    )]
    NotForObservations {
        /// What does not go with them.
        what: Remedy,
    },
    /// Weights of all states where they are not the candidates.
    #[error(
        "{} are for all states as candidates: give {} `states` with them",
        Remedy::Weights,
        Remedy::Candidates
    )]
    WeightsWithout,
    /// A share of the belief where it does not decide candidates.
    #[error(
        "{} is for believed candidates: give {} `believed` with it",
        Remedy::LeastShare,
        Remedy::Candidates
    )]
    LeastShareWithout,
    /// A way to track where moves are drawn.
    #[error(
        "{what}: a mechanism that draws moves releases what it draws, and follows no observations; choose \
         `tight`, `believed` or `plane`, or leave it out"
    )]
    NothingToTrack {
        /// What was asked for.
        what: Remedy,
    },
    /// Looking ahead on a chain that is too large for it.
    #[error(transparent)]
    LookAhead(#[from] TooLargeToLookAhead),
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

impl From<LookAheadError> for RequestError {
    fn from(error: LookAheadError) -> Self {
        match error {
            LookAheadError::TooLarge(why) => Self::LookAhead(why),
            LookAheadError::Stopped(stopped) => Self::Scale(stopped.into()),
        }
    }
}

impl RequestError {
    /// Whether the watcher asked to stop.
    fn is_stopped(&self) -> bool {
        let blocks =
            |error: &BlockError| matches!(error, BlockError::Scale(ScaleError::Stopped(_)));
        match self {
            Self::Scale(ScaleError::Stopped(_)) => true,
            Self::Calibration(CalibrationError::Stopped(_)) => true,
            Self::Blocks(error) => blocks(error),
            _ => false,
        }
    }
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
            candidates: CandidateChoice { kind: None, weights: None, least_share: None },
            track: TrackChoice { aim: None, gamma: None, lag: None },
            start: Start::Private,
        }
    }

    /// What it amounts to on a chain. Nothing is computed for it, so of what `auto` compares it is the
    /// first.
    ///
    /// # Errors
    ///
    /// If its parts do not go together.
    pub fn settle(&self, chain: &Chain) -> Result<Settled, RequestError> {
        let (preset, base) = match self.block {
            None => match self.base {
                Base::Tuned(design) => return self.tuned(design, chain),
                Base::Preset(preset) => (preset, preset.design()),
                Base::Auto if self.asks_for_observations() => {
                    let preset = match self.candidates.kind {
                        Some(CandidateKind::Believed) => Preset::Believed,
                        Some(CandidateKind::Plane) => Preset::Plane,
                        _ if self.candidates.least_share.is_some() => Preset::Believed,
                        _ => Preset::Tight,
                    };
                    (preset, preset.design())
                }
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
            candidates: self.candidates.over(base.candidates)?,
        };
        self.check_observations(design, chain)?;
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

    /// Whether something is asked for that only observations have.
    fn asks_for_observations(&self) -> bool {
        let CandidateChoice { kind, weights, least_share } = self.candidates;
        kind.is_some_and(|kind| kind != CandidateKind::Moves)
            || weights.is_some()
            || least_share.is_some()
            || self.track != TrackChoice::default()
    }

    /// Refuses what does not go with observations, or goes with nothing else.
    fn check_observations(&self, design: Design, chain: &Chain) -> Result<(), RequestError> {
        let refused = |what| Err(RequestError::NotForObservations { what });
        if design.observes() && self.track.tracking().aim.looks_ahead() {
            Ahead::affordable(chain)?;
        }
        match design.candidates {
            Candidates::Moves => match self.track.asked() {
                Some(what) => Err(RequestError::NothingToTrack { what }),
                None => Ok(()),
            },
            _ if self.block.is_some() => Err(RequestError::ObservationsInBlocks),
            _ if design.rule != Rule::Exponential => refused(Remedy::Rule),
            _ if design.chain_weight != ChainWeight::ZERO => refused(Remedy::ChainWeight),
            Candidates::States(_) | Candidates::Plane if self.distance.is_some() => {
                refused(Remedy::Distance)
            }
            Candidates::States(_) | Candidates::Believed(_) | Candidates::Plane => Ok(()),
        }
    }

    fn tuned(&self, design: Design, chain: &Chain) -> Result<Settled, RequestError> {
        self.check_observations(design, chain)?;
        let name = match Preset::of(design, self.promise.unit) {
            Some(preset) => preset.name().to_owned(),
            None => format!("tuned: {design}"),
        };
        let calibration = self.calibration.unwrap_or(Calibration::default_for(design));
        Ok(Settled { name, design, calibration })
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
            Base::Preset(Preset::Tight | Preset::Believed | Preset::Plane) => {
                Err(RequestError::ObservationsInBlocks)
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
        self.settle(model.chain())?;
        match auto::chosen(self, model, watch)? {
            Some(made) => Ok(made),
            None => self.as_settled(model, watch),
        }
    }

    /// Makes what it amounts to.
    fn as_settled(&self, model: &Arc<Model>, watch: Watch<'_>) -> Result<Made, RequestError> {
        let Settled { name, design, calibration } = self.settle(model.chain())?;
        let (mechanism, calibrated) = match self.block {
            Some(length) => {
                (Mechanism::in_blocks(model.clone(), design, self.promise, length)?, None)
            }
            None => self.one_by_one(model, design, calibration, watch)?,
        };
        let mechanism = match self.calibration {
            Some(Calibration::Theorem) => mechanism.starting_by_theorem(),
            Some(Calibration::Exact) | None => mechanism,
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
        let (model, promise) = (model.clone(), self.promise);
        if design.observes() {
            let tracking = self.track.tracking();
            tracking.prepare(&model, watch)?;
            let made = Mechanism::observing(model, design, promise, calibration, watch)?;
            return Ok((made.tracking(tracking), None));
        }
        if design.cells().is_some() {
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
