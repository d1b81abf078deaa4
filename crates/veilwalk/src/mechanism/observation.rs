//! Observations: a real state is answered by any state, and public inference makes a walk of the answers.
//!
//! A mechanism with other [`Candidates`] than moves does not draw the released state itself. It draws an
//! *observation* of every real state, the first one too; anybody can follow what the observations say
//! about the real walk (the belief), and the released walk is the feasible answer to that (see
//! [`Tracking`]). Both are released: what was observed, and the walk made of it.
//!
//! # Privacy
//!
//! Only the observation looks at the real state. Given the observations before it, its law is a
//! [response](super::response) over all states, one among [believed](super::believed) candidates, or a point
//! on a [plane](super::plane), and each loses at most `λ·m(x, x')` when `x` is replaced by `x'`, with `λ·m` what the promise allows. The
//! probability of a whole sequence of observations is a product of such laws, so the losses add up to at
//! most ε for adjacent walks. What is computed from observations and public things alone, the belief and
//! the released walk, loses nothing more. ∎
//!
//! **Weights.** With `tight` weights the normaliser of the response is the same for every real state, and
//! its scale is `λ` itself, less what rounding costs (its module `tight`). Where no
//! non-negative weights do that, a linear program finds weights for a smaller scale; where it finds none,
//! or the chain is too large for it, all states have the same weight, at the largest scale whose exact loss
//! keeps the promise. Whatever comes out is certified pair by pair, with rounding outward, before it is
//! used.

use std::borrow::Cow;
use std::sync::Arc;

use super::believed::{Believed, BelievedSpace, Predicted};
use super::first_state::FirstState;
use super::plane::Plane;
use super::response::tight::{self, Found};
use super::response::{Allowance, LogRow, Response};
use super::step::Scale;
use super::tracking::Tracking;
use super::{
    Calibration, Candidates, CostScale, Design, Mechanism, Promise, Rule, ScaleError, Scales,
    StateWeights, log_kernel_of,
};
use crate::ahead::Ahead;
use crate::chain::StateId;
use crate::distance::Hamming;
use crate::model::Model;
use crate::outcome::Outcome;
use crate::random::Words;
use crate::rounding::below;
use crate::watch::Watch;

/// What a mechanism that draws observations has beyond one that draws moves.
#[derive(Clone, Debug)]
pub struct Observation {
    drawn: Drawn,
    tracking: Tracking,
}

#[derive(Clone, Debug)]
pub(crate) enum Drawn {
    All(Arc<Response>, WeightsFound),
    Believed(Arc<Believed>),
    Plane(Arc<Plane>),
}

/// How the weights of all states were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightsFound {
    /// They make the normaliser the same for every real state.
    Solved,
    /// By a linear program, for the scale in force.
    Program,
    /// They make the normaliser change slowly, on a graph of many states.
    Fitted,
    /// All states have the same weight.
    Even,
}

impl WeightsFound {
    /// A word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Solved => "solved",
            Self::Program => "program",
            Self::Fitted => "fitted",
            Self::Even => "even",
        }
    }
}

/// Working space for observations.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObservationSpace {
    believed: BelievedSpace,
}

impl Observation {
    /// How the released walk is made.
    #[must_use]
    pub fn tracking(&self) -> Tracking {
        self.tracking
    }

    /// How the weights of the states were found; none where states have no weights.
    #[must_use]
    pub fn weights_found(&self) -> Option<WeightsFound> {
        match &self.drawn {
            Drawn::All(_, found) => Some(*found),
            Drawn::Believed(_) | Drawn::Plane(_) => None,
        }
    }

    /// What draws points on a plane, if it does.
    pub(crate) fn plane(&self) -> Option<&Plane> {
        match &self.drawn {
            Drawn::Plane(plane) => Some(plane),
            Drawn::All(..) | Drawn::Believed(_) => None,
        }
    }

    /// At least the loss of replacing `x` by `other`, whatever was observed before. Over all states and on a plane it
    /// is the loss itself; among believed candidates what is proven of it, for every belief.
    pub(crate) fn loss_at_most(&self, model: &Model, x: StateId, other: StateId) -> f64 {
        match &self.drawn {
            Drawn::All(response, _) => response.pair_loss(x, other),
            Drawn::Believed(believed) => believed.loss_at_most(model, x, other),
            Drawn::Plane(plane) => plane.pair_loss(x, other),
        }
    }

    /// Draws the observation of a real state, when this is predicted of it.
    pub(crate) fn draw(
        &self,
        predicted: Predicted<'_>,
        real: StateId,
        words: &mut impl Words,
        space: &mut ObservationSpace,
    ) -> Outcome {
        match &self.drawn {
            Drawn::All(response, _) => response.draw(real, words).into(),
            Drawn::Believed(believed) => {
                believed.draw(predicted, real, words, &mut space.believed).into()
            }
            Drawn::Plane(plane) => Outcome::of_point(plane.draw(real, words)),
        }
    }

    /// The logarithm of an observation's likelihood for the real states that are given, but for a constant.
    /// The same on every machine.
    pub(crate) fn fill_log_likelihoods(
        &self,
        predicted: Predicted<'_>,
        observed: Outcome,
        reals: &[StateId],
        space: &mut ObservationSpace,
        out: &mut Vec<f64>,
    ) {
        match (&self.drawn, observed.state()) {
            (Drawn::Plane(plane), _) => plane.fill_log_likelihoods(observed, reals, out),
            (Drawn::All(response, _), Some(state)) => {
                response.fill_log_likelihoods(state, reals, out);
            }
            (Drawn::Believed(believed), Some(state)) => {
                believed.fill_log_likelihoods(predicted, state, reals, &mut space.believed, out);
            }
            // No state is observed as a point.
            (Drawn::All(..) | Drawn::Believed(_), None) => {
                out.clear();
                out.resize(reals.len(), f64::NEG_INFINITY);
            }
        }
    }

    /// The same for all real states at once, where what is drawn does not depend on what is believed.
    pub(crate) fn log_row(&self, observed: Outcome) -> Option<LogRow<'_>> {
        match &self.drawn {
            Drawn::All(response, _) => response.log_row(observed.state()?),
            Drawn::Believed(_) | Drawn::Plane(_) => None,
        }
    }

    /// Whether what is drawn depends on what is believed.
    pub(crate) fn follows_beliefs(&self) -> bool {
        matches!(self.drawn, Drawn::Believed(_))
    }

    /// Every observation that can be drawn, with the logarithm of its probability. None on a plane, where there is no
    /// end of them.
    pub(crate) fn log_kernel(
        &self,
        predicted: Predicted<'_>,
        real: StateId,
    ) -> Vec<(StateId, f64)> {
        let (candidates, costs) = match &self.drawn {
            Drawn::All(response, _) => {
                let mut costs = Vec::new();
                response.fill_costs(real, &mut costs);
                (response.candidates().to_vec(), costs)
            }
            Drawn::Believed(believed) => believed.candidates_and_costs(predicted, real),
            Drawn::Plane(_) => return Vec::new(),
        };
        let mut logs = vec![0.0; costs.len()];
        log_kernel_of(Rule::Exponential, &costs, self.scale(), &mut logs);
        candidates.into_iter().zip(logs).collect()
    }

    pub(super) fn hash_into(&self, hasher: &mut blake3::Hasher) {
        let Tracking { aim, gamma, lag } = self.tracking;
        hasher.update(aim.name().as_bytes());
        for number in [gamma.numerator(), gamma.denominator(), lag.into()] {
            hasher.update(&number.to_le_bytes());
        }
        match &self.drawn {
            Drawn::All(response, _) => response.hash_into(hasher),
            Drawn::Believed(believed) => {
                for part in believed.scale().parts() {
                    hasher.update(&part.to_le_bytes());
                }
            }
            Drawn::Plane(plane) => plane.hash_into(hasher),
        }
    }

    fn scale(&self) -> CostScale {
        match &self.drawn {
            Drawn::All(response, _) => response.scale(),
            Drawn::Believed(believed) => believed.scale(),
            Drawn::Plane(plane) => plane.scale(),
        }
    }
}

impl Mechanism {
    /// What it draws observations with; none if it draws moves.
    #[must_use]
    pub fn observation(&self) -> Option<&Observation> {
        self.observation.as_deref()
    }

    /// The same, to be kept.
    pub(crate) fn shared_observation(&self) -> Option<&Arc<Observation>> {
        self.observation.as_ref()
    }

    /// The same mechanism, whose released walks are made of the observations in this way. Nothing changes
    /// for one that draws moves.
    ///
    /// # Panics
    ///
    /// If it is to look ahead ([`TrackAim::looks_ahead`](super::TrackAim::looks_ahead)) on a chain of more than
    /// 8,192 states, or of more than 10⁹ for states times moves.
    #[must_use]
    pub fn tracking(mut self, tracking: Tracking) -> Self {
        if tracking.aim.looks_ahead() {
            Ahead::affordable(self.model.chain()).unwrap_or_else(|error| panic!("{error}"));
        }
        if let Some(observation) = &mut self.observation {
            Arc::make_mut(observation).tracking = tracking;
        }
        self
    }

    /// The mechanism of a design that draws observations.
    pub(crate) fn observing(
        model: Arc<Model>,
        design: Design,
        promise: Promise,
        calibration: Calibration,
        watch: Watch<'_>,
    ) -> Result<Self, ScaleError> {
        let allowance = FirstState::allowance_of(&model, design.distance, promise)?;
        let too_small = || ScaleError::TooSmall { promise };
        let drawn = match design.candidates {
            Candidates::Moves => unreachable!("a design that draws observations"),
            Candidates::Believed(least_share) => {
                let believed = Believed::new(&model, design.distance, allowance, least_share);
                Drawn::Believed(Arc::new(believed.ok_or_else(too_small)?))
            }
            Candidates::States(weights) => {
                let asked = Asked { model: &model, allowance, promise, calibration };
                let (response, found) = asked.response(weights, watch)?;
                Drawn::All(Arc::new(response), found)
            }
            Candidates::Plane => Drawn::Plane(Arc::new(Plane::new(&model, allowance, too_small)?)),
        };
        let observation = Observation { drawn, tracking: Tracking::default() };
        let scales = Scales::Uniform(Scale::new(observation.scale()));
        Ok(Self {
            model,
            design,
            promise: Some(promise),
            metric: Arc::new(Hamming),
            scales,
            certificate: None,
            blocks: None,
            // The first state is observed like every other.
            first_state: FirstState::default(),
            observation: Some(Arc::new(observation)),
        })
    }

    /// The states that can be drawn after `previous` was: the moves from it; all states with a weight; or
    /// those that are believed if the real state was `previous` for sure. None where points on a plane are drawn.
    #[must_use]
    pub fn candidates(&self, previous: StateId) -> Cow<'_, [StateId]> {
        match self.observation().map(|observation| &observation.drawn) {
            None => self.model.chain().successors(previous).into(),
            Some(Drawn::All(response, _)) => response.candidates().into(),
            Some(Drawn::Believed(believed)) => {
                believed.candidates_and_costs(self.predicted_after(previous), previous).0.into()
            }
            Some(Drawn::Plane(_)) => Cow::Borrowed(&[]),
        }
    }

    /// The last states that have to be looked at to know all laws of what is drawn: one, if it does not
    /// depend on the last state.
    pub(crate) fn last_states(&self) -> impl ExactSizeIterator<Item = StateId> + use<> {
        let kinds = match self.observation().map(|observation| &observation.drawn) {
            Some(Drawn::All(..) | Drawn::Plane(_)) => 1,
            None | Some(Drawn::Believed(_)) => self.model.chain().len(),
        };
        (0..kinds).map(StateId::new)
    }

    pub(super) fn predicted_after(&self, previous: StateId) -> Predicted<'_> {
        let chain = self.model.chain();
        Predicted { states: chain.successors(previous), masses: chain.probabilities(previous) }
    }

    /// Puts the costs of all candidates of an observation into `out`.
    pub(super) fn observation_costs(
        &self,
        observation: &Observation,
        previous: StateId,
        real: StateId,
        out: &mut Vec<u64>,
    ) {
        match &observation.drawn {
            Drawn::All(response, _) => response.fill_costs(real, out),
            Drawn::Believed(believed) => {
                *out = believed.candidates_and_costs(self.predicted_after(previous), real).1;
            }
            Drawn::Plane(_) => out.clear(),
        }
    }

    pub(super) fn log_kernel_of_observation(
        &self,
        observation: &Observation,
        previous: StateId,
        real: StateId,
    ) -> Vec<f64> {
        let kernel = observation.log_kernel(self.predicted_after(previous), real);
        kernel.into_iter().map(|(_, log)| log).collect()
    }
}

/// What is asked of a response over all states.
struct Asked<'a> {
    model: &'a Arc<Model>,
    allowance: Allowance,
    promise: Promise,
    calibration: Calibration,
}

impl Asked<'_> {
    fn response(
        &self,
        weights: StateWeights,
        watch: Watch<'_>,
    ) -> Result<(Response, WeightsFound), ScaleError> {
        let Self { model, allowance, promise, calibration } = *self;
        if let (StateWeights::Tight, Allowance::PerNat(_), Calibration::Exact) =
            (weights, allowance, calibration)
            && let Some(found) = self.tight(watch)?
        {
            return Ok(found);
        }
        if let Allowance::PerNat(_) = allowance {
            model.require_tables()?;
        }
        let even = vec![1.0; model.chain().len()];
        let made = Response::keeping(model, allowance, &even, calibration, promise, watch)?;
        Ok((made, WeightsFound::Even))
    }

    fn tight(&self, watch: Watch<'_>) -> Result<Option<(Response, WeightsFound)>, ScaleError> {
        let Self { model, allowance, .. } = *self;
        model.require_tables()?;
        let made = |found: &tight::Weights| {
            Response::at_scale(model, allowance, &found.weights, found.eta)
        };
        let allowed = below(allowance.rate());
        let edges = model.spanning_pairs();
        let keeps = |found: &tight::Weights| {
            made(found).is_some_and(|response| response.keeps(allowance, allowed))
        };
        let found =
            tight::find(model.symmetric(), edges.as_deref(), allowance.rate(), &keeps, watch)?;
        let found = found.filter(keeps);
        Ok(found.and_then(|found| {
            let how = match found.found {
                Found::Solved => WeightsFound::Solved,
                Found::Program => WeightsFound::Program,
                Found::Fitted => WeightsFound::Fitted,
            };
            Some((made(&found)?, how))
        }))
    }
}
