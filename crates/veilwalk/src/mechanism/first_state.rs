//! A private start: the first released state, drawn near the first real one. The law and its proof are here;
//! `session::releaser` draws it, and `block::release` in blocks. Mechanisms that observe treat the first state like
//! every other.
//!
//! The adjacency adds up over all states of a walk, the first one included. A start that does not look at
//! the first real state leaves its share of the promise unused, and a walk that begins far from the real
//! one takes long to catch up. A private start is a [`response`](super::response) whose public weights are
//! the chain's initial distribution `π₀`,
//!
//! ```text
//! K₀(y | x₀) ∝ π₀(y) · exp(−η₀ · m(y, x₀)),
//! ```
//!
//! with the adjacency's own metric `m`, whatever the distance of the steps is.
//!
//! # Privacy
//!
//! Every real state enters one factor of the released walk's probability, `x₀` this one. So the losses
//! add up over all states, and the promise is kept if replacing `x₀` by `x₀'` loses at most what the
//! proof of the steps leaves to a state at that distance. That is the *allowance* of the first state:
//!
//! - *a radius ρ*: the steps lose at most `ε/ρ` for each nat; `ε/ρ` for each nat.
//! - *a radius ρ, hamming distance*: at most `⌊ρ/k⌋` states differ, with `k` the smallest distance between
//!   states, and each step that differs loses at most `ε/⌊ρ/k⌋`; `ε/⌊ρ/k⌋` for each replaced state.
//! - *b substitutions*: each step that differs loses at most `ε/b`; `ε/b` for each replaced state.
//! - *an audited scale within a radius* ([`calibrate`](fn@crate::guarantee::calibrate)): the steps may lose
//!   more for a nat, where few replaced states fit. What is left for the first state is computed from the
//!   audited losses.
//!
//! `η₀` is the largest scale whose loss keeps the allowance; by the theorem, half of it.
//!
//! **In blocks** the first state is drawn together with those after it: the first block has `L` states
//! beginning with the first, the first factor being `π₀(y₀)·exp(−η₀·m(y₀, x₀))`. The proof of
//! [`block`](super::block) adds up the changes of all costs, and doubles them; `η₀` is half of the
//! allowance there. The first block has one message for each of its states but the last, no more than
//! any other block, so that what is paid for rounding covers it.

use std::sync::Arc;

use thiserror::Error;

use super::response::{Allowance, Response, initial_weights};
use super::scale::{self, ScaleError};
use super::{BlockLength, Blocks, Calibration, Distance, Mechanism, Promise, Unit, Workspace};
use crate::chain::{Chain, StateId, UnknownState};
use crate::model::Model;
use crate::random::Words;
use crate::rational::Rational;
use crate::watch::{Watch, unwatched};

/// How a released walk starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// With a state drawn near the real first one, as private as every other.
    #[default]
    Private,
    /// With a state drawn from the chain's initial distribution, without looking at the real one.
    Initial,
    /// With the real walk's first state, which is thereby **disclosed**.
    First,
    /// With this state.
    At(StateId),
}

impl Start {
    /// The words for starts that are not a state.
    pub const WORDS: [(&str, Self); 3] =
        [("private", Self::Private), ("initial", Self::Initial), ("first", Self::First)];

    /// The start that a word or the label of a state stands for.
    ///
    /// # Errors
    ///
    /// If it is neither.
    pub fn named(text: &str, chain: &Chain) -> Result<Self, UnknownState> {
        match Self::WORDS.iter().find(|(word, _)| *word == text) {
            Some(&(_, start)) => Ok(start),
            None => chain.require(text).map(Self::At),
        }
    }

    /// The word or label that stands for it.
    #[must_use]
    pub fn name(self, chain: &Chain) -> &str {
        match self {
            Self::Private => "private",
            Self::Initial => "initial",
            Self::First => "first",
            Self::At(state) => chain.label(state),
        }
    }

    /// Whether the real first state decides what is released.
    #[must_use]
    pub fn looks(self) -> bool {
        matches!(self, Self::Private | Self::First)
    }
}

/// Why a mechanism cannot start privately.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoPrivateStart {
    /// It was made without a promise.
    #[error(
        "the mechanism makes no promise, so it does not say how private a start would have to be"
    )]
    NoPromise,
    /// Walks may start at more states than a belief can follow.
    #[error(
        "walks start at any of {states} states, and on a chain too large for a table of distances a belief \
         follows at most {most} of them; give an initial distribution over the states where walks begin, \
         let walks start at a state, or choose a mechanism that draws moves, such as `sharp`",
        most = Mechanism::MOST_BELIEVED_STARTS
    )]
    WideBelief {
        /// At how many states walks may start.
        states: usize,
    },
    /// No scale keeps what is allowed.
    #[error("a private start: {0}")]
    Scale(#[from] ScaleError),
}

/// What the first state may lose, and what is drawn for it, once that is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstState {
    allowance: Option<Allowance>,
    calibration: Calibration,
    response: Arc<std::sync::OnceLock<Result<Arc<Response>, NoPrivateStart>>>,
}

impl FirstState {
    pub(super) fn new(allowance: Allowance, calibration: Calibration) -> Self {
        Self { allowance: Some(allowance), calibration, response: Arc::default() }
    }

    /// Whether a private start has half of what it may lose, rather than the largest scale that keeps it.
    pub(super) fn is_by_theorem(&self) -> bool {
        self.allowance.is_some() && self.calibration == Calibration::Theorem
    }

    /// What the proof of the steps leaves to the first state.
    pub(super) fn for_promise(
        model: &Model,
        distance: Distance,
        promise: Promise,
        calibration: Calibration,
    ) -> Result<Self, ScaleError> {
        Ok(Self::new(Self::allowance_of(model, distance, promise)?, calibration))
    }

    /// What one state may lose under a promise, in the unit of the proof.
    pub(super) fn allowance_of(
        model: &Model,
        distance: Distance,
        promise: Promise,
    ) -> Result<Allowance, ScaleError> {
        scale::same_measure(model, promise)?;
        let epsilon = promise.epsilon.value();
        let per_state = |states: u128| {
            Rational::floor_of_products(
                [epsilon.numerator().into()],
                [epsilon.denominator().into(), states],
            )
        };
        Ok(match (promise.unit, distance) {
            (Unit::Substitutions(b), _) => Allowance::PerState(per_state(b.get().into())),
            (Unit::Radius(radius), Distance::Hamming) => {
                let states = scale::replaced_states(model, radius.value())?.max(1);
                Allowance::PerState(per_state(states))
            }
            (Unit::Radius(_), _) => Allowance::PerNat(super::cell::allowed(promise)),
        })
    }
}

impl Mechanism {
    /// The same mechanism, with a private start by the theorem: at half of what the first state may lose.
    #[must_use]
    pub fn starting_by_theorem(mut self) -> Self {
        if let Some(allowance) = self.first_state.allowance {
            self.first_state = FirstState::new(allowance, Calibration::Theorem);
        }
        self
    }

    /// What the first state may lose, if it is known.
    pub(crate) fn first_state_rate(&self) -> Option<Allowance> {
        self.first_state.allowance
    }

    /// The same mechanism, whose first state may lose this much for each nat.
    pub(crate) fn with_first_state_losing(mut self, per_nat: Rational) -> Self {
        let calibration = self.first_state.calibration;
        self.first_state = FirstState::new(Allowance::PerNat(per_nat), calibration);
        self
    }

    /// Appends to `out` what is released for a whole walk: step by step, or in blocks.
    ///
    /// # Panics
    ///
    /// If the start is private and the mechanism cannot start so, or walks are released as a whole and
    /// there are more real states than that allows for.
    pub(crate) fn release_walk(
        &self,
        start: Start,
        reals: &[StateId],
        words: &mut impl Words,
        space: &mut Workspace,
        out: &mut Vec<StateId>,
    ) {
        let Some((&real, steps)) = reals.split_first() else { return };
        let first = match start {
            Start::Private => {
                let released = self.release_from_start(reals, words, space, out);
                return released.unwrap_or_else(|why| panic!("{why}"));
            }
            Start::Initial => self.model.chain().initial().draw(words),
            Start::First => real,
            Start::At(state) => state,
        };
        out.push(first);
        self.release_after(first, steps, words, space, out);
    }

    /// Refuses a start that the mechanism does not have. A private one is found here, if it was not before.
    ///
    /// # Errors
    ///
    /// If the start is private, and the mechanism makes no promise or no scale keeps it; and if the watcher
    /// asks to stop.
    pub fn check_start(&self, start: Start, watch: Watch<'_>) -> Result<(), NoPrivateStart> {
        match (start, self.observation()) {
            // Where states are observed, the first one is observed like all others.
            (Start::Private | Start::Initial, Some(_)) => self.refuse_wide_beliefs(),
            (Start::Private, None) => self.private_start_watched(watch).map(drop),
            (Start::Initial | Start::First | Start::At(_), _) => Ok(()),
        }
    }

    /// Where distances are searched for, a belief about very many states cannot be followed.
    fn refuse_wide_beliefs(&self) -> Result<(), NoPrivateStart> {
        let chain = self.model.chain();
        if !self.model.needs_searches() {
            return Ok(());
        }
        let initial = chain.initial();
        let states = chain.states().filter(|&state| initial.probability(state) > 0.0).count();
        match states > Self::MOST_BELIEVED_STARTS {
            true => Err(NoPrivateStart::WideBelief { states }),
            false => Ok(()),
        }
    }

    /// On a chain too large for a table of distances, walks that are observed may start at so many states.
    pub const MOST_BELIEVED_STARTS: usize = 1024;

    /// What draws the first state for a private start. Its scale is found when it is first asked for.
    ///
    /// # Errors
    ///
    /// If the mechanism makes no promise, or no scale keeps it.
    pub(crate) fn private_start(&self) -> Result<&Arc<Response>, NoPrivateStart> {
        self.private_start_watched(&unwatched)
    }

    /// The same, watched: on chains of thousands of states it takes a second.
    ///
    /// # Errors
    ///
    /// As [`Mechanism::private_start`], and if the watcher asks to stop.
    pub(crate) fn private_start_watched(
        &self,
        watch: Watch<'_>,
    ) -> Result<&Arc<Response>, NoPrivateStart> {
        let FirstState { response, .. } = &self.first_state;
        if response.get().is_none() {
            let made = self.make_private_start(watch);
            if let Err(NoPrivateStart::Scale(stopped @ ScaleError::Stopped(_))) = made {
                return Err(stopped.into());
            }
            let _ = response.set(made);
        }
        response.get().expect("just set").as_ref().map_err(Clone::clone)
    }

    fn make_private_start(&self, watch: Watch<'_>) -> Result<Arc<Response>, NoPrivateStart> {
        let FirstState { allowance, calibration, .. } = self.first_state;
        let (Some(allowance), Some(promise)) = (allowance, self.promise) else {
            return Err(NoPrivateStart::NoPromise);
        };
        let calibration = match self.blocks().map(Blocks::length) {
            Some(length) if length.most_steps().get() > 1 => {
                return Ok(Arc::new(self.start_of_blocks(allowance, promise)?));
            }
            _ => calibration,
        };
        let weights = initial_weights(self.model.chain());
        let model = &self.model;
        let made = Response::keeping(model, allowance, &weights, calibration, promise, watch)?;
        Ok(Arc::new(made))
    }

    /// At half of the allowance, whatever the weights are: the normaliser is that of the whole block.
    fn start_of_blocks(
        &self,
        allowance: Allowance,
        promise: Promise,
    ) -> Result<Response, ScaleError> {
        let rate = allowance.rate();
        let half =
            Rational::floor_of_products([rate.numerator().into()], [rate.denominator().into(), 2]);
        let weights = initial_weights(self.model.chain());
        Response::at_scale(&self.model, allowance, &weights, half)
            .ok_or(ScaleError::TooSmall { promise })
    }

    /// The exact law of a private start for a real first state: a probability for every state. In blocks,
    /// that of the first state by itself, without what the states after it say.
    pub(crate) fn first_law(&self, real: StateId) -> Result<Vec<f64>, NoPrivateStart> {
        let response = self.private_start()?;
        let mut law = vec![0.0; self.model.chain().len()];
        for (y, log) in response.candidates().iter().zip(response.log_kernel(real)) {
            law[y.index()] = log.exp();
        }
        Ok(law)
    }

    /// Whether the first state is drawn together with those after it.
    pub(crate) fn starts_in_a_block(&self) -> bool {
        self.blocks().is_some_and(|blocks| match blocks.length() {
            BlockLength::Steps(steps) => steps.get() > 1,
            BlockLength::Whole { .. } => true,
        })
    }
}
